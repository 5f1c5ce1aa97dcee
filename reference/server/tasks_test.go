package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/reference/server"
)

// createTask calls a tool as a task and returns the task.
func (c *client) createTask(name string, arguments, task object) object {
	c.t.Helper()
	result := c.call("tools/call", object{"name": name, "arguments": arguments, "task": task,
		"_meta": object{"progressToken": "of " + name}})
	created, _ := result["task"].(object)
	if created["status"] != "working" || relatedID(result) != created["taskId"] {
		c.t.Fatalf("created %v", result)
	}
	return created
}

// relatedID is the task that a message says it belongs to.
func relatedID(part object) any {
	meta, _ := part["_meta"].(object)
	related, _ := meta["io.modelcontextprotocol/related-task"].(object)
	return related["taskId"]
}

func TestTaskRunsToItsEnd(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		id := c.createTask("test_task_required", object{}, object{"ttl": 60000})["taskId"]
		result := c.call("tasks/result", object{"taskId": id})
		if firstText(result) != "The task is done" || relatedID(result) != id {
			t.Errorf("result: %v", result)
		}
		state := c.call("tasks/get", object{"taskId": id})
		if state["status"] != "completed" || fmt.Sprint(state["ttl"]) != "60000" || relatedID(state) != nil {
			t.Errorf("state: %v", state)
		}
		c.fails(-32602, "tasks/cancel", object{"taskId": id})
		if got := c.hears("notifications/progress"); relatedID(got["params"].(object)) != id || got["params"].(object)["progressToken"] != "of test_task_required" {
			t.Errorf("progress: %v", got)
		}
		if got := c.hears("notifications/message"); relatedID(got["params"].(object)) != id {
			t.Errorf("log: %v", got)
		}
		if got := c.hears("notifications/tasks/status"); relatedID(got["params"].(object)) != nil || got["params"].(object)["taskId"] != id {
			t.Errorf("status: %v", got)
		}
	})
}

func TestTaskFails(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		id := c.createTask("test_task_failing", object{}, object{})["taskId"]
		if result := c.call("tasks/result", object{"taskId": id}); result["isError"] != true {
			t.Errorf("result: %v", result)
		}
		state := c.call("tasks/get", object{"taskId": id})
		if state["status"] != "failed" || state["statusMessage"] == nil {
			t.Errorf("state: %v", state)
		}

		id = c.createTask("test_elicitation_url_required", object{}, object{})["taskId"]
		c.fails(-32042, "tasks/result", object{"taskId": id})
		c.fails(-32042, "tasks/result", object{"taskId": id}) // and again the same
		c.hears("notifications/elicitation/complete")
		if state := c.call("tasks/get", object{"taskId": id}); state["status"] != "failed" {
			t.Errorf("state: %v", state)
		}
	})
}

func TestTaskSupport(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		c.fails(-32601, "tools/call", object{"name": "test_task_required"})
		c.fails(-32601, "tools/call", object{"name": "test_task_forbidden", "task": object{}})
		c.fails(-32601, "tools/call", object{"name": "test_simple_text", "task": object{}})
		c.fails(-32602, "tools/call", object{"name": "no_such_tool", "task": object{}})
		c.fails(-32602, "tools/call", object{"name": "test_task_required", "task": object{"ttl": "long"}})
		c.fails(-32602, "tools/call", object{"name": "test_task_required", "task": object{"ttl": -1}})
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			c.fails(-32602, method, object{"taskId": "no-such-task"})
			c.fails(-32602, method, object{})
		}
		c.fails(-32602, "tasks/list", object{"cursor": "nonsense"})
		if got := c.createTask("test_task_required", object{}, object{"ttl": 1 << 40}); fmt.Sprint(got["ttl"]) != "3600000" {
			t.Errorf("ttl: %v", got)
		}
		c.call("prompts/get", object{"name": "test_simple_prompt", "task": object{}}) // not declared, so ignored
	})
}

