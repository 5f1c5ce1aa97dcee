package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/verdict"
	"github.com/mcpconform/mcpconform/internal/worker"
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
	found worker.Checked
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
func (d *coordinator) take(key string, found worker.Checked, repeated bool) {
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
		d.results.End(found)
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
		shown := d.certain(found)
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
func (d *coordinator) settle(found worker.Checked) {
	if !d.certain(found) {
		found.Outcome = d.tooLate(found)
	}
	d.results.Checked(found)
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
		d.results.Checked(one.found)
	}
	d.doubts, d.repeating = nil, nil
	if d.hopeless() {
		d.results.Notice(fmt.Sprintf(
			"%s: %d checks were repeated alone, and late again; %s", Overloaded, mostUnshown, Relief))
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
	lanes := min(len(beside), d.job.lanesOfUse())
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
	at := d.job.Plan.Cells[one.found.Cell]
	needsPeace := slices.ContainsFunc(d.job.Checks, func(other plan.Declared) bool {
		return other.Cell == one.found.Cell && (other.Check.Alone || other.Check.InTurn) &&
			d.keyOf(other) == one.key
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
		reason, ended := d.results.Ended(one.found.Cell)
		switch {
		case confirmed && shown:
		case confirmed:
			one.found.Outcome = d.tooLate(one.found)
		case ended:
			one.found.Outcome = unconfirmed(one.found.Outcome, reason)
		default:
			other := d.shownBy(one.found)
			if other == "" || d.timed(one) <= repliesAlone*d.job.Plan.Cells[one.found.Cell].Reply {
				return false
			}
			one.found.Outcome = check.Outcome{Ending: check.Skipped, Reason: verdict.SameAs(other)}
		}
		d.results.Checked(one.found)
		return true
	})
}

// shownBy names a check of the same requirement that failed, as this one has: there is no need
// to wait for a minute to show it once more. It is "" for none.
func (d *coordinator) shownBy(found worker.Checked) string {
	if found.Outcome.Ending != check.Failed {
		return "" // it may show what another requirement says
	}
	return d.results.Failing(found.Cell, found.Requirements[0])
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
