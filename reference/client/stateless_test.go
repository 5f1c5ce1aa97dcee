package client_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpconform/mcpconform/reference/client"
)

// stateless serves what opens a connection, and everything else with a function.
func stateless(t *testing.T, serve func(v visit)) (*script, client.Options) {
	t.Helper()
	s := scripted(t, func(v visit) {
		if answer, opens := hello(v.message, client.Revision20260728); opens {
			v.answer(answer["result"])
			return
		}
		serve(v)
	})
	return s, client.Options{URL: s.url}
}

// complete is a result of the stateless era.
func complete(members object) object {
	members["resultType"] = "complete"
	return members
}

func TestMetadataOfRequests(t *testing.T) {
	t.Parallel()
	s, options := stateless(t, func(v visit) {
		if v.is("tools/list") {
			v.answer(complete(object{"tools": []object{}}))
			return
		}
		v.answer(complete(text("done")))
	})
	run(t, options, `[
		{"do":"answer-with","method":"sampling/createMessage","capability":{"tools":{}}},
		{"do":"connect"},{"do":"set-level","level":"warning"},
		{"do":"call","tool":"größe","arguments":{"n":10000000000000000000001},"progress":true},
		{"do":"read","uri":"file:///x y"},{"do":"close"}]`)
	tokens := map[any]bool{}
	for _, v := range s.all() {
		head := v.Request.Header
		if head.Get("MCP-Protocol-Version") != client.Revision20260728 || param(v.message, "_meta", "io.modelcontextprotocol/protocolVersion") != client.Revision20260728 {
			t.Errorf("%v is of the version %q", v.message, head.Get("MCP-Protocol-Version"))
		}
		if head.Get("Mcp-Method") != v.message["method"] || head.Get("Mcp-Session-Id") != "" {
			t.Errorf("%v has the headers %v", v.message["method"], head)
		}
		if param(v.message, "_meta", "io.modelcontextprotocol/clientInfo", "name") != "mcpconform-reference-client" {
			t.Errorf("%v does not say who asks", v.message)
		}
		if param(v.message, "_meta", "io.modelcontextprotocol/clientCapabilities", "sampling", "tools") == nil {
			t.Errorf("%v does not say what the client can do", v.message)
		}
		level := param(v.message, "_meta", "io.modelcontextprotocol/logLevel")
		if later := !v.is("server/discover"); later && level != "warning" || !later && level != nil {
			t.Errorf("%v asks for the log level %v", v.message["method"], level)
		}
		if token := param(v.message, "_meta", "progressToken"); token != nil {
			tokens[token] = true
		}
	}
	if len(tokens) != 1 {
		t.Errorf("the tokens are %v", tokens)
	}
	if found := s.of("tools/call")[0].Request.Header.Get("Mcp-Name"); found != "=?base64?Z3LDtsOfZQ==?=" {
		t.Errorf("Mcp-Name is %q", found)
	}
	if found := s.of("resources/read")[0].Request.Header.Get("Mcp-Name"); found != "file:///x y" {
		t.Errorf("Mcp-Name is %q", found)
	}
	if slices.ContainsFunc(s.all(), func(v visit) bool { return v.Method != http.MethodPost }) {
		t.Errorf("found %v", s.methods())
	}
}

const annotated = `{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},
	"deep":{"type":"object","properties":{"count":{"type":"integer","x-mcp-header":"Count"}}},
	"flag":{"type":"boolean","x-mcp-header":"Flag"}}}`

