package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/client"
)

// asked has a server ask during a call, one question after another, and returns
// the answers as text, in the order of the questions.
func asked(t *testing.T, revision, defect, setup string, questions ...object) []string {
	t.Helper()
	var call object
	answers := map[any]string{}
	next := func(say func(any)) {
		if len(answers) == len(questions) {
			say(to(call, text("done")))
			return
		}
		question := questions[len(answers)]
		question["id"] = len(answers)
		say(question)
	}
	_, options := talking(t, func(m object, say func(any)) error {
		if answer, opens := hello(m, revision); opens {
			say(answer)
			return nil
		}
		switch m["method"] {
		case "tools/list":
			say(to(m, object{"tools": []object{}}))
		case "tools/call":
			call = m
			next(say)
		case nil:
			id := m["id"]
			delete(m, "jsonrpc")
			delete(m, "id")
			answers[id] = string(encode(m))
			next(say)
		}
		return nil
	})
	options.Revision, options.Defect = revision, defect
	run(t, options, `[`+setup+`{"do":"connect"},{"do":"call","tool":"t"},{"do":"close"}]`)
	var all []string
	for i := range questions {
		all = append(all, answers[float64(i)])
	}
	return all
}

// wants compares answers with what they should contain.
func wants(t *testing.T, questions []object, answers, want []string) {
	t.Helper()
	for i, answer := range answers {
		if !strings.Contains(answer, want[i]) {
			t.Errorf("%s is answered with %s, wanted %s", encode(questions[i]), answer, want[i])
		}
	}
}

func TestQuestionsThatAreNotDeclared(t *testing.T) {
	t.Parallel()
	questions := []object{
		ask(0, "roots/list", nil), ask(0, "sampling/createMessage", object{"messages": []object{}}),
		ask(0, "elicitation/create", object{}), ask(0, "tasks/list", nil), ask(0, "no/such/method", nil),
		ask(0, "ping", object{"extra": 1}), {"jsonrpc": "2.0", "method": 7}, {"jsonrpc": "2.0", "method": "ping", "params": []int{1}},
	}
	want := []string{`"code":-32601`, `"code":-32601`, `"code":-32601`, `"code":-32601`, `"code":-32601`, `"result":{}`, `"code":-32600`, `"code":-32602`}
	for _, revision := range handshake {
		wants(t, questions, asked(t, revision, "", "", questions...), want)
	}
}

func message(role string, content ...any) object {
	if len(content) == 1 {
		return object{"role": role, "content": content[0]}
	}
	return object{"role": role, "content": content}
}

func words(text string) object { return object{"type": "text", "text": text} }

