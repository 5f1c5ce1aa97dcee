package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/server"
)

// withTasks is a client that can do all that there is from 2026-07-28.
func withTasks() object {
	return object{
		"roots":       object{},
		"sampling":    object{"tools": object{}},
		"elicitation": object{"form": object{}, "url": object{}},
		"extensions":  object{"io.modelcontextprotocol/tasks": object{}},
	}
}

// stateless runs a test at 2026-07-28 over every transport.
func stateless(t *testing.T, test func(t *testing.T, connect func(object) *client)) {
	at(t, server.Revision20260728, test)
}

func TestDiscover(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		result := connect(object{}).call("server/discover", nil)
		if got := fmt.Sprint(result["supportedVersions"]); got != "[2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]" {
			t.Errorf("versions: %s", got)
		}
		extensions := result["capabilities"].(object)["extensions"].(object)
		if _, tasks := extensions["io.modelcontextprotocol/tasks"]; !tasks {
			t.Errorf("extensions: %v", extensions)
		}
	})
}

func TestEveryResultSaysWhatItIs(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for method, params := range map[string]object{
			"server/discover": {}, "tools/list": {}, "prompts/list": {}, "resources/list": {}, "resources/templates/list": {},
			"tools/call": {"name": "test_simple_text"}, "prompts/get": {"name": "test_simple_prompt"},
			"resources/read": {"uri": "test://static-text"},
			"completion/complete": {"ref": object{"type": "ref/prompt", "name": "test_prompt_with_completion"},
				"argument": object{"name": "language", "value": ""}},
		} {
			result := c.call(method, params)
			meta, _ := result["_meta"].(object)
			if result["resultType"] != "complete" || meta["io.modelcontextprotocol/serverInfo"] == nil {
				t.Errorf("%s: %v", method, result)
			}
			cached := slices.Contains([]string{"tools/call", "prompts/get", "completion/complete"}, method)
			if (result["ttlMs"] == nil) != cached || (result["cacheScope"] == nil) != cached {
				t.Errorf("%s has the hints %v and %v", method, result["ttlMs"], result["cacheScope"])
			}
		}
	})
}

func TestRequestsMustSayWhatTheyAre(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for _, wrong := range []object{
			{"io.modelcontextprotocol/protocolVersion": nil},
			{"io.modelcontextprotocol/clientCapabilities": nil},
			{"io.modelcontextprotocol/clientCapabilities": 1},
			{"io.modelcontextprotocol/clientInfo": object{"name": "no version"}},
			{"io.modelcontextprotocol/logLevel": "loud"},
			{"io.modelcontextprotocol/logLevel": ""},
			{"progressToken": 1.5},
		} {
			c.fails(-32602, "tools/list", object{"_meta": wrong})
		}
		c.fails(-32601, "no/such/method", nil)
		for _, gone := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list", "tasks/result"} {
			c.fails(-32601, gone, nil)
		}
		c.fails(-32602, "tools/call", object{"name": "no_such_tool"})
		failure := c.fails(-32602, "resources/read", object{"uri": "test://no-such-resource"})
		if failure["data"].(object)["uri"] != "test://no-such-resource" {
			t.Errorf("%v", failure)
		}
	})
}

func TestVersionThatIsNotSpoken(t *testing.T) {
	at(t, server.Revision20260728, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		if h, ok := c.wire.(*httpWire); ok {
			h.revision = "1900-01-01"
			w := h.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{`+
				`"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
				"Mcp-Protocol-Version", "1900-01-01", "Mcp-Method", "tools/list")
			if body := discard(t, w); w.StatusCode != http.StatusBadRequest || !strings.Contains(body, "-32022") {
				t.Errorf("%s: %s", w.Status, body)
			}
			return
		}
		c.revision = "2026-07-29"
		c.capabilities = object{}
		id := c.start("tools/list", nil)
		c.revision = server.Revision20260728
		failure := c.response(id)["error"].(object)
		data := failure["data"].(object)
		if fmt.Sprint(failure["code"]) != "-32022" || data["requested"] != "2026-07-29" || !strings.Contains(fmt.Sprint(data["supported"]), "2026-07-28") {
			t.Errorf("%v", failure)
		}
	})
}

