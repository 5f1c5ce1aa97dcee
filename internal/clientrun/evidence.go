package clientrun

import (
	"fmt"

	. "github.com/mcpconform/mcpconform/internal/check"
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