func TestSampling(t *testing.T) {
	t.Parallel()
	use := object{"type": "tool_use", "id": "u", "name": "n", "input": object{}}
	result := object{"type": "tool_result", "toolUseId": "u", "content": []object{}}
	other := object{"type": "tool_result", "toolUseId": "v", "content": []object{}}
	sampling := func(params object, messages ...object) object {
		if messages != nil {
			params["messages"] = messages
		}
		return ask(0, "sampling/createMessage", params)
	}
	tool := object{"name": "add", "inputSchema": object{"type": "object", "required": []string{"a"}, "properties": object{"a": object{"type": "integer"}}}}
	questions := []object{
		sampling(object{}, message("user", words("hello"))),
		sampling(object{}),
		sampling(object{}, message("system", words("hello"))),
		sampling(object{}, message("user", object{"type": "image", "data": "%%%", "mimeType": "image/png"})),
		sampling(object{}, message("user", object{"text": "hello"})),
		sampling(object{}, message("user")),
		sampling(object{}, message("assistant", use), message("user", result)),
		sampling(object{}, message("assistant", use), message("user", words("and?"))),
		sampling(object{}, message("assistant", use)),
		sampling(object{}, message("assistant", use), message("user", other)),
		sampling(object{}, message("assistant", use), message("user", result, words("and"))),
		sampling(object{"tools": []object{tool}, "toolChoice": object{"mode": "required"}}, message("user", words("hello"))),
		sampling(object{"tools": []object{{"name": "n", "inputSchema": object{"$schema": "https://example.com/other"}}}}, message("user", words("hello"))),
		sampling(object{"_meta": object{"io.modelcontextprotocol/related-task": object{"taskId": "t-1"}}}, message("user", words("hello"))),
	}
	const refused = `"code":-32602`
	answers := asked(t, client.Revision20251125, "", `{"do":"answer-with","method":"sampling/createMessage","capability":{"tools":{}}},`, questions...)
	wants(t, questions, answers, []string{
		`"role":"assistant"`, refused, refused, refused, refused, refused, `"role":"assistant"`, refused, refused, refused, refused,
		`"input":{"a":0}`, refused, `"io.modelcontextprotocol/related-task":{"taskId":"t-1"}`,
	})

	tooled := []object{questions[11], sampling(object{"toolChoice": object{"mode": "auto"}}, message("user", words("hello")))}
	wants(t, tooled, asked(t, client.Revision20251125, "", `{"do":"answer-with","method":"sampling/createMessage"},`, tooled...), []string{refused, refused})
	wants(t, tooled[:1], asked(t, client.Revision20251125, "refuses-no-request", `{"do":"answer-with","method":"sampling/createMessage"},`, tooled[0]), []string{"tool_use"})

	given := `{"do":"answer-with","method":"sampling/createMessage","capability":{"tools":{}},"error":{"code":-1,"message":"User rejected"}},
		{"do":"answer-with","method":"sampling/createMessage","result":{"role":"assistant","model":"m","content":{"type":"text","text":"given"}}},`
	inTurn := []object{questions[0], questions[0], questions[0], questions[11]}
	wants(t, inTurn, asked(t, client.Revision20251125, "", given, inTurn...), []string{`"code":-1`, "given", "given", "uses no tool"})
}

func form(properties object, required ...string) object {
	schema := object{"type": "object", "properties": properties}
	if required != nil {
		schema["required"] = required
	}
	return ask(0, "elicitation/create", object{"message": "?", "requestedSchema": schema})
}

func TestForms(t *testing.T) {
	t.Parallel()
	filled := object{
		"name": object{"type": "string", "minLength": 6}, "mail": object{"type": "string", "format": "email"},
		"age": object{"type": "integer", "minimum": 18}, "color": object{"type": "string", "enum": []string{"red", "blue"}},
		"many": object{"type": "array", "minItems": 1, "items": object{"anyOf": []object{{"const": "x", "title": "X"}}}},
		"when": object{"type": "string", "format": "date", "default": "2026-01-02"}, "left": object{"type": "string"},
	}
	questions := []object{
		form(filled, "name", "mail", "age", "color", "many"),
		form(object{"a": object{"type": "string", "default": "suggested"}}),
		ask(0, "elicitation/create", object{"message": "?"}),
		ask(0, "elicitation/create", object{"mode": "url", "message": "?", "url": "https://example.com/", "elicitationId": "e"}),
		ask(0, "elicitation/create", object{"mode": "dance", "message": "?"}),
		ask(0, "elicitation/create", object{"message": "?", "requestedSchema": object{"$schema": "https://example.com/other", "type": "object"}}),
	}
	answers := asked(t, client.Revision20251125, "", `{"do":"answer-with","method":"elicitation/create"},`, questions...)
	wants(t, questions, answers, []string{
		`"content":{"age":18,"color":"red","mail":"user@example.com","many":["x"],"name":"tttttt","when":"2026-01-02"}`,
		`"content":{"a":"suggested"}`, `"code":-32602`, `"code":-32602`, `"code":-32602`, `"code":-32602`,
	})

	given := `{"do":"answer-with","method":"elicitation/create","result":{"action":"accept","content":{"mail":"nobody"}}},
		{"do":"answer-with","method":"elicitation/create","result":{"action":"accept","content":{"mail":"me@example.com"}}},
		{"do":"answer-with","method":"elicitation/create","result":{"action":"decline"}},`
	mail := form(object{"mail": filled["mail"], "when": filled["when"]}, "mail")
	inTurn := []object{mail, mail, mail}
	wants(t, inTurn, asked(t, client.Revision20250618, "", given, inTurn...), []string{
		`"action":"cancel"`, `"content":{"mail":"me@example.com","when":"2026-01-02"}`, `{"result":{"action":"decline"}}`,
	})
}