func TestBothErasInOneProcess(t *testing.T) {
	c := &client{t: t, revision: server.Revision20251125, wire: dialStdio(t, newServer(t, server.Options{}), ""), asked: map[string]string{}}
	defer c.wire.close()
	c.initialize(object{})
	c.revision, c.capabilities = server.Revision20260728, object{}
	if result := c.call("tools/list", nil); result["resultType"] != "complete" {
		t.Errorf("%v", result)
	}
	c.revision = server.Revision20251125
	if result := c.call("ping", nil); len(result) != 0 {
		t.Errorf("%v", result)
	}
}

func TestOnlyTheStatelessEra(t *testing.T) {
	only := server.Options{Revisions: []string{server.Revision20260728}}
	got := converse(t, only, hello(server.Revision20251125), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if !strings.Contains(got[0], `"error"`) || !strings.Contains(got[0], "2026-07-28") || !strings.Contains(got[1], "-32602") {
		t.Errorf("%s", got)
	}

	w := dialHTTP(t, newServer(t, only), server.Revision20260728).(*httpWire)
	t.Cleanup(w.close)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		w.status(http.StatusMethodNotAllowed, method, "")
	}
	if got := w.status(http.StatusBadRequest, http.MethodPost, hello(server.Revision20251125), "Mcp-Protocol-Version", ""); !strings.Contains(got, "2026-07-28") {
		t.Errorf("%s", got)
	}
	response := w.do(http.MethodPost, listTools, "Mcp-Session-Id", "anything")
	if discard(t, response); response.StatusCode != http.StatusOK || response.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%s %v", response.Status, response.Header)
	}
}

const described = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + described + `}}`

func calls(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,` + described + `}}`
}

func TestHTTPOfTheStatelessEra(t *testing.T) {
	t.Parallel()
	w := dialHTTP(t, newServer(t, server.Options{}), server.Revision20260728).(*httpWire)
	t.Cleanup(w.close)
	named := calls("test_header_parameters", `{"text":"a b","count":42,"flag":true,"place":{"city":"Zürich"}}`)
	mirrored := []string{"Mcp-Param-Text", "a b", "Mcp-Param-Count", "42.0", "Mcp-Param-Flag", "true", "Mcp-Param-City", "=?base64?WsO8cmljaA==?="}
	with := func(headers ...string) []string { return append(slices.Clone(mirrored), headers...) }
	for _, test := range []struct {
		status  int
		found   string
		body    string
		headers []string
	}{
		{200, `"tools"`, listTools, nil},
		{400, "-32020", listTools, []string{"Mcp-Protocol-Version", ""}},
		{400, "-32020", listTools, []string{"Mcp-Protocol-Version", "2025-11-25"}},
		{400, "-32020", listTools, []string{"Mcp-Method", ""}},
		{400, "-32020", listTools, []string{"Mcp-Method", "Tools/List"}},
		{400, "-32602", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil},
		{400, "-32602", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}`, nil},
		{400, "-32021", calls("test_missing_capability", "{}"), nil},
		{404, "-32601", strings.Replace(listTools, "tools/list", "no/such", 1), nil},
		{404, "-32601", strings.Replace(listTools, "tools/list", "ping", 1), nil},
		{200, "-32602", calls("no_such_tool", "{}"), nil},
		{400, "-32020", calls("test_echo", `{"text":"a"}`), []string{"Mcp-Name", ""}},
		{400, "-32020", calls("test_echo", `{"text":"a"}`), []string{"Mcp-Name", "test_simple_text"}},
		{200, `"content"`, calls("test_echo", `{"text":"a"}`), []string{"Mcp-Name", "=?base64?dGVzdF9lY2hv?="}},
		{400, "-32020", calls("test_echo", `{"text":"a"}`), []string{"Mcp-Name", "=?base64?dGVzdF9lY2h?="}},
		{400, "-32020", calls("test_echo", `{"text":"a"}`), []string{"Mcp-Name", "test_echo\u00e9"}},
		{200, `"content"`, named, mirrored},
		{400, "-32020", named, with("Mcp-Param-Text", "")},
		{400, "-32020", named, with("Mcp-Param-Count", "43")},
		{400, "-32020", named, with("Mcp-Param-Count", "many")},
		{400, "-32020", named, with("Mcp-Param-Flag", "True")},
		{400, "-32020", named, with("Mcp-Param-City", "Zuerich")},
		{200, `"content"`, named, with("Mcp-Param-Other", "ignored")},
		{200, `"content"`, calls("test_header_parameters", `{"text":null}`), nil},
		{400, "-32020", calls("test_header_parameters", `{}`), []string{"Mcp-Param-Text", "a"}},
		{202, "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, nil},
		{400, "", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil},
		{400, "-32600", `[` + listTools + `]`, nil},
		{400, "-32700", `{`, nil},
		{403, "", listTools, []string{"Origin", "https://evil.example"}},
	} {
		if got := w.status(test.status, http.MethodPost, test.body, test.headers...); !strings.Contains(got, test.found) {
			t.Errorf("%s %v: %s", test.body, test.headers, got)
		}
	}
}

