package runner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/pool"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// Ended tells whether a cell of the plan has ended, and why.
func (c *collector) Ended(cell int) (why string, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state(cell)
	return state.gaveUp, state.report.Ended != nil
}

// End ends a cell whose target went away, or stopped answering. Several checks may
// notice it: each had a request under way that may have been the reason.
func (c *collector) End(found worker.Checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state(found.Cell)
	if quit := found.Outcome.Quit; quit != nil {
		if state.report.Ended == nil {
			state.quit(quit, c.redact)
		}
		return
	}
	events := evidence.Events(found.Exchanges)
	if reply := found.Outcome.NoReply; reply != nil && len(events) == 0 {
		events = reply.Exchange
	}
	if state.report.Ended == nil {
		state.gone(c.redact(found.Outcome.Gone), found.Outcome.GoneLate)
	}
	ended := state.report.Ended
	ended.Exit = cmp.Or(ended.Exit, evidence.Exit(events))
	ended.Output = cmp.Or(ended.Output, c.redact(evidence.Stderr(events)))
	last := c.redact(evidence.LastRequest(events))
	switch {
	case last == "" || slices.Contains(state.underWay, last) || len(state.underWay) == maxUnderWay:
	case undelivered(found.Outcome.NoReply):
		ended.After = cmp.Or(ended.After, last) // better than none
	default:
		state.underWay = append(state.underWay, last)
		ended.After = strings.Join(state.underWay, ", ")
	}
}

// gone ends a cell, as the server answers no new connection. Where that is only late, the machine
// may be the reason.
func (s *cellState) gone(why string, late *check.Late) {
	if late != nil && !s.pace.Shows(*late) {
		s.overload(why)
		return
	}
	s.report.Ended = &reports.Ended{
		Reason: "the server no longer answers " + why,
		Hint:   "see what the target logs about the request, then run again",
	}
	s.giveUp("the server exited or stopped answering")
}

// Overload ends a cell that the machine cannot carry, and says why.
func (c *collector) Overload(cell int, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state := c.state(cell); state.report.Ended == nil {
		state.overload(c.redact(why))
	}
}

// overload ends a cell that the machine cannot carry.
func (s *cellState) overload(why string) {
	s.report.Ended = &reports.Ended{
		Reason: pool.Overloaded + ": " + why, Hint: "what failed has failed; " + pool.Relief,
	}
	s.giveUp(pool.Overloaded)
}

// quit ends a cell whose server exits by itself, also when nothing is asked.
func (s *cellState) quit(found *check.Quit, redact func(string) string) {
	s.report.Ended = &reports.Ended{
		Reason: "the server exits by itself after " + found.After + ", also when nothing else is asked",
		After:  found.After, Exit: found.Exit, Output: redact(excerpt.Stderr(found.Stderr)),
		Hint: "see its standard error: what it needs, such as a database, may be missing; then run again",
	}
	s.giveUp("the server exits by itself after " + found.After)
}

// giveUp has no more checks run in a cell, and says why.
func (s *cellState) giveUp(why string) { s.gaveUp, s.unresponsive = why, "not tried: "+why }

// maxUnderWay bounds the requests that are named as the last ones before a target went
// away.
const maxUnderWay = 4

// undelivered tells of what brought no reply that it had not reached the target.
func undelivered(reply *check.NoReply) bool { return reply != nil && reply.Undelivered }

// unanswered records that something brought no reply, among what the rules found. What
// did not reach a target that went away is nothing that it had to reply to.
func (c *collector) unanswered(state *cellState, done worker.Checked) {
	reply := done.Outcome.NoReply
	if reply == nil || done.Outcome.Ending != check.Inconclusion || state.report.Ended != nil && reply.Undelivered {
		return
	}
	at := slices.IndexFunc(
		state.rules,
		func(rule rules.Rule) bool { return rule.Verifies.IDs[0] == session.AnsweredRequirement },
	)
	if at < 0 {
		return
	}
	id := state.rules[at].ID()
	if state.findings[id] == nil {
		state.findings[id] = &found{}
	}
	one := state.findings[id]
	one.add(rules.Finding{Rule: id, Observed: 1, Breaks: []rules.Breach{{
		Cause: reply.To, Mismatch: rules.Mismatch{Wanted: "a reply to " + reply.To, Found: reply.Found},
		Count: 1, Exchange: reply.Exchange, Judged: reply.Judged,
	}}})
}
