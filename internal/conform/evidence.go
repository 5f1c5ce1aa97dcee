package conform

import (
	"fmt"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Judging says which message a check is about: it is observed, the report marks it when
// the check fails, and the matchers get it.
func (c *Client) Judging(said *Message) Reply {
	c.t.Observe()
	reply := Reply{scripted.Received{Message: said.Message, At: said.Event.Place()}}
	c.t.Judging(reply)
	return reply
}

// Refrained observes that the client did without what it could have done after a message
// of the server, in a step: it asked for something else on the same connection, or its
// driver tells how the step went. Else nobody knows, and the check is inconclusive.
func (c *Client) Refrained(after *Message, position int) {
	_, told := c.ToldOutcome(position)
	if after != nil && c.t.Observed(told || len(c.AskedAfter(after)) > 0) {
		return
	}
	c.inconclusive(
		"it is unknown whether the client finished the step "+jsonrpc.Text(c.scenario.Steps[position]),
		fmt.Sprintf(`let the client write {"step":%d,"outcome":"done" or "failed"} to standard output`, position),
	)
}