func TestStreamOfAResponse(t *testing.T) {
	t.Parallel()
	w := dialHTTP(t, newServer(t, server.Options{}), server.Revision20260728).(*httpWire)
	t.Cleanup(w.close)
	response := w.do(http.MethodPost, strings.Replace(calls("test_streaming_elicitation", "{}"), `"_meta":{`, `"_meta":{"progressToken":"p",`, 1))
	body := discard(t, response)
	if response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("%v", response.Header)
	}
	if strings.Contains(body, "id:") || strings.Count(body, "notifications/progress") != 3 || !strings.Contains(body, `"result"`) {
		t.Errorf("%s", body)
	}
}

func TestLogMessagesAreAskedForByRequest(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for level, want := range map[string]int{"": 0, "debug": 8, "critical": 3} {
			c.heard = nil
			meta := object{}
			if level != "" {
				meta["io.modelcontextprotocol/logLevel"] = level
			}
			c.call("tools/call", object{"name": "test_log_levels", "_meta": meta})
			if len(c.heard) != want {
				t.Errorf("from %q: %v", level, c.methods())
			}
		}
	})
}

func TestStructuredContentOfAnyKind(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for tool, want := range map[string]string{"sep_2106_array_output_tool": "[one two]", "sep_2106_primitive_output_tool": "42",
			"test_structured_string": "a string", "test_structured_null": "<nil>"} {
			result := c.tool(tool, nil)
			if got, there := result["structuredContent"]; !there || fmt.Sprint(got) != want {
				t.Errorf("%s: %v", tool, result)
			}
		}
	})
}

func TestCancellationEndsTheCall(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		slow := object{"name": "test_slow", "arguments": object{"seconds": 10}, "_meta": object{"progressToken": "slow"}}
		id := c.start("tools/call", slow)
		c.cancel(id)
		c.tool("test_tool_with_progress", nil) // a barrier
		for _, m := range append(c.heard, c.early...) {
			if fmt.Sprint(m["id"]) == strconv.Itoa(id) {
				t.Errorf("the cancelled request is answered: %v", m)
			}
		}
	})
}

// listen opens a subscription and returns its id, and what was acknowledged.
func (c *client) listen(filter object) (id int, acknowledged object) {
	c.t.Helper()
	id = c.start("subscriptions/listen", object{"notifications": filter})
	m := c.hears("notifications/subscriptions/acknowledged")
	if got := subscriptionOf(m); got != strconv.Itoa(id) {
		c.t.Errorf("acknowledged %v, not %d", got, id)
	}
	return id, m["params"].(object)["notifications"].(object)
}

func subscriptionOf(m object) string {
	meta, _ := m["params"].(object)["_meta"].(object)
	return fmt.Sprint(meta["io.modelcontextprotocol/subscriptionId"])
}