// Only the user visits the URL of an elicitation: the client does not fetch it.
func TestVisits(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	t.Cleanup(site.Close)
	visit := object{"mode": "url", "message": "?", "url": site.URL, "elicitationId": "e-1"}
	var calls int
	_, options := talking(t, func(m object, say func(any)) error {
		if answer, opens := hello(m, client.Revision20251125); opens {
			say(answer)
		}
		switch m["method"] {
		case "tools/list":
			say(to(m, object{"tools": []object{}}))
		case "tools/call":
			if calls++; calls > 1 {
				say(to(m, text("visited")))
				return nil
			}
			refusal := no(m, -32042, "visit first")
			refusal["error"].(object)["data"] = object{"elicitations": []object{visit}}
			say(notice("notifications/elicitation/complete", object{"elicitationId": "unknown"}))
			say(refusal)
			say(notice("notifications/elicitation/complete", object{"elicitationId": "e-1"}))
			say(notice("notifications/elicitation/complete", object{"elicitationId": "e-1"}))
		}
		return nil
	})
	options.Revision, options.Timeouts.Visit = client.Revision20251125, 50*time.Millisecond
	steps := func(result string) string {
		return `[{"do":"answer-with","method":"elicitation/create","capability":{"url":{}},"result":{"action":"` + result + `"}},
			{"do":"connect"},{"do":"call","tool":"t"},{"do":"call","tool":"t"},{"do":"close"}]`
	}
	run(t, options, steps("accept"))[2].says(t, "visited")
	calls = 0
	outcomes := run(t, options, steps("decline"))
	outcomes[2].failed(t, "does not visit")
	outcomes[3].says(t, "visited")
	if fetched.Load() > 0 {
		t.Error("the client has fetched the URL")
	}
	questions := []object{ask(0, "elicitation/create", visit), ask(0, "elicitation/create", object{"mode": "url", "url": "not a URL"}), form(object{})}
	wants(t, questions, asked(t, client.Revision20251125, "", `{"do":"answer-with","method":"elicitation/create","capability":{"url":{}}},`, questions...),
		[]string{`{"result":{"action":"accept"}}`, `"code":-32602`, `"code":-32602`})
}

func TestRoots(t *testing.T) {
	t.Parallel()
	for _, revision := range handshake {
		s, options := talking(t, func(m object, say func(any)) error {
			if answer, opens := hello(m, revision); opens {
				say(answer)
			}
			if m["method"] == "notifications/roots/list_changed" || m["method"] == "notifications/initialized" {
				say(ask("r", "roots/list", nil))
			}
			return nil
		})
		options.Revision = revision
		outcomes := run(t, options, `[{"do":"answer-with","method":"roots/list","capability":{"listChanged":true}},
			{"do":"connect"},{"do":"wait-for","method":"roots/list"},{"do":"change-roots","roots":[{"uri":"http://no"}]},
			{"do":"change-roots","roots":[{"uri":"file:///new"}]},{"do":"wait-for","method":"roots/list"},{"do":"close"}]`)
		outcomes[3].failed(t, "file://")
		found := string(encode(s.of("")))
		if !strings.Contains(found, "file:///workspace") || !strings.Contains(found, "file:///new") {
			t.Errorf("found %s", found)
		}
		run(t, options, `[{"do":"answer-with","method":"roots/list"},{"do":"connect"},{"do":"change-roots","roots":[]},{"do":"close"}]`)
		if found := s.of("notifications/roots/list_changed"); len(found) != 1 {
			t.Errorf("changes were announced %d times", len(found))
		}
	}
}

