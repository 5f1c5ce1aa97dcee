package tasks

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

const (
	// identifier is what the extension is declared as.
	identifier = "io.modelcontextprotocol/tasks"
	// unknownTask is an id that no server gives a task.
	unknownTask = "mcpconform-no-such-task"
	// unknownKey is one that no server gives a request for input.
	unknownKey = "mcpconform-no-such-key"

	// patience is how many times the time of one answer a task may take. It keeps
	// within the time of a check.
	patience = 6
	// unhurried is how long to wait before a task is asked for again, where the
	// server does not say.
	unhurried = 20 * time.Millisecond
	// triedTools bounds how many tools are called in search of one that makes a task.
	triedTools = 10
	// fewTools bounds them where the server does not say that it makes any.
	fewTools = 3
)

// over are the statuses that a task never leaves.
var over = []any{"completed", "failed", "cancelled"}

func isOver(state Object) bool { return slices.Contains(over, state["status"]) }

// declaring returns a connection of a client that declares the extension.
func declaring(t *T) *Server {
	capabilities := scripted.Everything(t.Revision())
	capabilities["extensions"] = Object{identifier: Object{}}
	return DeclaringSession(t, capabilities)
}

// undeclared returns params that say of a request that the client offers everything
// but the extension.
func undeclared(t *T, params Object) Object {
	own := Object{"_meta": Object{mcp.MetaCapabilities: scripted.Everything(t.Revision())}}
	maps.Copy(own, params)
	return own
}

// of are the params of a request about a task.
func of(id string) Object { return Object{"taskId": id} }

// begin makes a task by the tool that is known for a kind.
func begin(t *T, server *Server, kind string) (id string) {
	tool := Provoking(t, kind)
	result := server.Call("tools/call", tool.Call()).Need().Result()
	if id = idOf(result); id == "" {
		t.Inconclusive("the call of "+tool.Tool+" created no task: "+Show(result),
			"name a tool that creates one under provocations."+kind+" in mcpconform.yaml")
	}
	return id
}

// anyTask makes a task by any tool that may be called.
func anyTask(t *T, server *Server) (tool Provocation, id string) {
	if tool, id = firstTask(t, server, triedTools); id == "" {
		t.Inconclusive("no callable tool answered with a task",
			"name one that does in mcpconform.yaml: provocations: {task: {tool: NAME, arguments: {…}}}")
	}
	return tool, id
}

// firstTask makes a task by the tool that is known for it, or the first that makes one
// among so many that may be called. The id is "" when none did.
func firstTask(t *T, server *Server, most int) (tool Provocation, id string) {
	calls, _ := CallableTools(t)
	calls = beside(t, calls)
	if known, there := Provocable(t, "task"); there {
		calls = slices.Insert(calls, 0, known)
	}
	for _, call := range calls[:min(most, len(calls))] {
		if reply := server.Call("tools/call", call.Call()).May(BeLate); !reply.Late {
			if id := idOf(reply.Object()); id != "" {
				return call, id
			}
		}
	}
	return tool, ""
}

// withoutTasks returns a tool that may be called and answers at once, not with a task.
func withoutTasks(t *T, server *Server) Provocation {
	calls, reason := CallableTools(t)
	calls = beside(t, calls)
	for _, call := range calls[:min(triedTools, len(calls))] {
		reply := server.Call("tools/call", call.Call()).May(BeLate)
		if id := idOf(reply.Object()); id != "" {
			leave(server, id)
		} else if !reply.Late && isDone(reply) {
			return call
		}
	}
	if len(calls) == 0 {
		t.Inconclusive(reason, "name a callable tool in mcpconform.yaml: arguments: {NAME: {…}}")
	}
	t.NotApplicable("each callable tool creates a task, or fails")
	return Provocation{}
}

// isDone tells whether a reply is the result of a tool that did its work.
func isDone(reply Reply) bool {
	_, hasContent := reply.Object()["content"].([]any)
	return hasContent && reply.Object()["isError"] != true
}

// knownTask asks for a task that is there, where one can be made, and returns how: beside
// it shows what the refusal of another is about.
func knownTask(t *T, server *Server) []Request {
	_, id := firstTask(t, server, triedTools)
	if id == "" {
		return nil
	}
	server.Call("tasks/get", of(id)).May() // which another must not be taken for
	return []Request{{Method: "tasks/get", Params: of(id), Name: id}}
}