func TestSubscriptions(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		tools, agreed := c.listen(object{"toolsListChanged": true, "promptsListChanged": false})
		if fmt.Sprint(agreed) != "map[toolsListChanged:true]" {
			t.Errorf("agreed: %v", agreed)
		}
		watched, agreed := c.listen(object{"resourceSubscriptions": []string{"test://watched-resource", "test://no-such"}})
		if fmt.Sprint(agreed) != "map[resourceSubscriptions:[test://watched-resource]]" {
			t.Errorf("agreed: %v", agreed)
		}
		c.tool("test_trigger_prompt_change", nil)
		c.tool("test_touch_resource", nil)
		c.tool("test_trigger_tool_change", nil)
		if got := subscriptionOf(c.hears("notifications/resources/updated")); got != strconv.Itoa(watched) {
			t.Errorf("updated: %v", got)
		}
		if got := subscriptionOf(c.hears("notifications/tools/list_changed")); got != strconv.Itoa(tools) {
			t.Errorf("changed: %v", got)
		}
		if len(c.heard) != 0 {
			t.Errorf("heard too much: %v", c.heard)
		}
		c.fails(-32602, "subscriptions/listen", nil)
		c.fails(-32021, "subscriptions/listen", object{"notifications": object{"taskIds": []string{"a"}}})
	})
}

func TestSubscriptionIsGivenUp(t *testing.T) {
	at(t, server.Revision20260728, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		if _, ok := c.wire.(*stdioWire); !ok {
			return // over HTTP nothing tells the client when the server has noticed
		}
		first, _ := c.listen(object{"toolsListChanged": true})
		c.cancel(first)
		second, _ := c.listen(object{"toolsListChanged": true})
		c.tool("test_trigger_tool_change", nil)
		if got := subscriptionOf(c.hears("notifications/tools/list_changed")); got != strconv.Itoa(second) || len(c.heard) != 0 {
			t.Errorf("heard by %v, and %v", got, c.heard)
		}
	})
}

func TestSubscriptionsEndWithTheServer(t *testing.T) {
	in, toServer := io.Pipe()
	var out bytes.Buffer
	done := make(chan error)
	s := newServer(t, server.Options{})
	go func() { done <- s.ServeStdio(context.Background(), in, &out) }()
	if _, err := io.WriteString(toServer, strings.Replace(listTools, `"method":"tools/list","params":{`,
		`"method":"subscriptions/listen","params":{"notifications":{},`, 1)+"\n"); err != nil {
		t.Fatal(err)
	}
	_ = toServer.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "acknowledged") || !strings.Contains(lines[1], "notifications/cancelled") ||
		!strings.Contains(lines[2], `"resultType":"complete"`) || strings.Count(out.String(), `"io.modelcontextprotocol/subscriptionId":1`) != 3 {
		t.Errorf("%s", out.String())
	}
}

// answers are those of a user and a model that agree to everything.
func (c *client) agrees() *client {
	c.answers["elicitation/create"] = func(params object) (object, object) {
		content := object{}
		form, _ := params["requestedSchema"].(object)
		properties, _ := form["properties"].(object)
		for name, property := range properties {
			content[name] = "bob"
			if property.(object)["type"] == "boolean" {
				content[name] = true
			}
		}
		if form == nil {
			return object{"action": "accept"}, nil
		}
		return object{"action": "accept", "content": content}, nil
	}
	c.answers["sampling/createMessage"] = func(object) (object, object) { return said("hello"), nil }
	c.answers["roots/list"] = func(object) (object, object) {
		return object{"roots": []any{object{"uri": "file:///home"}}}, nil
	}
	return c
}

func TestQuestionsOfResults(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(withTasks()).agrees()
		for tool, want := range map[string]string{
			"test_input_required_result_elicitation":     "bob",
			"test_input_required_result_sampling":        "hello",
			"test_input_required_result_list_roots":      "file:///home",
			"test_input_required_result_request_state":   "state-ok",
			"test_input_required_result_tampered_state":  "state-ok",
			"test_input_required_result_state_only":      "You are back",
			"test_input_required_result_multiple_inputs": "3 answers",
			"test_input_required_result_multi_round":     `{"name":"bob"}, {"color":"bob"}`,
			"test_input_required_result_capabilities":    "3 answers",
			"test_elicitation_sep1034_defaults":          "is wrong",
			"test_elicitation_url":                       "action=accept",
			"test_elicitation_url_required":              "action=accept",
		} {
			if want == "is wrong" {
				first := c.once("tools/call", object{"name": tool})
				c.fails(-32602, "tools/call", c.retry(object{"name": tool}, first)) // the answer does not fit the form
				continue
			}
			if got := firstText(c.tool(tool, nil)); !strings.Contains(got, want) {
				t.Errorf("%s: %q", tool, got)
			}
		}
		if got := fmt.Sprint(c.call("prompts/get", object{"name": "test_input_required_result_prompt"})); !strings.Contains(got, "bob") {
			t.Errorf("prompt: %v", got)
		}
		if got := fmt.Sprint(c.call("resources/read", object{"uri": "test://input-required"})); !strings.Contains(got, "bob") {
			t.Errorf("resource: %v", got)
		}
	})
}