// A request that the server has cancelled is not answered.
func TestServerCancels(t *testing.T) {
	t.Parallel()
	for defect, answered := range map[string]bool{"": false, "answers-after-cancellation": true} {
		s, options := talking(t, func(m object, say func(any)) error {
			if answer, opens := hello(m, client.Revision20251125); opens {
				say(answer)
			}
			if m["method"] == "notifications/initialized" {
				say(ask("q", "sampling/createMessage", object{"messages": []object{}}))
				say(notice("notifications/cancelled", object{"requestId": "nobody's"}))
				say(notice("notifications/cancelled", object{"requestId": "q", "reason": "enough"}))
			}
			return nil
		})
		options.Revision, options.Defect = client.Revision20251125, defect
		run(t, options, `[{"do":"answer-with","method":"sampling/createMessage","silent":true},{"do":"connect"},
			{"do":"wait-for","method":"notifications/cancelled"},{"do":"wait-for","method":"notifications/cancelled"},{"do":"close"}]`)
		if found := len(s.of("")) > 0; found != answered {
			t.Errorf("%q: found %v", defect, s.of(""))
		}
	}
}

// What the server asks for as a task is answered later.
func TestOwnTasks(t *testing.T) {
	t.Parallel()
	var first, second string
	sampling := ask("a", "sampling/createMessage", object{"messages": []object{}, "task": object{"ttl": 1e15}})
	step := 0
	states := 0
	said := map[any]object{}
	s, options := talking(t, func(m object, say func(any)) error {
		if answer, opens := hello(m, client.Revision20251125); opens {
			say(answer)
			return nil
		}
		if m["method"] == "notifications/initialized" {
			say(sampling)
			return nil
		}
		over := func() {
			if step == 10 && states > 0 { // which of them comes first is left open
				say(notice("notifications/over", nil))
			}
		}
		if m["method"] == "notifications/tasks/status" {
			states++
			over()
		}
		if m["method"] != nil {
			return nil
		}
		said[m["id"]] = m
		id := func(text *string) {
			result, _ := m["result"].(object)
			task, _ := result["task"].(object)
			*text, _ = task["taskId"].(string)
		}
		ask := func(id, method, task string) { say(ask(id, method, object{"taskId": task})) }
		switch step++; step {
		case 1:
			id(&first)
			ask("first", "tasks/result", first)
		case 2:
			again := sampling
			again["id"] = "b"
			say(again)
		case 3:
			id(&second)
			ask("get", "tasks/get", second)
		case 4:
			ask("cancel", "tasks/cancel", second)
		case 5:
			ask("cancel again", "tasks/cancel", second)
		case 6:
			ask("result", "tasks/result", second)
		case 7:
			ask("unknown", "tasks/get", "nobody's")
		case 8:
			say(object{"jsonrpc": "2.0", "id": "list", "method": "tasks/list"})
		case 9:
			say(object{"jsonrpc": "2.0", "id": "page", "method": "tasks/list", "params": object{"cursor": "x"}})
		case 10:
			over()
		}
		return nil
	})
	options.Revision = client.Revision20251125
	run(t, options, `[
		{"do":"answer-with","method":"sampling/createMessage","result":{"role":"assistant","model":"m","content":{"type":"text","text":"later"}}},
		{"do":"answer-with","method":"sampling/createMessage","silent":true},
		{"do":"connect"},{"do":"wait-for","method":"notifications/over"},{"do":"close"}]`)
	for id, want := range map[string]string{
		"a": `"status":"working"`, "first": "later", "get": `"status":"working"`, "cancel": `"status":"cancelled"`,
		"cancel again": `"code":-32602`, "result": `"error"`, "unknown": `"code":-32602`, "list": second, "page": `"code":-32602`,
	} {
		if found := string(encode(said[id])); !strings.Contains(found, want) {
			t.Errorf("%s is answered with %s, wanted %s", id, found, want)
		}
	}
	if found := string(encode(said["first"])); !strings.Contains(found, `"io.modelcontextprotocol/related-task":{"taskId":"`+first+`"}`) {
		t.Errorf("the result is %s", found)
	}
	if found := string(encode(said["a"])); strings.Contains(found, "1000000000000000") || first == second {
		t.Errorf("the task is %s", found)
	}
	if states != 1 {
		t.Errorf("the client has told %d times how its tasks go on", states)
	}
	declared, _ := json.Marshal(s.of("initialize")[0])
	if !strings.Contains(string(declared), `"tasks":{"cancel":{},"list":{},"requests":{"sampling":{"createMessage":{}}}}`) {
		t.Errorf("the client declares %s", declared)
	}
}
