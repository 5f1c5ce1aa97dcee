package tasks

import (
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// A taskStore is what a scripted server does about tasks that its client begins.
type taskStore struct {
	statuses []string      // that tasks/get tells of each, one after the other; the last one stays
	asks     bool          // the client is asked while it waits for the result
	patience time.Duration // how long the client may take to ask after a task, before it is told; 0: for ever

	mu   sync.Mutex
	kept []*keptTask
}

// A keptTask is one of them.
type keptTask struct {
	id       string
	status   string
	statuses []string // still to be told
}

// storeTasks gives a server tools of every kind, and the tasks that they become.
func storeTasks(server *scripted.Server, statuses ...string) *taskStore {
	k := &taskStore{statuses: statuses}
	server.Declare(Object{"tasks": Object{"list": Object{}, "cancel": Object{}, "requests": Object{"tools": Object{"call": Object{}}}}})
	server.AddTool(background, nil, k.run)["execution"] = Object{"taskSupport": "optional"}
	server.AddTool(taskOnly, nil, k.run)["execution"] = Object{"taskSupport": "required"}
	server.AddTool(taskNever, nil, k.run)["execution"] = Object{"taskSupport": "forbidden"}
	server.On("tasks/get", k.get)
	server.On("tasks/result", k.result)
	server.On("tasks/list", k.list)
	server.On("tasks/cancel", k.cancel)
	return k
}

// run answers the call of a tool: by a task, if it is asked for one.
func (k *taskStore) run(call *scripted.Call) {
	tool := call.Text("name")
	_, asked := call.Params()["task"]
	switch {
	case asked && tool == taskNever, !asked && tool == taskOnly:
		call.Refuse(jsonrpc.MethodNotFound, "The tool cannot be called so", nil)
	case !asked:
		call.Answer(scripted.Text("done"))
	default:
		k.begin(call)
	}
}

func (k *taskStore) begin(call *scripted.Call) {
	mark := call.Session.Mark()
	k.mu.Lock()
	task := &keptTask{id: fmt.Sprintf("mcpconform-5d9c1f0a7be24c6fb3a8-%d", len(k.kept)+1), status: "working", statuses: k.statuses}
	k.kept = append(k.kept, task)
	state := task.state()
	k.mu.Unlock()
	call.Answer(Object{"task": state})
	if k.patience == 0 {
		return
	}
	followed := func(received scripted.Received) bool { return mcp.Value(received.Params(), "taskId") == task.id }
	if _, came := call.Session.Within(k.patience, mark, followed); !came && call.Session.Hears() {
		k.mu.Lock()
		task.status, task.statuses = "completed", nil
		state = task.state()
		k.mu.Unlock()
		call.Session.Notify("notifications/tasks/status", state)
	}
}

// state is a task as the server reports it. The caller holds the lock.
func (t *keptTask) state() Object {
	const at = "2025-11-25T10:30:00Z"
	return Object{"taskId": t.id, "status": t.status, "createdAt": at, "lastUpdatedAt": at, "ttl": keptFor, "pollInterval": clientPollInterval}
}

// find returns the task that a request is about, or refuses the request. The caller
// holds the lock.
func (k *taskStore) find(call *scripted.Call) *keptTask {
	at := slices.IndexFunc(k.kept, func(task *keptTask) bool { return task.id == call.Text("taskId") })
	if at < 0 {
		call.Refuse(jsonrpc.InvalidParams, "No such task", nil)
		return nil
	}
	return k.kept[at]
}

func (k *taskStore) get(call *scripted.Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	task := k.find(call)
	if task == nil {
		return
	}
	if len(task.statuses) > 0 {
		task.status, task.statuses = task.statuses[0], task.statuses[1:]
	}
	call.Answer(task.state())
}

// result ends a task with its answer: it is over when its result is asked for.
func (k *taskStore) result(call *scripted.Call) {
	k.mu.Lock()
	task := k.find(call)
	k.mu.Unlock()
	if task == nil {
		return
	}
	related := Object{mcp.RelatedTask: Object{"taskId": task.id}}
	if k.asks && call.Declares("elicitation") {
		question := Object{
			"message": "What is your name?", "_meta": related,
			"requestedSchema": Object{"type": "object", "properties": Object{"name": Object{"type": "string"}}},
		}
		if call.Session.Hears() {
			call.Session.Ask(elicitation, question)
		} else {
			call.Ask(elicitation, question)
		}
	}
	k.mu.Lock()
	task.status, task.statuses = "completed", nil
	k.mu.Unlock()
	result := scripted.Text("done")
	result["_meta"] = related
	call.Answer(result)
}

// list gives the tasks on pages of two, with some that are long over.
func (k *taskStore) list(call *scripted.Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []any
	for number := range listed {
		all = append(all, (&keptTask{id: fmt.Sprintf("mcpconform-71e0b4d2a9c34f55-%d", number+1), status: "completed"}).state())
	}
	for _, task := range k.kept {
		all = append(all, task.state())
	}
	page, next, known := scripted.Page(all, call.Text("cursor"), 2)
	if !known {
		call.Refuse(jsonrpc.InvalidParams, "Invalid cursor", nil)
		return
	}
	result := Object{"tasks": page}
	if next != "" {
		result["nextCursor"] = next
	}
	call.Answer(result)
}

func (k *taskStore) cancel(call *scripted.Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	task := k.find(call)
	switch {
	case task == nil:
	case isOver(task.status):
		call.Refuse(jsonrpc.InvalidParams, "The task is over", nil)
	default:
		task.status, task.statuses = "cancelled", nil
		call.Answer(task.state())
	}
}
