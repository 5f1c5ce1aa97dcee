package tasks

import (
	"strings"
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// What a server asks of a client, as a task or not.
const (
	sampling    = "sampling/createMessage"
	elicitation = "elicitation/create"
	rootsList   = "roots/list"
)

// Capabilities of a client that answers with tasks.
const (
	samples = "tasks.requests.sampling.createMessage"
	elicits = "tasks.requests.elicitation.create"
)

// serverRequests are what a scripted server asks of its client while that waits for a
// call. After the first question that is not answered in time there is none.
type serverRequests struct {
	call   *scripted.Call
	method string // of which the client makes tasks; "" for none

	mu   sync.Mutex
	over bool
}

func newServerRequests(call *scripted.Call) *serverRequests {
	i := &serverRequests{call: call}
	for _, method := range []string{elicitation, sampling} {
		if i.may(method) && i.makesTasks(method) {
			i.method = method
		}
	}
	return i
}

// may tells whether the client declares that it answers requests of a method.
func (i *serverRequests) may(method string) bool {
	return i.call.MayAsk(scripted.ServerRequest{Method: method})
}

// makesTasks tells whether it declares that it makes tasks of them.
func (i *serverRequests) makesTasks(method string) bool {
	kind, name, _ := strings.Cut(method, "/")
	return i.call.Declares("tasks", "requests", kind, name)
}

// ask returns the result of a request; nil when there is none.
func (i *serverRequests) ask(method string, params Object) Object {
	return i.askOddly(method, params, "")
}

// askOddly does so with one that no good server would send, for a reason.
func (i *serverRequests) askOddly(method string, params Object, deliberate string) Object {
	i.mu.Lock()
	over := i.over
	i.mu.Unlock()
	if over {
		return nil
	}
	answer, answered := i.call.SendRequest(scripted.ServerRequest{Method: method, Params: params, Deliberate: deliberate})
	if !answered {
		i.mu.Lock()
		i.over = true
		i.mu.Unlock()
	}
	result, _ := answer.Result()
	return mcp.Object(result)
}

// begin has the client begin a task, and returns its id; "" when there is none.
func (i *serverRequests) begin(ttl int) string {
	return idOf(i.ask(i.method, i.wish(i.method, ttl))["task"])
}

// wish is what is asked for as a task.
func (i *serverRequests) wish(method string, ttl int) Object {
	wish := Object{"task": Object{"ttl": ttl}, "_meta": Object{"progressToken": i.call.Session.NextID()}}
	switch method {
	case elicitation:
		wish["message"] = "What is your name?"
		wish["requestedSchema"] = Object{"type": "object", "properties": Object{"name": Object{"type": "string"}}}
	case sampling:
		wish["messages"] = []any{Object{"role": "user", "content": Object{"type": "text", "text": "Say hello."}}}
		wish["maxTokens"] = 100
	}
	return wish
}

// both does two things at once.
func both(one, other func()) {
	var doing sync.WaitGroup
	doing.Go(one)
	other()
	doing.Wait()
}

// all lists the tasks of the client to the end.
func (i *serverRequests) all() {
	params := Object{}
	for range listed {
		next, more := i.ask("tasks/list", params)["nextCursor"].(string)
		if !more {
			return
		}
		params = Object{"cursor": next}
	}
}

func (i *serverRequests) pause(milliseconds int) {
	i.call.Pause(time.Duration(milliseconds) * time.Millisecond)
}
