package server_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/server"
)

func said(text string) object {
	return object{"role": "assistant", "model": "m", "stopReason": "endTurn", "content": object{"type": "text", "text": text}}
}

func TestNothingIsAskedThatWasNotDeclared(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		for tool, capabilities := range map[string][]object{
			"test_sampling":                     {{}, {"elicitation": object{}}},
			"test_elicitation":                  {{}, {"sampling": object{}}},
			"test_list_roots":                   {{}},
			"test_sampling_with_tools":          {{"sampling": object{}}},
			"test_sampling_as_task":             {{"sampling": object{}}, {"sampling": object{}, "tasks": object{"requests": object{}}}},
			"test_elicitation_as_task":          {{"elicitation": object{}}},
			"test_elicitation_sep1034_defaults": {{"elicitation": object{"url": object{}}}},
			"test_elicitation_url":              {{"elicitation": object{}}, {"elicitation": object{"form": object{}}}},
			"test_elicitation_url_required":     {{"elicitation": object{}}},
		} {
			for _, declared := range capabilities {
				c := connect(declared)
				if all, _ := names(c, "tools/list", "tools", "name"); !strings.Contains(fmt.Sprint(all, " "), tool+" ") {
					continue // not at this revision
				}
				arguments := object{}
				if strings.Contains(tool, "sampling") {
					arguments["prompt"] = "a"
				} else if tool == "test_elicitation" || tool == "test_elicitation_as_task" {
					arguments["message"] = "b"
				}
				if result := c.tool(tool, arguments); result["isError"] != true {
					t.Errorf("%s with %v: %v", tool, declared, result)
				}
			}
		}
	})
}

func TestNothingIsAskedBeforeInitialized(t *testing.T) {
	s := newServer(t, server.Options{})
	c := &client{t: t, revision: server.Revision20251125, wire: dialStdio(t, s, ""), asked: map[string]string{}}
	defer c.wire.close()
	c.call("initialize", object{"protocolVersion": c.revision, "capabilities": everything(),
		"clientInfo": object{"name": "test", "version": "1"}})
	c.tool("test_trigger_tool_change", nil)
	if result := c.tool("test_sampling", object{"prompt": "a"}); result["isError"] != true || len(c.heard) != 0 {
		t.Errorf("%v, heard %v", result, c.heard)
	}
}

func TestSampling(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		c.answers["sampling/createMessage"] = func(object) (object, object) { return said("hello"), nil }
		if got := firstText(c.tool("test_sampling", object{"prompt": "a"})); got != "LLM response: hello" {
			t.Errorf("%q", got)
		}
		c.answers["sampling/createMessage"] = func(object) (object, object) {
			return nil, object{"code": -1, "message": "the user says no"}
		}
		if result := c.tool("test_sampling", object{"prompt": "a"}); result["isError"] != true || !strings.Contains(firstText(result), "the user says no") {
			t.Errorf("%v", result)
		}
		c.answers["sampling/createMessage"] = func(object) (object, object) { return object{"role": "assistant"}, nil }
		if result := c.tool("test_sampling", object{"prompt": "a"}); result["isError"] != true {
			t.Errorf("%v", result)
		}
	})
}

func TestSamplingWithTools(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		var last object
		rounds := 0
		c.answers["sampling/createMessage"] = func(params object) (object, object) {
			last, rounds = params, rounds+1
			return object{"role": "assistant", "model": "m", "stopReason": "toolUse", "content": []any{
				object{"type": "tool_use", "id": fmt.Sprint("a", rounds), "name": "get_weather", "input": object{"city": "Rome"}},
				object{"type": "tool_use", "id": fmt.Sprint("b", rounds), "name": "get_weather", "input": object{"city": "Oslo"}},
			}}, nil
		}
		c.tool("test_sampling_with_tools", object{"prompt": "weather?"})
		if rounds != 3 || fmt.Sprint(last["toolChoice"]) != "map[mode:none]" {
			t.Errorf("%d rounds, the last with %v", rounds, last["toolChoice"])
		}
		messages := last["messages"].([]any)
		results := messages[2].(object)["content"].([]any)
		if len(messages) != 5 || len(results) != 2 || results[0].(object)["toolUseId"] != "a1" || results[1].(object)["toolUseId"] != "b1" {
			t.Errorf("messages: %v", messages)
		}
	})
}

