package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/verdict"
	"github.com/mcpconform/mcpconform/reports"
)

const (
	// repliesAlone is how many times as long a reply may take when a check is repeated
	// alone: a machine that is busy with other things is no defect of the target.
	repliesAlone = 3
	// workAlone is the same where the target has to work for the reply, by default a
	// minute: after that, clients on the official SDKs give up.
	workAlone = 12
)

// doubt is a check that is to be repeated alone: its outcome rests on a wait that was over
// or on a connection that was lost, or other checks may be why it ended as it did.
type doubt struct {
	key   string // of the check
	found checked
}

// awaited names what was waited for, on a cell; "" for a doubt of another kind. One check
// of those that waited for the same is enough to show that it does not come.
func (d doubt) awaited() string {
	if d.found.Outcome.Awaited == "" {
		return ""
	}
	return fmt.Sprintf("%d %s", d.found.Cell, d.found.Outcome.Awaited)
}

// take records what a check found, or keeps it to be repeated.
func (d *coordinator) take(key string, found checked, repeated bool) {
	outcome := &found.Outcome
	before, again := d.repeatedAs(key)
	switch {
	case outcome.Ending == check.Deferred && again:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.overBudget = true // the next time it has all the room
		d.doubts = append(d.doubts, before)
		delete(d.asked, before.awaited())
		return
	case outcome.Ending == check.Deferred:
		d.postpone(key)
		return
	case outcome.Gone != "" || outcome.Quit != nil:
		d.run.end(found)
		d.settle(found)
		return
	case (outcome.Doubtful || outcome.Disturbed) && !repeated:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.doubts = append(d.doubts, doubt{key, found})
		d.slowStart(found)
		return
	case repeated:
		d.mu.Lock()
		shown := d.run.certain(found)
		if outcome.Awaited != "" {
			d.confirmed[doubt{key, found}.awaited()] = shown
		}
		if !shown {
			d.unshown++
		}
		d.mu.Unlock()
	}
	d.settle(found)
}

// repeatedAs returns the doubt for which a check was repeated, which is over with that, and
// whether it was.
func (d *coordinator) repeatedAs(key string) (before doubt, again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, again = d.repeating[key]
	delete(d.repeating, key)
	return before, again
}

// settle records what a check found, if what is late shows anything.
func (d *coordinator) settle(found checked) {
	if !d.run.certain(found) {
		found.Outcome = d.run.tooLate(found)
	}
	d.run.checked(found)
}

// confirm repeats, alone, the checks whose outcome is in doubt, and records them. What
// there is no time for stays open.
func (d *coordinator) confirm(ctx context.Context) error {
	for !over(ctx) && !d.hopeless() {
		keys := d.toRepeat()
		if len(keys) == 0 {
			break
		}
		if err := d.repeat(ctx, keys); err != nil {
			return err
		}
	}
	for _, one := range slices.Concat(d.doubts, slices.Collect(maps.Values(d.repeating))) {
		one.found.Outcome = d.unrepeated(one.found.Outcome)
		d.run.checked(one.found)
	}
	d.doubts, d.repeating = nil, nil
	if d.hopeless() {
		d.run.tellOverload()
	}
	return nil
}

// repeat runs checks again, alone. Those that wait for processes of their own wait side by side,
// unless the machine is too slow to start those: to wait is no work, and none of them can be why
// another waits.
func (d *coordinator) repeat(ctx context.Context, keys []string) error {
	var beside, single []string
	d.mu.Lock()
	for _, key := range keys {
		if d.apart(d.repeating[key]) {
			beside = append(beside, key)
		} else {
			single = append(single, key)
		}
	}
	lanes := min(len(beside), d.run.lanes())
	d.mu.Unlock()
	return errors.Join(d.repeatIn(ctx, lanes, beside), d.repeatIn(ctx, 1, single))
}

// repeatIn runs some checks again, in so many lanes.
func (d *coordinator) repeatIn(ctx context.Context, lanes int, keys []string) error {
	if len(keys) == 0 || over(ctx) {
		return nil
	}
	d.mu.Lock()
	for _, key := range keys {
		d.deferred[key] = true
	}
	d.mu.Unlock()
	return d.keepWorking(ctx, pass{lanes: lanes, again: true, alone: true})
}

