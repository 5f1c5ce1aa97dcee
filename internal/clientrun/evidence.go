package clientrun

import (
	"fmt"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Judging says which message a check is about: it is observed, the report marks it when
// the check fails, and the matchers get it.
func (c *Client) Judging(message *Message) Sent {
	c.t.Observe()
	reply := Sent{Message: message.Message, At: message.Event.Place()}
	c.t.Judging(reply)
	return reply
}

// Refrained observes that the client did without what it could have done after a message
// of the server, in a step: it asked for something else on the same connection, or its
// driver tells how the step went. Else the check is inconclusive.
func (c *Client) Refrained(after *Message, id string) {
	_, reported := c.Outcome(id)
	if after != nil && c.t.Observed(reported || len(c.RequestsAfter(after)) > 0) {
		return
	}
	c.undecided(
		"it is unknown whether the client finished the step "+c.step(id).Text(),
		fmt.Sprintf(`let the client write {"step":%d,"outcome":"done" or "failed"} to standard output`, c.position(id)),
	)
}

// DemandNoResponse judges that the client sends no response behind a notification. As many
// as there are requests that it left unanswered may be meant for these, under another id.
func (c *Client) DemandNoResponse(notification *Message) {
	unanswered := len(c.where(func(message *Message) bool {
		return !fromClient(message) && message.Kind == jsonrpc.Request && len(message.Answers) == 0
	}))
	strays := c.where(func(message *Message) bool {
		return fromClient(message) && message.Kind == jsonrpc.Response && message.Request == nil &&
			message.Event.At.After(notification.Event.At)
	})
	for _, response := range strays[min(unanswered, len(strays)):] {
		c.Fail(response, Mismatch{Wanted: "no response to a notification", Found: excerpt.Short(response.Raw)})
	}
}
