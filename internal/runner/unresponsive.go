package runner

import (
	"fmt"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/worker"
)

// unresponsiveAfter is how many checks in a row a target may leave without any answer
// before the others are not tried: each costs a timeout at least, and a target
// that is only slow, or silent where it may be, answers one of so many.
const unresponsiveAfter = 8

// Permit lets a check of a cell run, and tells why it is no use to ask the target
// anything.
func (c *collector) Permit(cell int) worker.Permission {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state(cell)
	return worker.Permission{
		Run: true, Unresponsive: state.unresponsive, Astray: state.astray, Ended: state.report.Ended != nil,
	}
}

// listen counts the checks in a row that the target left unanswered. The
// caller holds the lock.
func (s *cellState) listen(found worker.Checked) {
	switch {
	case found.Unresponsive:
		s.silent++
	case found.Evidence:
		s.silent = 0
	}
	if s.silent >= unresponsiveAfter && s.unresponsive == "" {
		did := "answered nothing"
		if s.report.Role == protocol.ClientRole {
			did = "only connected"
		}
		s.unresponsive = fmt.Sprintf("not tried: the target %s in %d checks before", did, unresponsiveAfter)
	}
}
