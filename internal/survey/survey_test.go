package survey_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// serve returns a client of a server that answers requests; an empty answer
// ends it.
func serve(t *testing.T, answer func(jsonrpc.Message) []byte) *scripted.Connection {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	log := transcript.NewLog("c1")
	client := scripted.OverStdio(transport.NewStdioPipes(toServer, fromServer, log, transport.Limits{}), log, 20*time.Second)
	t.Cleanup(func() { client.Close(context.Background()) })
	go func() {
		defer func() { _ = toClient.Close() }()
		for input := bufio.NewScanner(fromClient); input.Scan(); {
			raw := answer(jsonrpc.Parse([]byte(input.Text())))
			if len(raw) == 0 {
				return
			}
			_, _ = fmt.Fprintf(toClient, "%s\n", raw)
		}
	}()
	return &scripted.Connection{Client: client.Client, Stdio: client}
}

// page answers a list request with the page that its cursor names.
func page(request jsonrpc.Message, pages map[any]string) []byte {
	params, _ := request.Params().(map[string]any)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, request.ID, pages[params["cursor"]])
}

func names(items []map[string]any) string {
	var all []string
	for _, item := range items {
		all = append(all, fmt.Sprint(item["name"]))
	}
	return strings.Join(all, " ")
}

func TestList(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pages       map[any]string
		names, text string
	}{
		"one page": {map[any]string{nil: `"result":{"tools":[{"name":"a"},{"name":"b"}]}`}, "a b", ""},
		"three pages": {map[any]string{
			nil: `"result":{"tools":[{"name":"a"}],"nextCursor":"2"}`,
			"2": `"result":{"tools":[],"nextCursor":"3"}`,
			"3": `"result":{"tools":[{"name":"c"}],"nextCursor":null}`,
		}, "a c", ""},
		"an empty list":        {map[any]string{nil: `"result":{"tools":[]}`}, "", ""},
		"an empty cursor":      {map[any]string{nil: `"result":{"tools":[{"name":"a"}],"nextCursor":""}`, "": `"result":{"tools":[{"name":"b"}]}`}, "a b", ""},
		"an empty one for end": {map[any]string{nil: `"result":{"tools":[{"name":"a"}],"nextCursor":""}`, "": `"result":{"tools":[{"name":"a"}],"nextCursor":""}`}, "a", ""},
		"an empty one that leads back": {map[any]string{
			nil: `"result":{"tools":[{"name":"a"}],"nextCursor":"2"}`,
			"2": `"result":{"tools":[{"name":"b"}],"nextCursor":""}`,
			"":  `"result":{"tools":[{"name":"a"}],"nextCursor":"2"}`,
		}, "a b", ""},
		"a cursor that leads nowhere": {map[any]string{
			nil: `"result":{"tools":[{"name":"a"}],"nextCursor":"2"}`,
			"2": `"result":{"tools":[{"name":"a","_meta":{"n":2}}],"nextCursor":"3"}`,
		}, "a", ""},
		"what is no object":    {map[any]string{nil: `"result":{"tools":["x",{"name":"a"},null]}`}, "a", ""},
		"what is no list":      {map[any]string{nil: `"result":{"tools":{"name":"a"}}`}, "", "tools/list was answered without a list of tools: {"},
		"what is no result":    {map[any]string{nil: `"result":[]`}, "", "tools/list was answered without a list of tools: {"},
		"refused":              {map[any]string{nil: `"error":{"code":-32601,"message":"no"}`}, "", "tools/list failed: error -32601: no"},
		"refused after a page": {map[any]string{nil: `"result":{"tools":[{"name":"a"}],"nextCursor":"2"}`, "2": `"error":{"code":-32602,"message":"which?"}`}, "a", "tools/list failed: error -32602: which?"},
		"the end after a page": {map[any]string{nil: `"result":{"tools":[{"name":"a"}],"nextCursor":"end"}`}, "a", "tools/list failed: the connection ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(request jsonrpc.Message) []byte {
				params, _ := request.Params().(map[string]any)
				if params["cursor"] == "end" {
					return nil
				}
				if request.Method != "tools/list" {
					t.Errorf("asked for %s", request.Method)
				}
				return page(request, test.pages)
			})
			items, err := survey.List(t.Context(), server.Client, "tools/list", "tools")
			if names(items) != test.names {
				t.Errorf("found %q, wanted %q", names(items), test.names)
			}
			if test.text == "" && err != nil || test.text != "" && (err == nil || !strings.HasPrefix(err.Error(), test.text)) {
				t.Errorf("told %v, wanted %q", err, test.text)
			}
		})
	}
}