func TestOnlyWhatIsDeclaredIsAsked(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{"elicitation": object{"url": object{}}, "roots": object{}})
		for _, tool := range []string{"test_input_required_result_elicitation", "test_input_required_result_sampling",
			"test_input_required_result_multiple_inputs", "test_missing_capability"} {
			failure := c.fails(-32021, "tools/call", object{"name": tool})
			if failure["data"].(object)["requiredCapabilities"] == nil {
				t.Errorf("%s: %v", tool, failure)
			}
		}
		c.fails(-32021, "prompts/get", object{"name": "test_input_required_result_prompt"})
		failure := c.fails(-32021, "tools/call", object{"name": "test_input_required_result_multiple_inputs"})
		if got := fmt.Sprint(failure["data"]); got != "map[requiredCapabilities:map[elicitation:map[form:map[]] sampling:map[]]]" {
			t.Errorf("all that is missing: %s", got)
		}
		asked := c.once("tools/call", object{"name": "test_input_required_result_capabilities"})["inputRequests"].(object)
		if len(asked) != 1 || asked["client_roots"] == nil {
			t.Errorf("asked %v", asked)
		}
	})
}

func TestMissingAnswersAreAskedForAgain(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(withTasks()).agrees()
		params := object{"name": "test_input_required_result_multiple_inputs"}
		first := c.once("tools/call", params)
		retry := c.retry(params, first)
		answers := retry["inputResponses"].(object)
		greeting := answers["greeting"]
		delete(answers, "greeting")
		answers["unknown"] = object{"action": "accept"}
		second := c.once("tools/call", retry)
		if asked, _ := second["inputRequests"].(object); len(asked) != 1 || asked["greeting"] == nil || second["requestState"] == nil {
			t.Fatalf("asked again: %v", second)
		}
		third := c.once("tools/call", object{"name": params["name"], "requestState": second["requestState"], "inputResponses": object{"greeting": greeting}})
		if got := firstText(third); !strings.Contains(got, "3 answers") || strings.Contains(got, "unknown") {
			t.Errorf("%q", got)
		}
		for _, wrong := range []any{object{"user_name": "bob"}, object{"user_name": object{}}, []string{}} {
			c.fails(-32602, "tools/call", object{"name": "test_input_required_result_elicitation", "inputResponses": wrong})
		}
	})
}

func TestStatesAreProtected(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(withTasks()).agrees()
		params := object{"name": "test_input_required_result_request_state"}
		retry := c.retry(params, c.once("tools/call", params))
		given := retry["requestState"].(string)
		flipped := []byte(given)
		flipped[3] ^= 1
		for _, state := range []any{given + "-TAMPERED", string(flipped), given[:len(given)-1], "", "nonsense", 7} {
			retry["requestState"] = state
			c.fails(-32602, "tools/call", retry)
		}
		retry["requestState"] = given
		for _, other := range []object{
			{"name": "test_input_required_result_tampered_state"},
			{"name": params["name"], "arguments": object{"other": 1}},
		} {
			other["requestState"], other["inputResponses"] = given, retry["inputResponses"]
			c.fails(-32602, "tools/call", other)
		}
		if got := firstText(c.once("tools/call", retry)); !strings.Contains(got, "state-ok") {
			t.Errorf("%q", got)
		}
	})
}

func TestStatesExpire(t *testing.T) {
	s := newServer(t, server.Options{StateLife: -time.Second})
	c := &client{t: t, revision: server.Revision20260728, wire: dialStdio(t, s, ""), asked: map[string]string{},
		answers: map[string]func(object) (object, object){}, capabilities: withTasks()}
	defer c.wire.close()
	params := object{"name": "test_input_required_result_request_state"}
	c.fails(-32602, "tools/call", c.agrees().retry(params, c.once("tools/call", params)))
}

