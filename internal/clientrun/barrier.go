package clientrun

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// Continues demands that the client goes on after a message of the server: that the content
// of the message did not end the session. A client that does not go on fails only if it
// does so, and ends in good order, in the scenario by which it was met; else it shows
// nothing. The message is nil when it did not even come.
func (c *Client) Continues(after *Message, what string) {
	if after == nil {
		c.undecided("the client disconnected before "+what+" came", c.hint(""))
		return
	}
	if c.t.Observed(c.Continued(after)) {
		return
	}
	wanted := "that the client continues on the same connection after " + what
	broken := c.Breakdown()
	if broken != "" && c.hangs() { // also where a step failed before
		broken = hungUp
	}
	if elsewhere := c.laterElsewhere(after); broken == "" && elsewhere != nil {
		broken = "a new connection for the next request, " + elsewhere.Method
	}
	if broken == "" || !meets(c.t) {
		c.undecided("the client sent no further request after "+what, c.hint(""))
	}
	c.Missing(after, Mismatch{Wanted: wanted, Found: broken})
}

// StaysUsable demands that the client goes on after a message of the server, not only
// with what it may have been about to ask when that came: it asks for more than that,
// answers what the server asks later, or ends in good order.
func (c *Client) StaysUsable(after *Message, what string) {
	if after != nil && c.t.Observed(c.answersAfter(after)) {
		return
	}
	if next := c.RequestsAfter(after); len(next) > 0 {
		after = next[0]
		if answer := AnswerTo(next[0]); answer != nil {
			after = answer
		}
		if c.Breakdown() == "" {
			if !c.t.Observed(c.Exit.Well() || len(c.RequestsAfter(after)) > 0) {
				c.undecided("the client sent no further request after "+what, c.hint(""))
			}
			return
		}
	}
	c.Continues(after, what)
}

// RequestsAfter returns the requests of the client, but pings, that come after a message
// on the same connection.
func (c *Client) RequestsAfter(after *Message) []*Message {
	return c.where(func(message *Message) bool {
		return fromClient(message) && isAsking(message) && message.Event.Connection == after.Event.Connection &&
			message.Event.Sequence > after.Event.Sequence
	})
}

// Continued tells whether the client goes on after a message, on the same connection: it asks
// for more, or answers what the server asks later. A response has to reach the call in the
// client that waits for it, and only a later request shows that it did.
func (c *Client) Continued(after *Message) bool {
	return len(c.RequestsAfter(after)) > 0 || after.Kind != jsonrpc.Response && c.answersAfter(after)
}

// answersAfter tells whether the client answers a request of the server that comes after a
// message of the server on the same connection: it has read that, and what it did then.
func (c *Client) answersAfter(after *Message) bool {
	return !fromClient(after) && slices.ContainsFunc(c.messages, func(message *Message) bool {
		return fromClient(message) && message.Kind == jsonrpc.Response && message.Request != nil &&
			message.Event.Connection == after.Event.Connection && message.Request.Event.Sequence > after.Event.Sequence
	})
}

// NeedMore makes a check inconclusive unless the client asked for more after a message,
// by other methods than those that begin so: what it has not done by then, it does not
// do.
func (c *Client) NeedMore(after *Message, but string) {
	more := slices.ContainsFunc(
		c.RequestsAfter(after),
		func(message *Message) bool { return !strings.HasPrefix(message.Method, but) },
	)
	if !more {
		c.undecided("the client sent nothing more", c.hint(""))
	}
}

// NeedRequestAfter makes a check inconclusive unless the client asks for anything after a
// message, on the same connection: one that has left says nothing any more. The message
// is nil when it did not even come.
func (c *Client) NeedRequestAfter(after *Message) {
	if after == nil || len(c.RequestsAfter(after)) == 0 {
		c.undecided("the client sent no further request, and may have disconnected", c.hint(""))
	}
}

// AnswerTo returns the first answer of the scripted server to a request; nil when
// there is none.
func AnswerTo(request *Message) *Message {
	if len(request.Answers) == 0 {
		return nil
	}
	return request.Answers[0]
}

// ResultTo returns the result that the scripted server gave a request; nil when there is
// none.
func ResultTo(request *Message) Object {
	if answer := AnswerTo(request); answer != nil {
		return answer.ResultObject()
	}
	return nil
}

func isAsking(message *Message) bool {
	return message.Kind == jsonrpc.Request && message.Method != "ping"
}

// laterElsewhere returns the first request of the client that comes after a message on
// another connection; nil when there is none.
func (c *Client) laterElsewhere(after *Message) *Message {
	for _, message := range c.messages {
		if fromClient(message) && isAsking(message) && message.Event.Connection != after.Event.Connection &&
			message.Event.At.After(after.Event.At) {
			return message
		}
	}
	return nil
}

// Breakdown says in words how the client failed in what it is known to be able to do, as a
// step that failed or the exit of the process shows; "" when neither shows a failure. A
// driver that fails at steps that it does not support is at fault itself.
func (c *Client) Breakdown() string {
	for id, step := range c.scenario.Steps.All() {
		if step["as"] != nil || step["timeout"] != nil || slices.Contains(c.scenario.Refused, id) {
			continue // it may be meant to fail
		}
		if verb := step.Verb(); verb == "wait-for" || verb == "await" {
			continue // what it waits for may never come
		}
		if outcome, there := c.outcomes[id]; there && outcome.Failed() && c.canDo(id) {
			return fmt.Sprintf(
				"nothing more; the step %s failed: %s",
				step.Text(),
				excerpt.OneLine(outcome.Error),
			)
		}
	}
	switch {
	case c.Exit.Failed && c.fell():
		text := "nothing more; the client " + c.Exit.Status
		if last := lastLine(c.Exit.Stderr); last != "" {
			text += fmt.Sprintf(", and its standard error ends with %q", last)
		}
		return text
	case c.hangs():
		return hungUp
	}
	return ""
}

const hungUp = "nothing more; the client had to be terminated"

// Hangs tells whether the client had to be ended while it did what it is able to do: it waits
// for what never comes.
func (c *Client) Hangs() bool { return c.hangs() }

// hangs tells whether the client had to be ended in what it is able to do.
func (c *Client) hangs() bool {
	return c.Exit.Ended && !c.scenario.Unclosed && c.fell()
}

// fell tells whether a client that did not come to a good end was about to do what it is
// able to do, and not waiting for something that its driver does not see.
func (c *Client) fell() bool {
	at := c.undone()
	if at == "" {
		return !c.Reports()
	}
	return c.Reports() && c.step(at).Verb() != "wait-for" && c.canDo(at)
}

// meets tells whether the client can do what Meeting asks for, on one connection and
// to a good end.
func meets(t *T) bool {
	client := AlsoRun(t, scenario.Meeting)
	if client == nil || client.Exit.Failed || client.Exit.Ended {
		return false
	}
	for _, outcome := range client.outcomes {
		if outcome.Failed() {
			return false
		}
	}
	lists, calls := client.Requests("tools/list"), client.Requests("tools/call")
	return len(lists) > 0 && len(calls) > 0 && lists[0].Event.Connection == calls[0].Event.Connection
}
