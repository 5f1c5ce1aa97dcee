package tasks

import (
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

const sampling = "sampling/createMessage"

// Capabilities of a client that answers with tasks.
const (
	samples = "tasks.requests.sampling.createMessage"
	elicits = "tasks.requests.elicitation.create"
)

// An interview is what a scripted server asks of its client while that waits for a
// call. After the first question that is not answered in time there is none.
type interview struct {
	call   *scripted.Call
	method string // of which the client makes tasks; "" for none

	mu   sync.Mutex
	over bool
}

func interviewing(call *scripted.Call) *interview {
	i := &interview{call: call}
	switch {
	case call.Declares("sampling") && call.Declares("tasks", "requests", "sampling", "createMessage"):
		i.method = sampling
	case call.Declares("elicitation") && call.Declares("tasks", "requests", "elicitation", "create"):
		i.method = elicitation
	}
	return i
}

// ask returns the result of a request; nil when there is none.
func (i *interview) ask(method string, params Object) Object { return i.askOddly(method, params, "") }

// askOddly does so with one that no good server would send, for a reason.
func (i *interview) askOddly(method string, params Object, deliberate string) Object {
	i.mu.Lock()
	over := i.over
	i.mu.Unlock()
	if over {
		return nil
	}
	answer, answered := i.call.Question(scripted.Question{Method: method, Params: params, Deliberate: deliberate})
	if !answered {
		i.mu.Lock()
		i.over = true
		i.mu.Unlock()
	}
	result, _ := answer.Result()
	object, _ := result.(map[string]any)
	return object
}

// begin has the client begin a task, and returns its id; "" when there is none.
func (i *interview) begin(ttl int) string {
	meta := Object{"progressToken": i.call.Session.NextID()}
	params := Object{
		"messages":  []any{Object{"role": "user", "content": Object{"type": "text", "text": "Say hello."}}},
		"maxTokens": 100, "task": Object{"ttl": ttl}, "_meta": meta,
	}
	if i.method == elicitation {
		params = Object{
			"message": "What is your name?", "task": Object{"ttl": ttl}, "_meta": meta,
			"requestedSchema": Object{"type": "object", "properties": Object{"name": Object{"type": "string"}}},
		}
	}
	return idOf(i.ask(i.method, params)["task"])
}

// both does two things at once.
func both(one, other func()) {
	var doing sync.WaitGroup
	doing.Go(one)
	other()
	doing.Wait()
}

// all lists the tasks of the client to the end.
func (i *interview) all() {
	params := Object{}
	for range listed {
		next, more := i.ask("tasks/list", params)["nextCursor"].(string)
		if !more {
			return
		}
		params = Object{"cursor": next}
	}
}

func (i *interview) pause(milliseconds int) {
	i.call.Pause(time.Duration(milliseconds) * time.Millisecond)
}