// runTask calls a tool that runs as a task, and returns the id of that.
func (c *client) runTask(tool string, arguments object) any {
	c.t.Helper()
	created := c.once("tools/call", object{"name": tool, "arguments": arguments})
	if created["resultType"] != "task" || created["status"] != "working" || created["ttlMs"] == nil {
		c.t.Fatalf("created %v", created)
	}
	return created["taskId"]
}

// becomes asks after a task until it has a status.
func (c *client) becomes(id any, status string) object {
	c.t.Helper()
	for {
		state := c.once("tasks/get", object{"taskId": id})
		if state["status"] == status {
			return state
		}
		if state["result"] != nil || state["error"] != nil || state["status"] == "cancelled" {
			c.t.Fatalf("it is %v, not %s", state, status)
		}
	}
}

func TestTasksOfTheExtension(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(withTasks())
		state := c.becomes(c.runTask("slow_compute", object{"seconds": 0.01}), "completed")
		if got := firstText(state["result"].(object)); !strings.Contains(got, "Computed") {
			t.Errorf("%v", state)
		}
		for _, tool := range []string{"failing_job", "test_task_failing"} {
			if state := c.becomes(c.runTask(tool, nil), "completed"); state["result"].(object)["isError"] != true {
				t.Errorf("%s: %v", tool, state)
			}
		}
		if state := c.becomes(c.runTask("protocol_error_job", nil), "failed"); fmt.Sprint(state["error"].(object)["code"]) != "-32603" {
			t.Errorf("%v", state)
		}
		c.becomes(c.runTask("test_task_required", nil), "completed")
		if result := c.tool("greet", nil); result["resultType"] != "complete" {
			t.Errorf("%v", result)
		}

		slow := c.runTask("slow_compute", object{"seconds": 60})
		if ack := c.once("tasks/cancel", object{"taskId": slow}); ack["taskId"] != nil {
			t.Errorf("%v", ack)
		}
		c.becomes(slow, "cancelled")
		c.once("tasks/cancel", object{"taskId": slow})
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			c.fails(-32602, method, object{"taskId": "no-such-task", "inputResponses": object{}})
		}
	})
}

func TestTasksThatAsk(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(withTasks()).agrees()
		id := c.runTask("multi_input", nil)
		state := c.becomes(id, "input_required")
		questions := state["inputRequests"].(object)
		if len(questions) != 2 {
			t.Fatalf("%v", state)
		}
		answers := c.retry(object{}, state)["inputResponses"].(object)
		for key := range questions {
			c.once("tasks/update", object{"taskId": id, "inputResponses": object{key: answers[key], "unknown": object{}}})
			delete(questions, key)
			if len(questions) == 1 {
				if left := c.becomes(id, "input_required")["inputRequests"].(object); len(left) != 1 || left[key] != nil {
					t.Errorf("left %v", left)
				}
			}
		}
		if got := firstText(c.becomes(id, "completed")["result"].(object)); !strings.Contains(got, "2 answers") {
			t.Errorf("%q", got)
		}
	})
}

func TestTasksAreAnnounced(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(withTasks())
		id := c.runTask("confirm_delete", nil)
		c.becomes(id, "input_required")
		_, agreed := c.listen(object{"taskIds": []any{id, "no-such-task"}})
		if fmt.Sprint(agreed) != fmt.Sprintf("map[taskIds:[%v]]", id) {
			t.Errorf("agreed: %v", agreed)
		}
		c.once("tasks/cancel", object{"taskId": id})
		if got := c.hears("notifications/tasks")["params"].(object); got["status"] != "cancelled" || got["taskId"] != id {
			t.Errorf("%v", got)
		}
	})
}

func TestTasksAreForThoseWhoKnowThem(t *testing.T) {
	stateless(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{"tasks": object{"cancel": object{}}}) // of 2025-11-25, which says nothing here
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			c.fails(-32021, method, object{"taskId": "a", "inputResponses": object{}})
		}
		c.fails(-32021, "tools/call", object{"name": "test_task_required"})
		if result := c.tool("slow_compute", object{"seconds": 0}); result["resultType"] != "complete" {
			t.Errorf("%v", result)
		}
		result := c.call("tools/call", object{"name": "test_simple_text", "task": object{}})
		if result["resultType"] != "complete" {
			t.Errorf("the member task is not ignored: %v", result)
		}
	})
}
