package tasks

import (
	"crypto/rand"
	"maps"
	"slices"
	"sync"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// asRequestor registers the checks of a server that asks its client for tasks.
func asRequestor() {
	It("requests no task from a client that does not declare tasks",
		Verifies("tasks.capability.respected"), NeedsProvocation("client-task"), func(t *T) {
			able, server := DeclaringSession(t, takingTasks(t)), FreshSession(t)
			task := answerWithTask(able, "working", "completed")
			provoke(t, able)
			task.demandAsked(t) // it does ask a client that takes tasks

			provoke(t, server)

			server.BarrierOnAllStreams()
			t.DemandNone("no task, since the client declared none", server.Sent(server.Began(), asksForTask))
		})

	followsTask("sends tasks/result for a client's task without waiting for notifications/tasks/status",
		Verifies("tasks.notification.not-awaited"), "tasks/result of the client's task", (*clientTask).fetched,
		"working", "working", "completed")
	followsTask("sends tasks/get until a client's task is completed, or sends tasks/result",
		Verifies("tasks.poll.continued"), "tasks/get until the task is completed, or tasks/result", (*clientTask).followed,
		"working", "working", "working", "completed")
	followsTask("sends tasks/result for a client's task in the status input_required",
		Verifies("tasks.input.fetched"), "tasks/result of a task in the status input_required", (*clientTask).fetched,
		"input_required")
}

// followsTask declares a check of what a server does about a task of its client that has one
// status after the other.
func followsTask(text string, verifies Option, wanted string, does func(*clientTask) bool, statuses ...string) {
	It(text, verifies, NeedsProvocation("client-task"), Row(), func(t *T) {
		server := DeclaringSession(t, takingTasks(t))
		task := answerWithTask(server, statuses...)

		provoke(t, server)

		task.demandAsked(t)
		t.Demand(does(task), wanted, "none")
	})
}

// provoke calls the tool that asks the client for a task, and waits for its end.
func provoke(t *T, server *Server) {
	server.KeepListening()
	server.Call("tools/call", Provoking(t, "client-task").Call()).Need()
}

func asksForTask(received scripted.Received) bool {
	_, asks := mcp.Object(received.Params())["task"]
	return received.Kind == jsonrpc.Request && asks
}

// takingTasks is a client that takes sampling and forms as tasks.
func takingTasks(t *T) scripted.Capabilities {
	return scripted.Everything(t.Revision()).With("tasks", Object{
		"list": Object{}, "cancel": Object{},
		"requests": Object{"sampling": Object{"createMessage": Object{}}, "elicitation": Object{"create": Object{}}},
	})
}

// A clientTask is what the scripted client does about tasks: each has an id of its own.
type clientTask struct {
	mu       sync.Mutex
	ids      []string // of those that there are
	statuses []string // what is told by tasks/get, one after the other; the last one stays
	texts    []string
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
	server.Answer("sampling/createMessage", scripted.Answering(task.create(scripted.Generation)))
	server.Answer("elicitation/create", scripted.Answering(task.create(scripted.Acceptance)))
	server.Answer("tasks/get", scripted.Answering(task.get))
	server.Answer("tasks/list", scripted.Answering(task.list))
	server.Answer("tasks/cancel", scripted.Answering(task.cancel))
	server.Answer("tasks/result", scripted.Answering(task.fetch))
	return task
}

func (task *clientTask) create(answer func(Object) Object) func(Object) Object {
	return func(params Object) Object {
		if _, asks := params["task"]; !asks {
			return answer(params)
		}
		task.mu.Lock()
		defer task.mu.Unlock()
		task.result = answer(params)
		task.ids = append(task.ids, "mcpconform-"+rand.Text())
		return Object{"task": stateOf(task.ids[len(task.ids)-1], "working")}
	}
}

func stateOf(id any, status string) Object {
	const at = "2025-11-25T10:30:00Z"
	return Object{"taskId": id, "status": status, "createdAt": at, "lastUpdatedAt": at, "ttl": keptFor, "pollInterval": clientPollInterval}
}

func (task *clientTask) list(Object) Object {
	task.mu.Lock()
	defer task.mu.Unlock()
	states := []any{}
	for _, id := range task.ids {
		states = append(states, stateOf(id, "working"))
	}
	return Object{"tasks": states}
}

func (task *clientTask) cancel(params Object) Object { return stateOf(params["taskId"], "cancelled") }

func (task *clientTask) get(params Object) Object {
	task.mu.Lock()
	defer task.mu.Unlock()
	status := task.statuses[0]
	if task.results > 0 {
		status = "completed"
	} else if len(task.statuses) > 1 {
		task.statuses = task.statuses[1:]
	}
	task.texts = append(task.texts, status)
	return stateOf(params["taskId"], status)
}

func (task *clientTask) fetch(params Object) Object {
	task.mu.Lock()
	defer task.mu.Unlock()
	task.results++
	result := Object{"_meta": Object{mcp.RelatedTask: Object{"taskId": params["taskId"]}}}
	maps.Copy(result, task.result)
	return result
}

func (task *clientTask) fetched() bool {
	task.mu.Lock()
	defer task.mu.Unlock()
	return task.results > 0
}

// followed tells whether the server saw the end of the task.
func (task *clientTask) followed() bool {
	task.mu.Lock()
	defer task.mu.Unlock()
	return task.results > 0 || slices.Contains(task.texts, "completed")
}

// demandAsked makes the check inconclusive if the server asked for no task.
func (task *clientTask) demandAsked(t *T) {
	task.mu.Lock()
	defer task.mu.Unlock()
	if len(task.ids) == 0 {
		t.Inconclusive("the tool did not request a task of the client", "name one that does under provocations.client-task in mcpconform.yaml")
	}
}