// clientTask answers a request as a task.
func clientTask(c *client, result object) {
	task := object{"taskId": "t1", "status": "working", "ttl": nil,
		"createdAt": "2025-11-25T00:00:00Z", "lastUpdatedAt": "2025-11-25T00:00:00Z"}
	created := func(params object) (object, object) {
		if params["task"] == nil {
			c.t.Error("the request is not a task")
		}
		return object{"task": task}, nil
	}
	c.answers["sampling/createMessage"], c.answers["elicitation/create"] = created, created
	looks := 0
	c.answers["tasks/get"] = func(object) (object, object) {
		looks++
		now := maps.Clone(task)
		if looks > 1 {
			now["status"] = "completed"
		}
		return now, nil
	}
	c.answers["tasks/result"] = func(object) (object, object) { return result, nil }
}

func TestTasksOfTheClient(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		clientTask(c, said("later"))
		if got := firstText(c.tool("test_sampling_as_task", object{"prompt": "a"})); got != "LLM response: later" {
			t.Errorf("%q", got)
		}
		clientTask(c, object{"action": "accept", "content": object{"username": "bob"}})
		if got := firstText(c.tool("test_elicitation_as_task", object{"message": "a"})); !strings.Contains(got, `"bob"`) {
			t.Errorf("%q", got)
		}

		clientTask(c, nil)
		c.answers["tasks/result"] = nil
		c.answers["tasks/cancel"] = func(params object) (object, object) {
			return object{"taskId": params["taskId"], "status": "cancelled", "ttl": nil,
				"createdAt": "2025-11-25T00:00:00Z", "lastUpdatedAt": "2025-11-25T00:00:00Z"}, nil
		}
		id := c.start("tools/call", object{"name": "test_sampling_as_task", "arguments": object{"prompt": "a"}})
		c.heard = nil
		c.hears("tasks/result")
		c.notify("notifications/cancelled", object{"requestId": id})
		if got := c.hears("tasks/cancel"); got["params"].(object)["taskId"] != "t1" {
			t.Errorf("%v", got)
		}
	})
}

func TestElicitation(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{"elicitation": object{}}) // which means forms
		answer := func(result object) object {
			c.answers["elicitation/create"] = func(params object) (object, object) {
				if _, mode := params["mode"]; mode != (c.revision == server.Revision20251125) {
					t.Errorf("params: %v", params)
				}
				return result, nil
			}
			return c.tool("test_elicitation", object{"message": "who?"})
		}
		if got := firstText(answer(object{"action": "accept", "content": object{"username": "bob"}})); !strings.Contains(got, `action=accept, content={"username":"bob"}`) {
			t.Errorf("accept: %q", got)
		}
		if got := firstText(answer(object{"action": "decline"})); !strings.Contains(got, "action=decline") {
			t.Errorf("decline: %q", got)
		}
		if got := firstText(answer(object{"action": "cancel"})); !strings.Contains(got, "action=cancel") {
			t.Errorf("cancel: %q", got)
		}
		for _, wrong := range []object{{}, {"action": "maybe"}, {"action": "accept"}, {"action": "accept", "content": object{"username": 1}}} {
			if result := answer(wrong); result["isError"] != true {
				t.Errorf("%v: %v", wrong, result)
			}
		}
	})
}

