package tasks

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// asRequestor registers the checks of a server that asks its client for tasks.
func asRequestor() {
	It(
		"requests no task from a client that does not declare tasks",
		Verifies("tasks.capability.respected"),
		NeedsProvocation("client-task"),
		func(ctx SpecContext) {
			able, server := SessionOf(ctx, takingTasks()), FreshSession(ctx)
			task := answerWithTask(able, "working", "completed")
			provoke(ctx, able)
			task.demandAsked() // it does ask a client that takes tasks

			provoke(ctx, server)

			server.BarrierOnAllStreams(ctx)
			DemandNone("no task, since the client declared none", server.Sent(server.Began(), asksForTask))
		},
	)

	It(
		"sends tasks/result for a client's task without waiting for notifications/tasks/status",
		Verifies("tasks.notification.not-awaited"),
		NeedsProvocation("client-task"),
		func(ctx SpecContext) {
			server := SessionOf(ctx, takingTasks())
			task := answerWithTask(server, "working", "working", "completed")

			provoke(ctx, server)

			task.demandAsked()
			Demand(task.fetched(), "tasks/result of the client's task", "none")
		},
	)

	It("sends tasks/get until a client's task is completed, or sends tasks/result", Verifies("tasks.poll.continued"),
		NeedsProvocation("client-task"),
		func(ctx SpecContext) {
			server := SessionOf(ctx, takingTasks())
			task := answerWithTask(server, "working", "working", "working", "completed")

			provoke(ctx, server)

			task.demandAsked()
			Demand(
				task.fetched() || task.told("completed"),
				"tasks/get until the task is completed, or tasks/result",
				"neither",
			)
		})

	It(
		"sends tasks/result for a client's task in the status input_required",
		Verifies("tasks.input.fetched"),
		NeedsProvocation("client-task"),
		func(ctx SpecContext) {
			server := SessionOf(ctx, takingTasks())
			task := answerWithTask(server, "input_required")

			provoke(ctx, server)

			task.demandAsked()
			Demand(task.fetched(), "tasks/result of a task in the status input_required", "none")
		},
	)
}

// provoke calls the tool that asks the client for a task, and waits for its end.
func provoke(ctx context.Context, server *Server) {
	server.KeepListening(ctx)
	server.NeedReply(ctx, "tools/call", Provoking("client-task").Call())
}

func asksForTask(received scripted.Received) bool {
	params, _ := received.Params().(map[string]any)
	_, asks := params["task"]
	return received.Kind == jsonrpc.Request && asks
}

// takingTasks is a client that takes sampling and forms as tasks.
func takingTasks() scripted.Capabilities {
	return scripted.Everything(Revision()).With("tasks", Object{
		"list": Object{}, "cancel": Object{},
		"requests": Object{
			"sampling":    Object{"createMessage": Object{}},
			"elicitation": Object{"create": Object{}},
		},
	})
}

// A clientTask is what the scripted client does about tasks: each has an id of its own.
type clientTask struct {
	mu       sync.Mutex
	ids      []string // of those that there are
	statuses []string // what is told by tasks/get, one after the other; the last one stays
	said     []string
	results  int
	result   Object
}

// clientPollInterval is how long the scripted client asks the server to wait
// between two looks, in milliseconds.
const clientPollInterval = 40

// answerWithTask makes the client answer with a task what it is asked to do as
// one. tasks/result is answered at once: the task is over when it is asked for.
func answerWithTask(server *Server, statuses ...string) *clientTask {
	task := &clientTask{statuses: statuses}
	server.Answer("sampling/createMessage", Answering(task.create(Generation)))
	server.Answer("elicitation/create", Answering(task.create(Acceptance)))
	server.Answer("tasks/get", Answering(task.get))
	server.Answer("tasks/list", Answering(task.list))
	server.Answer("tasks/cancel", Answering(task.cancel))
	server.Answer("tasks/result", Answering(task.fetch))
	return task
}

func (t *clientTask) create(answer func(Object) Object) func(Object) Object {
	return func(params Object) Object {
		if _, asks := params["task"]; !asks {
			return answer(params)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.result = answer(params)
		t.ids = append(t.ids, "mcpconform-"+rand.Text())
		return Object{"task": stateOf(t.ids[len(t.ids)-1], "working")}
	}
}

func stateOf(id any, status string) Object {
	const at = "2025-11-25T10:30:00Z"
	return Object{
		"taskId": id, "status": status, "createdAt": at, "lastUpdatedAt": at,
		"ttl": keptFor, "pollInterval": clientPollInterval,
	}
}

func (t *clientTask) list(Object) Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	states := []any{}
	for _, id := range t.ids {
		states = append(states, stateOf(id, "working"))
	}
	return Object{"tasks": states}
}

func (t *clientTask) cancel(params Object) Object { return stateOf(params["taskId"], "cancelled") }

func (t *clientTask) get(params Object) Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	status := t.statuses[0]
	if t.results > 0 {
		status = "completed"
	} else if len(t.statuses) > 1 {
		t.statuses = t.statuses[1:]
	}
	t.said = append(t.said, status)
	return stateOf(params["taskId"], status)
}

func (t *clientTask) fetch(params Object) Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.results++
	result := Object{"_meta": Object{mcp.RelatedTask: Object{"taskId": params["taskId"]}}}
	maps.Copy(result, t.result)
	return result
}

func (t *clientTask) fetched() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.results > 0
}

func (t *clientTask) told(status string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.said, status)
}

// demandAsked makes the check inconclusive if the server asked for no task.
func (t *clientTask) demandAsked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ids) == 0 {
		Inconclusive(
			"the tool did not request a task of the client",
			"name one that does under provocations.client-task in mcpconform.yaml",
		)
	}
}