// apart tells whether a check waits for a process that it starts for itself. The caller holds
// the lock.
func (d *coordinator) apart(one doubt) bool {
	at := d.run.plan.Cells[one.found.Cell]
	needsPeace := slices.ContainsFunc(d.run.declared, func(other plan.Declared) bool {
		return other.Cell == one.found.Cell && (other.Check.Alone || other.Check.InTurn) &&
			keyOf(d.run.planned[other.Cell].Name(), other.Check.Name()) == one.key
	})
	late := one.found.Outcome.Late
	waits := one.found.Outcome.Disturbed || late != nil && late.For != scope.Starting
	return waits && !needsPeace && !d.slow && !d.overBudget &&
		(at.Transport == protocol.Stdio || at.Role == protocol.ClientRole)
}

// toRepeat records the doubts that are settled, and takes out those to be repeated
// next, which wait equally long, the shortest first: one of each kind that wait for the same
// reply; all of those, when that one got it.
func (d *coordinator) toRepeat() (keys []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settleDoubts()
	shortest := time.Duration(math.MaxInt64)
	for _, one := range d.doubts {
		shortest = min(shortest, d.timed(one))
	}
	asking := map[string]bool{}
	d.doubts = slices.DeleteFunc(d.doubts, func(one doubt) bool {
		same := one.awaited()
		if d.timed(one) > shortest || same != "" && !d.asked[same] && asking[same] {
			return false
		}
		asking[same] = true
		d.repeating[one.key] = one
		keys = append(keys, one.key)
		return true
	})
	maps.Copy(d.asked, asking)
	return keys
}

// settleDoubts records the doubts that are none any more. The caller holds the lock.
func (d *coordinator) settleDoubts() {
	d.doubts = slices.DeleteFunc(d.doubts, func(one doubt) bool {
		shown, confirmed := d.confirmed[one.awaited()]
		switch {
		case confirmed && shown:
		case confirmed:
			one.found.Outcome = d.run.tooLate(one.found)
		case d.run.ended(one.found.Cell):
			one.found.Outcome = unconfirmed(one.found.Outcome, d.run.gaveUp(one.found.Cell))
		default:
			other := d.run.shownBy(one.found)
			if other == "" || d.timed(one) <= repliesAlone*d.run.plan.Cells[one.found.Cell].Reply {
				return false
			}
			one.found.Outcome = check.Outcome{Ending: check.Skipped, Reason: verdict.SameAs(other)}
		}
		d.run.checked(one.found)
		return true
	})
}

// shownBy names a check of the same requirement that failed, as this one has: there is no need
// to wait for a minute to show it once more. It is "" for none.
func (c *collector) shownBy(found checked) string {
	if found.Outcome.Ending != check.Failed {
		return "" // it may show what another requirement says
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	results := c.state(found.Cell).report.Results
	at := slices.IndexFunc(results, func(one reports.Result) bool {
		return one.Verdict == reports.Failed && one.ID == found.Requirements[0]
	})
	if at < 0 {
		return ""
	}
	return results[at].Text
}

// unconfirmed is what is left of an outcome in doubt when the cell ended before the check could
// be repeated alone.
func unconfirmed(outcome check.Outcome, ended string) check.Outcome {
	if harmless(outcome) {
		return outcome
	}
	return check.Outcome{
		Ending: check.Inconclusion,
		Reason: cmp.Or(outcome.Reason, why(outcome)) + ", then " + ended,
		Hint:   "see the beginning of the report, then run again",
	}
}

// harmless tells whether an outcome in doubt may stand where the check cannot be repeated: it
// rests on no wait, and is no failure.
func harmless(outcome check.Outcome) bool {
	return !outcome.Doubtful && (outcome.Ending == check.Passed || outcome.Ending == check.Skipped)
}

// why says why a check is to be repeated.
func why(outcome check.Outcome) string {
	if outcome.Doubtful {
		return "timed out"
	}
	return "it did not pass where other checks may have been the reason"
}

// ended tells whether the target went away on a cell of the plan.
func (c *collector) ended(cell int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state(cell).report.Ended != nil
}

// gaveUp says why a cell was given up.
func (c *collector) gaveUp(cell int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state(cell).gaveUp
}

// end ends a cell whose target went away, or stopped answering. Several checks may
// notice it: each had a request under way that may have been the reason.
func (c *collector) end(found checked) {
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
func (c *collector) unanswered(state *cellState, done checked) {
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