// withoutTask calls a tool in a way that must make no task. One that takes too long
// without makes the check inconclusive.
func withoutTask(t *T, server *Server, tool Provocation, call Object) Reply {
	reply := server.Call("tools/call", call).May(BeLate)
	if reply.Late {
		t.Inconclusive(
			"the tool "+tool.Tool+" does not answer in time without a task",
			"name a quicker one under provocations.task in mcpconform.yaml",
		)
	}
	return reply
}

// beside returns the calls of tools that neither disturb other checks nor fail on purpose.
func beside(t *T, calls []Provocation) []Provocation {
	apart := map[string]bool{}
	for _, kind := range []string{
		"tools-changed", "resources-changed", "prompts-changed", "resource-updated", "stream-closed", "error",
	} {
		if known, there := Provocable(t, kind); there {
			apart[known.Tool] = true
		}
	}
	return slices.DeleteFunc(calls, func(call Provocation) bool { return apart[call.Tool] })
}

// slowTask makes a task that is not over at once, if a tool is known that makes one.
func slowTask(t *T, server *Server) (id string) {
	if _, there := Provocable(t, "task-slow"); there {
		return begin(t, server, "task-slow")
	}
	_, id = anyTask(t, server)
	return id
}

// idOf returns the id of the task that a result creates, or "".
func idOf(result Object) string {
	id := mcp.Text(result, "taskId")
	if result["resultType"] != "task" {
		return ""
	}
	return id
}

// observe asks for a task again and again, as often as the server likes, until it is as
// wanted or over. One that goes on for too long makes the check inconclusive.
func observe(t *T, server *Server, id string, wanted func(Object) bool) Object {
	end := time.Now().Add(patience * server.ReplyTime())
	for time.Now().Before(end) {
		state := server.Call("tasks/get", of(id)).Need().Result()
		if wanted(state) || isOver(state) {
			return state
		}
		select {
		case <-t.Done():
		case <-time.After(interval(state, server.ReplyTime())):
		}
	}
	t.Inconclusive("the task continues after "+(patience*server.ReplyTime()).String(), "name a quicker tool in mcpconform.yaml, or raise --timeout")
	return nil
}

// interval is how long to wait before a task is asked for again: as long as the server
// wishes, up to a limit.
func interval(state Object, most time.Duration) time.Duration {
	number, isNumber := state["pollIntervalMs"].(json.Number)
	milliseconds, err := number.Float64()
	if !isNumber || err != nil || milliseconds < 0 {
		return unhurried
	}
	return min(time.Duration(milliseconds*float64(time.Millisecond)), most)
}

// awaitInput observes a task until it needs input. One that needs none makes the check
// inconclusive.
func awaitInput(t *T, server *Server, id string) Object {
	state := observe(t, server, id, func(state Object) bool { return state["status"] == "input_required" })
	if requests, _ := state["inputRequests"].(map[string]any); len(requests) > 0 {
		return requests
	}
	t.Inconclusive("the task requested no input: "+Show(state), "make sure that the tool for task-input sends a form elicitation")
	return nil
}

// giveEach answers the requests for input of a task, one after the other, and returns the
// state in which it ends.
func giveEach(t *T, server *Server, id string, requests Object) Object {
	responses := server.Responses(requests)
	for _, key := range slices.Sorted(maps.Keys(responses)) {
		server.Call("tasks/update", Object{"taskId": id, "inputResponses": Object{key: responses[key]}}).Need().Result()
		server.Call("tasks/get", of(id)).Need().Result() // rules judge what it still asks for
	}
	return observe(t, server, id, isOver)
}

// giveWrong answers them all by what is no content of any form. A server may refuse that, or
// ask again: then the task has not ended.
func giveWrong(t *T, server *Server, id string, requests Object) Object {
	wrong := Object{}
	for key := range requests {
		wrong[key] = Object{"action": "accept", "content": Object{"mcpconform-wrong": true}}
	}
	server.Call("tasks/update", Object{"taskId": id, "inputResponses": wrong}, Illegal("the content is not of the form")).Must()
	return observe(t, server, id, func(state Object) bool { return state["status"] == "input_required" })
}

// ending are the members that tell how a task ended: a server may add others, but these
// do not change.
func ending(task Object) Object {
	return Object{"status": task["status"], "isError": mcp.Value(task, "result", "isError") == true}
}

// leave cancels a task that the check has no more use for.
func leave(server *Server, id string) {
	server.Call("tasks/cancel", of(id)).May() // it may be over already
}