func TestElicitationForms(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		for tool, content := range map[string]object{
			"test_elicitation_sep1034_defaults": {"name": "a", "age": 1, "score": 1.5, "status": "pending", "verified": false},
			"test_elicitation_sep1330_enums":    {"titledSingle": "value1", "untitledMulti": []string{"option1"}, "titledMulti": []string{"value2"}},
		} {
			c.answers["elicitation/create"] = func(object) (object, object) { return object{"action": "accept", "content": content}, nil }
			if result := c.tool(tool, nil); result["isError"] != nil {
				t.Errorf("%s: %v", tool, result)
			}
		}
		c.answers["elicitation/create"] = func(object) (object, object) {
			return object{"action": "accept", "content": object{"titledMulti": []string{"value9"}}}, nil
		}
		if result := c.tool("test_elicitation_sep1330_enums", nil); result["isError"] != true {
			t.Errorf("%v", result)
		}
	})
}

func TestElicitationByURL(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		var id any
		c.answers["elicitation/create"] = func(params object) (object, object) {
			id = params["elicitationId"]
			if params["mode"] != "url" || !strings.HasPrefix(fmt.Sprint(params["url"]), "https://") {
				t.Errorf("params: %v", params)
			}
			return object{"action": "accept"}, nil
		}
		c.tool("test_elicitation_url", nil)
		if got := c.hears("notifications/elicitation/complete"); got["params"].(object)["elicitationId"] != id {
			t.Errorf("%v is not of %v", got, id)
		}

		failure := c.fails(-32042, "tools/call", object{"name": "test_elicitation_url_required"})
		required := failure["data"].(object)["elicitations"].([]any)[0].(object)
		if got := c.hears("notifications/elicitation/complete"); got["params"].(object)["elicitationId"] != required["elicitationId"] {
			t.Errorf("%v is not of %v", got, required)
		}
		if result := c.tool("test_elicitation_url_required", nil); result["isError"] != nil {
			t.Errorf("the second time: %v", result)
		}
	})
}

func TestRootsAndPing(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		c.answers["roots/list"] = func(object) (object, object) {
			return object{"roots": []any{object{"uri": "file:///home/user", "name": "home"}}}, nil
		}
		c.answers["ping"] = func(object) (object, object) { return object{}, nil }
		if got := firstText(c.tool("test_list_roots", nil)); !strings.Contains(got, "file:///home/user") {
			t.Errorf("%q", got)
		}
		if result := c.tool("test_ping", nil); result["isError"] != nil {
			t.Errorf("%v", result)
		}
		c.answers["roots/list"] = func(object) (object, object) { return object{"roots": []any{object{"uri": "https://x"}}}, nil }
		if result := c.tool("test_list_roots", nil); result["isError"] != true {
			t.Errorf("%v", result)
		}
	})
}

func TestSilentClientIsGivenUp(t *testing.T) {
	s := newServer(t, server.Options{RequestTimeout: time.Millisecond})
	c := &client{t: t, revision: server.Revision20251125, wire: dialStdio(t, s, ""), asked: map[string]string{},
		answers: map[string]func(object) (object, object){"ping": nil}}
	defer c.wire.close()
	c.initialize(object{})
	if result := c.tool("test_ping", nil); result["isError"] != true {
		t.Errorf("%v", result)
	}
	asked, cancelled := c.hears("ping"), c.hears("notifications/cancelled")
	if got := cancelled["params"].(object)["requestId"]; got != asked["id"] {
		t.Errorf("cancelled %v, not %v", got, asked["id"])
	}
}

func TestPeriodicPing(t *testing.T) {
	s, err := server.New(server.Options{PingInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, revision: server.Revision20250618, wire: dialStdio(t, s, ""), asked: map[string]string{},
		answers: map[string]func(object) (object, object){"ping": func(object) (object, object) { return object{}, nil }}}
	defer c.wire.close()
	c.initialize(object{})
	first, second := c.hears("ping"), c.hears("ping")
	if first["id"] == second["id"] {
		t.Errorf("the id %v is used twice", first["id"])
	}
}
