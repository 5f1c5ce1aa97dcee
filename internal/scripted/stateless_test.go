package scripted_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// object is a JSON object.
type object = map[string]any

func TestDress(t *testing.T) {
	t.Parallel()
	server := overHTTP(t, patient, func(http.ResponseWriter, *http.Request) {})
	if dressed := server.WithMeta(object{"a": 1}); cmp.Diff(object{"a": 1}, dressed) != "" || server.WithMeta(nil) != nil {
		t.Errorf("in the handshake era params are %v", dressed)
	}
	server.Speak("2026-07-28", scripted.Capabilities{"roots": object{}})
	own := object{
		mcp.MetaVersion: "2026-07-28", mcp.MetaClientInfo: scripted.ClientInfo("2026-07-28"),
		mcp.MetaCapabilities: scripted.Capabilities{"roots": object{}},
	}
	given := object{"a": 1, "_meta": object{"b": 2, mcp.MetaVersion: "1900-01-01", mcp.MetaClientInfo: scripted.Omitted}}
	for name, one := range map[string]struct{ params, want any }{
		"none":            {nil, object{"_meta": own}},
		"some":            {object{"a": 1}, object{"a": 1, "_meta": own}},
		"its own":         {given, object{"a": 1, "_meta": object{"b": 2, mcp.MetaVersion: "1900-01-01", mcp.MetaCapabilities: own[mcp.MetaCapabilities]}}},
		"no meta":         {object{"a": 1, "_meta": scripted.Omitted}, object{"a": 1}},
		"a meta of null":  {object{"_meta": nil}, object{"_meta": nil}},
		"a meta of text":  {object{"_meta": "x"}, object{"_meta": "x"}},
		"a list":          {[]any{1}, []any{1}},
		"a list as a key": {object{"_meta": object{"k": []any{1}}}["_meta"], object{"k": []any{1}, "_meta": own}},
	} {
		if diff := cmp.Diff(one.want, server.WithMeta(one.params)); diff != "" {
			t.Errorf("%s: wanted - found +\n%s", name, diff)
		}
	}
	if len(given) != 2 || len(given["_meta"].(object)) != 3 {
		t.Errorf("what was given has become %v", given)
	}
}

func TestHeadersMirrorTheBody(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		var line []string
		for name, values := range request.Header {
			if strings.HasPrefix(name, "Mcp-") {
				line = append(line, name+"="+strings.Join(values, "|"))
			}
		}
		slices.Sort(line)
		mu.Lock()
		lines = append(lines, strings.Join(line, " "))
		mu.Unlock()
		w.Header().Set(scripted.SessionHeader, "not-kept")
		asJSON(w, echo(message(request)))
	})
	server.Speak("2026-07-28", scripted.Nothing())
	server.HTTP.SetVersion("2026-07-28")
	server.Learn([]map[string]any{
		{"name": "plain", "inputSchema": object{"type": "object"}},
		{"name": "region", "inputSchema": object{"properties": object{
			"where": object{"type": "string", "x-mcp-header": "Region"},
			"many":  object{"type": "integer", "x-mcp-header": "Many"},
			"deep":  object{"properties": object{"really": object{"type": "boolean", "x-mcp-header": "Deep"}}},
			"wrong": object{"type": "string", "x-mcp-header": "not a token"},
			"list":  object{"items": object{"properties": object{"x": object{"x-mcp-header": "Never"}}}},
		}}},
	})
	for _, one := range []struct {
		method string
		params object
	}{
		{"tools/list", nil},
		{"tools/call", object{"name": "region", "arguments": object{"where": "日本", "many": 7, "deep": object{"really": true}, "wrong": "x", "list": []any{object{"x": "y"}}}}},
		{"tools/call", object{"name": "region", "arguments": object{"where": nil, "many": 1.5}}},
		{"tools/call", object{"name": "plain", "arguments": object{"where": "here"}}},
		{"resources/read", object{"uri": " a", "_meta": object{mcp.MetaVersion: "1900-01-01"}}},
	} {
		if _, err := server.Call(t.Context(), one.method, one.params); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"Mcp-Method=tools/list Mcp-Protocol-Version=2026-07-28",
		"Mcp-Method=tools/call Mcp-Name=region Mcp-Param-Deep=true Mcp-Param-Many=7 Mcp-Param-Region==?base64?5pel5pys?= Mcp-Protocol-Version=2026-07-28",
		"Mcp-Method=tools/call Mcp-Name=region Mcp-Param-Many=1.5 Mcp-Protocol-Version=2026-07-28",
		"Mcp-Method=tools/call Mcp-Name=plain Mcp-Protocol-Version=2026-07-28",
		"Mcp-Method=resources/read Mcp-Name==?base64?IGE=?= Mcp-Protocol-Version=1900-01-01",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("wanted - found +\n%s", diff)
	}
}

// asking is a server that wants to know something before it answers.
func asking(request jsonrpc.Message) []string {
	params, _ := request.Params().(object)
	responses, _ := params["inputResponses"].(object)
	name, _ := responses["name"].(object)
	switch {
	case request.Kind != jsonrpc.Request:
		return nil
	case params["name"] == "endless":
		return lines(jsonrpc.NewResult(request.ID, object{"resultType": "input_required", "requestState": fmt.Sprint(request.ID)}))
	case params["name"] == "odd":
		return lines(jsonrpc.NewResult(request.ID, object{"resultType": "input_required", "inputRequests": object{"x": object{"method": "odd/request"}}}))
	case params["name"] == "stubborn":
		return lines(jsonrpc.NewResult(request.ID, object{
			"resultType": "input_required", "inputRequests": object{"name": object{"method": "elicitation/create"}},
		}))
	case name["action"] == "accept":
		return lines(jsonrpc.NewResult(request.ID, object{"resultType": "complete", "round": params["requestState"], "name": params["name"]}))
	case params["requestState"] == "1":
		return lines(jsonrpc.NewResult(request.ID, object{
			"resultType": "input_required", "requestState": "2",
			"inputRequests": object{"name": object{"method": "elicitation/create", "params": object{"message": "Who?"}}},
		}))
	}
	return lines(jsonrpc.NewResult(request.ID, object{"resultType": "input_required", "requestState": "1"}))
}