func TestTaskIsCancelled(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		id := c.createTask("test_slow", object{"seconds": 10}, object{})["taskId"]
		waiting := c.start("tasks/result", object{"taskId": id})
		if state := c.call("tasks/cancel", object{"taskId": id}); state["status"] != "cancelled" {
			t.Errorf("state: %v", state)
		}
		result, _ := c.response(waiting)["result"].(object)
		if result["isError"] != true || relatedID(result) != id {
			t.Errorf("result: %v", result)
		}
		c.fails(-32602, "tasks/cancel", object{"taskId": id})
		if state := c.call("tasks/get", object{"taskId": id}); state["status"] != "cancelled" {
			t.Errorf("state: %v", state)
		}
	})
}

func TestTaskNeedsInput(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		var related any
		c.answers["elicitation/create"] = func(params object) (object, object) {
			related = relatedID(params)
			return object{"action": "accept", "content": object{"username": "bob"}}, nil
		}
		id := c.createTask("test_elicitation", object{"message": "who?"}, object{})["taskId"]
		for {
			params := c.hears("notifications/tasks/status")["params"].(object)
			if params["status"] == "input_required" {
				break
			}
		}
		if state := c.call("tasks/get", object{"taskId": id}); state["status"] != "input_required" {
			t.Errorf("state: %v", state)
		}
		if related != nil {
			t.Error("asked before tasks/result")
		}
		result := c.call("tasks/result", object{"taskId": id})
		if !strings.Contains(firstText(result), "bob") || related != id {
			t.Errorf("result: %v, asked for %v", result, related)
		}
		working := c.hears("notifications/tasks/status")["params"].(object)
		if working["status"] != "working" {
			t.Errorf("after the answer: %v", working)
		}
	})
}

func TestTaskThatNeedsInputIsCancelled(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		c.answers["elicitation/create"] = nil
		id := c.createTask("test_elicitation", object{"message": "who?"}, object{})["taskId"]
		waiting := c.start("tasks/result", object{"taskId": id})
		asked := c.hears("elicitation/create")
		c.call("tasks/cancel", object{"taskId": id})
		if got := c.hears("notifications/cancelled")["params"].(object); got["requestId"] != asked["id"] || relatedID(got) != id {
			t.Errorf("cancelled %v, not %v of %v", got, asked["id"], id)
		}
		if result, _ := c.response(waiting)["result"].(object); result["isError"] != true {
			t.Errorf("result: %v", result)
		}
	})
}

func TestResultOfTaskIsCancelled(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		id := c.createTask("test_slow", object{"seconds": 10}, object{})["taskId"]
		waiting := c.start("tasks/result", object{"taskId": id})
		c.notify("notifications/cancelled", object{"requestId": waiting})
		if state := c.call("tasks/get", object{"taskId": id}); state["status"] != "working" {
			t.Errorf("cancelling tasks/result cancels the task: %v", state)
		}
	})
}

func TestTasksExpire(t *testing.T) {
	at(t, server.Revision20251125, func(_ *testing.T, connect func(object) *client) {
		c := connect(object{})
		id := c.createTask("test_slow", object{"seconds": 10}, object{"ttl": 1})["taskId"]
		c.fails(-32602, "tasks/result", object{"taskId": id})
		c.fails(-32602, "tasks/get", object{"taskId": id})
	})
}

func TestTasksAreListedBySession(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c, other := connect(object{}), connect(object{})
		created := map[string]bool{}
		for range 7 {
			created[c.createTask("test_task_required", object{}, object{})["taskId"].(string)] = true
		}
		listed, pages := names(c, "tasks/list", "tasks", "taskId")
		for _, id := range listed {
			delete(created, id)
		}
		if len(created) != 0 || pages < 3 {
			t.Errorf("%d pages, without %v", pages, created)
		}
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			other.fails(-32602, method, object{"taskId": listed[0]})
		}
		if strangers, _ := names(other, "tasks/list", "tasks", "taskId"); len(strangers) != 0 {
			t.Errorf("another session sees %v", strangers)
		}
	})
}