func TestListThatNeverEnds(t *testing.T) {
	t.Parallel()
	asked := 0
	server := serve(t, func(request jsonrpc.Message) []byte {
		asked++
		return jsonrpc.NewResult(request.ID, map[string]any{"tools": []any{map[string]any{"name": strconv.Itoa(asked)}}, "nextCursor": strconv.Itoa(asked)})
	})
	items, err := survey.List(t.Context(), server.Client, "tools/list", "tools")
	if err == nil || err.Error() != "tools/list did not end after 1000 pages with 1000 items" {
		t.Errorf("told %v", err)
	}
	if asked != survey.MaxPages || len(items) != survey.MaxPages {
		t.Errorf("asked %d times, found %d", asked, len(items))
	}
}

func TestListOfTooMany(t *testing.T) {
	t.Parallel()
	asked := 0
	items := `"result":{"nextCursor":"more","tools":[{}` + strings.Repeat(",{}", survey.MaxItems/2) + "]}"
	server := serve(t, func(request jsonrpc.Message) []byte {
		asked++
		return page(request, map[any]string{nil: items, "more": items})
	})
	_, err := survey.List(t.Context(), server.Client, "tools/list", "tools")
	if err == nil || !strings.HasPrefix(err.Error(), "tools/list did not end after 2 pages with ") || asked != 2 {
		t.Errorf("told %v after %d pages", err, asked)
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	server := serve(t, func(request jsonrpc.Message) []byte {
		return page(request, map[any]string{nil: map[string]string{
			"tools/list":               `"result":{"tools":[{"name":"a"}]}`,
			"resources/list":           `"error":{"code":-32603,"message":"oh"}`,
			"resources/templates/list": `"result":{"resourceTemplates":[{"name":"t"}]}`,
		}[request.Method]})
	})
	handshake := scripted.Handshake{Revision: "2025-11-25", ServerInfo: map[string]any{"name": "s"},
		Capabilities: map[string]any{"tools": map[string]any{}, "resources": map[string]any{}}}
	found := survey.Take(t.Context(), server, "2025-11-25", handshake)
	want := &survey.Survey{
		Revision: "2025-11-25", ServerInfo: handshake.ServerInfo, Capabilities: handshake.Capabilities,
		Tools: []map[string]any{{"name": "a"}}, Templates: []map[string]any{{"name": "t"}},
		Failed: map[string]string{"resources/list": "resources/list failed: error -32603: oh"},
	}
	if difference := cmp.Diff(want, found); difference != "" {
		t.Error(difference)
	}
	if !found.Declares("tools") || found.Declares("prompts") {
		t.Error("the survey declares other capabilities than the server")
	}
}

func TestDeclares(t *testing.T) {
	t.Parallel()
	capabilities, _ := jsonrpc.Decode([]byte(`{"tools":{"listChanged":true},"resources":{"subscribe":false,"listChanged":null},
		"logging":{},"prompts":null,"tasks":{"requests":{"tools":{"call":{}}}},"odd":"yes","list":[],
		"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/other":null}}`))
	object, _ := capabilities.(map[string]any)
	for path, want := range map[string]bool{
		"tools": true, "tools.listChanged": true, "tools.other": false, "tools.listChanged.deeper": false,
		"resources": true, "resources.subscribe": false, "resources.listChanged": false,
		"logging": true, "logging.x": false, "prompts": false, "completions": false,
		"tasks.requests.tools.call": true, "tasks.requests.sampling.createMessage": false,
		"extensions": true, "extensions.io.modelcontextprotocol/tasks": true, "extensions.com.example/other": false, "extensions.io": false,
		"odd": true, "odd.x": false, "list": true, "list.x": false, "": false,
	} {
		if mcp.Declares(object, path) != want {
			t.Errorf("declares %q: %t", path, !want)
		}
	}
	if mcp.Declares(nil, "tools") {
		t.Error("no capabilities declare tools")
	}
}

// A list that was read takes the place of a ping that brings no result; without one the
// reason stays.
func TestNoPing(t *testing.T) {
	t.Parallel()
	both := map[string]any{"tools": map[string]any{}, "prompts": map[string]any{}}
	for name, one := range map[string]struct {
		declared         map[string]any
		failed           map[string]string
		barrier, whyNone string
	}{
		"lists":       {both, nil, "tools/list", ""},
		"broken list": {both, map[string]string{"tools/list": "no answer"}, "prompts/list", ""},
		"no list":     {nil, nil, "", "no such method"},
	} {
		found := &survey.Survey{Capabilities: one.declared, Failed: one.failed}
		found.NoPing("no such method")
		if found.Barrier != one.barrier || found.NoBarrier != one.whyNone || !found.Declared() {
			t.Errorf("%s: the barrier is %q, and none because %q", name, found.Barrier, found.NoBarrier)
		}
	}
}