func TestParametersInHeaders(t *testing.T) {
	t.Parallel()
	s, options := stateless(t, func(v visit) {
		if v.is("tools/list") {
			v.answer(complete(object{"tools": []object{
				{"name": "good", "inputSchema": raw(annotated)},
				{"name": "bad", "inputSchema": raw(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}`)},
			}}))
			return
		}
		v.answer(complete(text("done")))
	})
	var log lines
	options.Log = &log
	outcomes := run(t, options, `[{"do":"connect"},{"do":"list","of":"tools"},
		{"do":"call","tool":"good","arguments":{"region":" padded ","deep":{"count":42.0},"flag":null}},
		{"do":"call","tool":"good","arguments":{"deep":{"count":9007199254740992}}},
		{"do":"call","tool":"bad"}]`)
	if found := outcomes[1].done(t); !strings.Contains(found, "good") || strings.Contains(found, "bad") {
		t.Errorf("found %s", found)
	}
	if !strings.Contains(log.String(), `the tool "bad" is left out`) {
		t.Errorf("the log is %s", log.String())
	}
	outcomes[3].failed(t, "2^53")
	outcomes[4].failed(t, "cannot be used")
	head := s.of("tools/call")[0].Request.Header
	if head.Get("Mcp-Param-Region") != "=?base64?IHBhZGRlZCA=?=" || head.Get("Mcp-Param-Count") != "42" || len(head.Values("Mcp-Param-Flag")) > 0 {
		t.Errorf("the headers are %v", head)
	}
	options.Defect = "keeps-invalid-headers"
	run(t, options, `[{"do":"connect"},{"do":"list","of":"tools"}]`)[1].says(t, "bad")
}

// A call that is refused for its headers is sent again, once the tool is known
// anew.
func TestHeadersAreCorrected(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	s, options := stateless(t, func(v visit) {
		zone := v.Request.Header.Get("Mcp-Param-Zone")
		switch {
		case v.is("tools/list"):
			name := "Region"
			if lists.Add(1) > 1 {
				name = "Zone"
			}
			v.answer(complete(object{"ttlMs": 60000, "cacheScope": "public", "tools": []object{{"name": "t", "inputSchema": object{
				"type": "object", "properties": object{"zone": object{"type": "string", "x-mcp-header": name}},
			}}}}))
		case zone != "here":
			v.fail(http.StatusBadRequest, object{"code": -32020, "message": "Header mismatch"})
		default:
			v.answer(complete(text("done")))
		}
	})
	run(t, options, `[{"do":"connect"},{"do":"list","of":"tools"},{"do":"call","tool":"t","arguments":{"zone":"here"}}]`)[2].says(t, "done")
	if found := strings.Join(s.methods(), " "); found != "server/discover tools/list tools/call tools/list tools/call" {
		t.Errorf("found %s", found)
	}
}

func TestResultsAreCached(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		ttl    any
		change bool
		defect string
		want   int
	}{
		"fresh":    {ttl: 60000, want: 2},
		"stale":    {ttl: 0, want: 4},
		"negative": {ttl: -5, want: 4},
		"absent":   {want: 4},
		"text":     {ttl: "60000", want: 4},
		"changed":  {ttl: 60000, change: true, want: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lists atomic.Int64
			_, options := stateless(t, func(v visit) {
				if v.is("prompts/get") {
					v.stream(event(notice("notifications/prompts/list_changed", nil)), event(to(v.message, complete(object{"messages": []object{}}))))
					return
				}
				lists.Add(1)
				page := complete(object{"prompts": []object{{"name": "p"}}, "cacheScope": "private"})
				if one.ttl != nil {
					page["ttlMs"] = one.ttl
				}
				if param(v.message, "cursor") == nil {
					page["nextCursor"] = ""
				}
				v.answer(page)
			})
			options.Defect = one.defect
			steps := `[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"list","of":"prompts"},{"do":"close"}]`
			if one.change {
				steps = `[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"get","prompt":"p"},{"do":"close"}]`
			}
			run(t, options, steps)[2].done(t)
			if found := int(lists.Load()); found != one.want {
				t.Errorf("%d pages were fetched, wanted %d", found, one.want)
			}
		})
	}
}

// When a cursor is refused, all pages are dropped and the list begins anew.
func TestRefusedCursor(t *testing.T) {
	t.Parallel()
	var pages atomic.Int64
	s, options := stateless(t, func(v visit) {
		switch page := pages.Add(1); {
		case page == 2:
			v.fail(http.StatusOK, object{"code": -32602, "message": "no such cursor"})
		case param(v.message, "cursor") == nil:
			v.answer(complete(object{"prompts": []object{}, "nextCursor": "next", "ttlMs": 60000, "cacheScope": "public"}))
		default:
			v.answer(complete(object{"prompts": []object{{"name": "last"}}}))
		}
	})
	run(t, options, `[{"do":"connect"},{"do":"list","of":"prompts"}]`)[1].says(t, "last")
	if found := len(s.of("prompts/list")); found != 4 {
		t.Errorf("%d pages were fetched", found)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s, options := stateless(t, func(v visit) {
		page := complete(object{"resources": []object{{"uri": "test://a"}}})
		switch cursor, given := param(v.message, "cursor").(string); {
		case !given:
			page["nextCursor"] = "ü=&\" "
		case cursor == "ü=&\" ":
			page["nextCursor"] = ""
		case cursor != "":
			t.Errorf("the cursor is %q", cursor)
		}
		v.answer(page)
	})
	run(t, options, `[{"do":"connect"},{"do":"list","of":"resources"}]`)[1].done(t)
	if found := len(s.of("resources/list")); found != 3 {
		t.Errorf("%d pages", found)
	}
	_, options = stateless(t, func(v visit) { v.answer(complete(object{"prompts": []object{}, "nextCursor": "again"})) })
	run(t, options, `[{"do":"connect"},{"do":"list","of":"prompts"}]`)[1].failed(t, "more than 1000 pages")
}

const elicits = `{"do":"answer-with","method":"elicitation/create","capability":{"form":{}},"result":{"action":"accept","content":{"a":1}}},{"do":"connect"},`

func TestRetries(t *testing.T) {
	t.Parallel()
	asking := object{"a": object{"method": "elicitation/create", "params": object{"message": "?", "requestedSchema": object{"type": "object", "properties": object{}}}}}
	for name, one := range map[string]struct {
		result object
		defect string
		want   string // of the retry, or
		fails  string
	}{
		"both":       {result: object{"resultType": "input_required", "inputRequests": asking, "requestState": " é\"\\\u2028+/= "}, want: `"requestState":" é\"\\\u2028+/= "`},
		"state only": {result: object{"resultType": "input_required", "requestState": ""}, want: `"requestState":""`},
		"input only": {result: object{"resultType": "input_required", "inputRequests": asking}, want: `"inputResponses":{"a":{"action":"accept","content":{"a":1}}}`},
		"neither":    {result: object{"resultType": "input_required"}, fails: "neither"},
		"undeclared": {result: object{"resultType": "input_required", "inputRequests": object{"r": object{"method": "roots/list"}}}, fails: "not declared"},
		"no input":   {result: object{"resultType": "input_required", "inputRequests": object{"r": object{"method": "tools/call"}}}, fails: "no request for input"},
		"a list":     {result: object{"resultType": "input_required", "inputRequests": []object{}}, fails: "not an object"},
		"unknown":    {result: object{"resultType": "vendor/other", "content": []object{}}, fails: "vendor/other"},
		"number":     {result: object{"resultType": 7, "content": []object{}}, fails: `"7"`},
		"absent":     {result: object{"content": []object{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			s, options := stateless(t, func(v visit) {
				switch {
				case v.is("tools/list"):
					v.answer(complete(object{"tools": []object{}}))
				case calls.Add(1) == 1:
					v.answer(one.result)
				default:
					v.answer(complete(text("done")))
				}
			})
			options.Defect = one.defect
			outcomes := run(t, options, `[`+elicits+`{"do":"call","tool":"t","arguments":{"x":1},"progress":true},{"do":"close"}]`)
			found := s.of("tools/call")
			if one.fails != "" {
				outcomes[2].failed(t, one.fails)
			} else {
				outcomes[2].done(t)
			}
			if one.want == "" {
				if len(found) != 1 {
					t.Errorf("it was called %d times", len(found))
				}
				return
			}
			again := found[1].message
			if text := string(encode(again["params"])); !strings.Contains(text, one.want) || !strings.Contains(text, `"arguments":{"x":1}`) {
				t.Errorf("the retry has %s, wanted %s", text, one.want)
			}
			if again["id"] == found[0].message["id"] || param(again, "_meta", "progressToken") == param(found[0].message, "_meta", "progressToken") {
				t.Errorf("the retry is %v", again)
			}
			if _, given := one.result["requestState"]; !given && param(again, "requestState") != nil {
				t.Errorf("the retry has a state that it was not given: %v", again)
			}
		})
	}
}

func TestRetryDefects(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s, options := stateless(t, func(v visit) {
		switch {
		case v.is("tools/list"):
			v.answer(complete(object{"tools": []object{}}))
		case calls.Add(1) == 1:
			v.answer(object{"resultType": "input_required", "requestState": "s"})
		default:
			v.answer(complete(text("done")))
		}
	})
	options.Defect = "retries-with-same-id"
	run(t, options, `[{"do":"connect"},{"do":"call","tool":"t"}]`)[1].done(t)
	if found := s.of("tools/call"); found[0].message["id"] != found[1].message["id"] {
		t.Errorf("found %v and %v", found[0].message, found[1].message)
	}
}

// A server that asks for ever is not answered for ever.
func TestRoundsAreBounded(t *testing.T) {
	t.Parallel()
	s, options := stateless(t, func(v visit) { v.answer(object{"resultType": "input_required", "requestState": "s"}) })
	run(t, options, `[{"do":"connect"},{"do":"read","uri":"test://x"}]`)[1].failed(t, "more than 16 times")
	if found := len(s.of("resources/read")); found != 16 {
		t.Errorf("it was asked %d times", found)
	}
}

// In the stateless era a server sends no requests, and the client ignores them.
func TestRequestsOfStatelessServers(t *testing.T) {
	t.Parallel()
	s, options := stateless(t, func(v visit) {
		v.stream(event(ask(1, "ping", nil)), ":\n\n", event(to(v.message, complete(object{"prompts": []object{}}))))
	})
	run(t, options, `[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"wait-for","method":"ping"},{"do":"close"}]`)
	if slices.Contains(s.methods(), "response") {
		t.Errorf("found %v", s.methods())
	}
}

func TestStatelessRequestsAreLeft(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	s, options := stateless(t, func(v visit) {
		if v.is("tools/list") {
			v.answer(complete(object{"tools": []object{}}))
			return
		}
		v.stream(":\n\n")
		<-v.Context().Done()
		close(left)
	})
	outcomes := run(t, options, `[{"do":"connect"},{"do":"call","tool":"t","as":"c"},{"do":"cancel","what":"c"},{"do":"close"}]`)
	outcomes[1].failed(t, "cancelled")
	<-left
	if slices.Contains(s.methods(), "notifications/cancelled") {
		t.Errorf("found %v", s.methods())
	}
}

// A task that asks is answered once, however often it is looked at.
func TestAsyncTaskInput(t *testing.T) {
	t.Parallel()
	var looks atomic.Int64
	task := func(status string) object {
		return object{
			"taskId": "t-1", "status": status, "ttlMs": nil, "pollIntervalMs": 1,
			"createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
		}
	}
	s, options := stateless(t, func(v visit) {
		switch {
		case v.is("tools/list"):
			v.answer(complete(object{"tools": []object{}}))
		case v.is("tools/call"):
			created := task("working")
			created["resultType"] = "task"
			v.answer(created)
		case v.is("tasks/get") && looks.Add(1) < 4:
			state := task("input_required")
			state["inputRequests"] = object{"q": object{"method": "elicitation/create", "params": object{"message": "?", "requestedSchema": object{"type": "object"}}}}
			v.answer(complete(state))
		case v.is("tasks/get"):
			state := task("completed")
			state["result"] = text("answered")
			v.answer(complete(state))
		default:
			v.answer(complete(object{}))
		}
	})
	run(t, options, `[`+elicits+`{"do":"call","tool":"t"},{"do":"get-task","task":"t-1"},{"do":"task-result","task":"t-1"},{"do":"cancel-task","task":"t-1"}]`)[2].says(t, "answered")
	looks.Store(0)
	options.Defect = "answers-input-again"
	run(t, options, `[`+elicits+`{"do":"call","tool":"t"}]`)[2].says(t, "answered")
	if found := len(s.of("tasks/update")); found != 1+3 {
		t.Errorf("it was answered %d times", found)
	}
	for _, v := range s.all() {
		if method, _ := v.message["method"].(string); strings.HasPrefix(method, "tasks/") && v.Request.Header.Get("Mcp-Name") != "t-1" {
			t.Errorf("%s is about %q", method, v.Request.Header.Get("Mcp-Name"))
		}
	}
	if len(s.of("tasks/cancel")) != 1 {
		t.Errorf("found %v", s.methods())
	}
}

func TestErasAreRemembered(t *testing.T) {
	t.Parallel()
	s, options := talking(t, func(m object, say func(any)) error {
		answer, _ := hello(m, client.Revision20251125)
		if answer != nil {
			say(answer)
		}
		return nil
	})
	run(t, options, `[{"do":"connect"},{"do":"close"},{"do":"connect"},{"do":"close"}]`)
	if found := strings.Join(s.methods(), " "); found != "server/discover initialize notifications/initialized initialize notifications/initialized" {
		t.Errorf("found %s", found)
	}
}

func TestModernErrorsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		status int
		body   string
		falls  bool
	}{
		"empty":       {http.StatusBadRequest, "", true},
		"text":        {http.StatusNotFound, "no such page", true},
		"other error": {http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}`, true},
		"mismatch":    {http.StatusBadRequest, `{"jsonrpc":"2.0","error":{"code":-32020,"message":"headers"}}`, false},
		"capability":  {http.StatusBadRequest, `{"jsonrpc":"2.0","error":{"code":-32021,"message":"capability"}}`, false},
		"unsupported": {http.StatusBadRequest, `{"jsonrpc":"2.0","error":{"code":-32022,"message":"version","data":{"supported":["2099-01-01"]}}}`, false},
		"broken":      {http.StatusInternalServerError, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scripted(t, func(v visit) {
				if v.is("server/discover") {
					v.WriteHeader(one.status)
					_, _ = v.Write([]byte(one.body))
					return
				}
				begins(v, "s-1")
			})
			_, err := tryRun(t, client.Options{URL: s.url}, `[{"do":"connect"},{"do":"close"}]`)
			if (err == nil) != one.falls || len(s.of("initialize")) > 0 != one.falls {
				t.Errorf("found %v: %v", s.methods(), err)
			}
		})
	}
}