func TestSettle(t *testing.T) {
	t.Parallel()
	server := overStdio(t, patient, asking)
	server.Speak("2026-07-28", scripted.Nothing())
	var asked []string
	server.Answer("elicitation/create", func(request scripted.Received) []byte {
		asked = append(asked, string(request.Raw))
		return jsonrpc.NewResult(request.ID, object{"action": "accept"})
	})
	answer, err := server.Call(t.Context(), "tools/call", object{"name": "greet"})
	if result, _ := answer.Result(); err != nil || cmp.Diff(object{"resultType": "complete", "round": "2", "name": "greet"}, result) != "" {
		t.Errorf("answered %s, %v", answer.Raw, err)
	}
	if len(asked) != 1 || !strings.Contains(asked[0], `"method":"elicitation/create","params":{"message":"Who?"}`) {
		t.Errorf("was asked %q", asked)
	}
	if !server.Idle() || answer.ID != jsonrpc.IntID(3) {
		t.Errorf("idle %t, answer to %s", server.Idle(), answer.ID)
	}
	last := int64(3)
	for _, test := range []struct {
		name     string
		attempts int64
	}{{"endless", 8}, {"odd", 1}, {"stubborn", 3}} {
		answer, err := server.Call(t.Context(), "tools/call", object{"name": test.name})
		if result, _ := answer.Result(); err != nil || result.(object)["resultType"] != "input_required" {
			t.Errorf("%s: answered %s, %v", test.name, answer.Raw, err)
		}
		if last += test.attempts; answer.ID != jsonrpc.IntID(last) {
			t.Errorf("%s: the last answer is to %s, not to %d", test.name, answer.ID, last)
		}
	}
	once, err := server.Once(t.Context(), "tools/call", object{"name": "greet"})
	if result, _ := once.Result(); err != nil || result.(object)["requestState"] != "1" {
		t.Errorf("at once: %s, %v", once.Raw, err)
	}
}

// In the stateless era servers ask nothing, and clients send no responses.
func TestStatelessClientAnswersNothing(t *testing.T) {
	t.Parallel()
	var came []string
	server := overStdio(t, patient, func(request jsonrpc.Message) []string {
		came = append(came, string(request.Kind))
		return append(lines(jsonrpc.NewRequest(jsonrpc.IntID(1), "ping", nil)), lines(echo(request))...)
	})
	server.Speak("2026-07-28", scripted.Nothing())
	for range 2 {
		if _, err := server.Call(t.Context(), "m", nil); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(came, []string{"request", "request"}) {
		t.Errorf("the server got %q", came)
	}
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		answer func(jsonrpc.ID) []byte
		found  string // revision and supported, or the error
		modern bool
	}{
		"supported": {func(id jsonrpc.ID) []byte {
			return jsonrpc.NewResult(id, object{"supportedVersions": []string{"2026-07-28", "2027-01-01"}, "capabilities": object{}, "_meta": object{mcp.MetaServerInfo: object{"name": "s"}}})
		}, "2026-07-28 [2026-07-28 2027-01-01] map[name:s]", false},
		"others": {func(id jsonrpc.ID) []byte {
			return jsonrpc.NewResult(id, object{"supportedVersions": []string{"2027-01-01"}, "capabilities": object{}})
		}, " [2027-01-01] map[]", false},
		"nothing": {func(id jsonrpc.ID) []byte { return jsonrpc.NewResult(id, nil) },
			`server/discover was answered with neither supportedVersions nor capabilities: {"jsonrpc":"2.0","id":1,"result":{}}`, false},
		"a text": {func(id jsonrpc.ID) []byte { return jsonrpc.NewResult(id, "x") },
			`server/discover was answered without a result object: {"jsonrpc":"2.0","id":1,"result":"x"}`, false},
		"an old refusal": {func(id jsonrpc.ID) []byte { return jsonrpc.NewError(id, jsonrpc.MethodNotFound, "no") },
			"server/discover failed: error -32601: no", false},
		"a new refusal": {func(id jsonrpc.ID) []byte { return jsonrpc.NewError(id, jsonrpc.UnsupportedRevision, "no") },
			"server/discover failed: error -32022: no", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := overStdio(t, patient, func(request jsonrpc.Message) []string { return lines(one.answer(request.ID)) })
			connection := scripted.Connection{Client: server.Client, Stdio: server}
			handshake, err := connection.Discover(t.Context(), "2026-07-28", scripted.Nothing())
			found := fmt.Sprint(handshake.Revision, " ", handshake.Supported, " ", handshake.ServerInfo)
			if err != nil {
				found = err.Error()
			}
			if found != one.found {
				t.Errorf("found  %s\nwanted %s", found, one.found)
			}
			if refused, isRefusal := err.(*scripted.RefusedError); isRefusal && refused.Modern() != one.modern { //nolint:errorlint // not wrapped
				t.Errorf("is of the stateless era: %t", refused.Modern())
			}
		})
	}
}
