package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// unresponsiveAfter is how many checks in a row a target may leave without any answer
// before the others are not tried: each costs a timeout at least, and a target
// that is only slow, or silent where it may be, answers one of so many.
const unresponsiveAfter = 8

// silenceJudges are the pages whose checks are made for a target that answers
// nothing, and say so.
var silenceJudges = []string{"lifecycle", "ping", "discover"}

func judgesSilence(labels []string) bool {
	return slices.ContainsFunc(silenceJudges, func(page string) bool { return slices.Contains(labels, page) }) ||
		slices.ContainsFunc(labels, func(label string) bool { return strings.Contains(label, openingOfSSE) })
}

// openingOfSSE are the requirements of a stream, without which nothing can be asked.
const openingOfSSE = "transports.sse."

// permit lets a check of a cell run, and tells why it is no use to ask the target
// anything.
func (c *collector) permit(cell int) permission {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state(cell)
	return permission{
		Run: true, Unresponsive: state.unresponsive, Astray: state.astray, Ended: state.report.Ended != nil,
	}
}

// listen counts the checks in a row that the target left unanswered. The
// caller holds the lock.
func (s *cellState) listen(found checked) {
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
