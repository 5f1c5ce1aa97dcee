package pool

import (
	"fmt"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/worker"
)

const (
	// Overloaded says why a run ends that a machine cannot carry.
	Overloaded = "this machine was too busy for the run"
	// Relief says what to do then.
	Relief = "run again on a less busy machine, with --workers 1 or a longer --timeout"
	// mostUnshown is how many checks are repeated alone, and late again, before it is of no
	// use to repeat others.
	mostUnshown = 5
	// mostSlowStarts is how many processes may not be there in time while one worker goes on
	// alone.
	mostSlowStarts = 2
)

// certain tells whether an outcome rests on nothing that was late, or on what shows by the
// pace of the target that it does not come. What came on no other connection either was
// waited for longest there.
func (d *coordinator) certain(found worker.Checked) bool {
	late := found.Outcome.Late
	if found.Outcome.Gone != "" {
		late = found.Outcome.GoneLate
	}
	if late == nil || found.Outcome.Ending == check.Skipped {
		return true
	}
	return d.results.Pace(found.Cell).Shows(*late)
}

// tooLate is what is left of an outcome that rests on what was late, and shows nothing.
func (d *coordinator) tooLate(found worker.Checked) check.Outcome {
	outcome := found.Outcome
	left := check.Outcome{
		Ending:   check.Inconclusion,
		Gone:     outcome.Gone,
		GoneLate: outcome.GoneLate,
		Hint:     Relief,
		Reason:   outcome.Reason,
	}
	if left.Reason == "" {
		left.Reason = why(outcome)
	}
	left.Reason += "; it may only be late"
	if outcome.Late == nil {
		return left
	}
	if slowest := d.results.Pace(found.Cell).Slowest(outcome.Late.For); slowest > 0 {
		left.Reason += fmt.Sprintf(": another answer took %s", slowest.Round(time.Millisecond))
	}
	return left
}

// slowStart takes a process that was not there in time, which shows nothing of the target:
// the machine has too much to do. One worker goes on; when others are late then, too, the
// cell ends. The caller holds the lock.
func (d *coordinator) slowStart(found worker.Checked) {
	late := found.Outcome.Late
	if late == nil || late.For != scope.Starting || d.certain(found) {
		return
	}
	switch {
	case !d.slow:
		d.slow, d.beside = true, d.job.lanesOfUse()-1
	case d.beside > 0:
		d.beside-- // it had begun before
	default:
		d.slowStarts++
	}
	if d.slowStarts == mostSlowStarts {
		d.results.Overload(found.Cell, found.Outcome.Reason)
	}
}

// timed is what a check that is repeated alone waits for: so long that nothing coming shows
// something, also of a target that is slow. Where it has done the same before, far faster, as
// long as a reply may take is enough.
func (d *coordinator) timed(one doubt) time.Duration {
	planned := one.found.Cell
	reply, late := d.job.Plan.Cells[planned].Reply, one.found.Outcome.Late
	if late == nil {
		return reply
	}
	pace := d.results.Pace(planned)
	needed := max(reply, min(scope.FarFaster*pace.Slowest(late.For), workAlone*reply))
	if _, known := pace[late.For]; !known || scope.IsUnhurried(late.For) {
		needed = max(needed, repliesAlone*reply)
	}
	return needed
}

// giveTime gives the target of a cell the time that the checks have which are repeated alone.
func (d *coordinator) giveTime(cell *worker.Cell, planned int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reply := cell.Reply
	cell.Work = workAlone * reply
	for _, one := range d.repeating {
		if one.found.Cell != planned {
			continue
		}
		needed := d.timed(one)
		if late := one.found.Outcome.Late; late != nil && late.For == scope.Starting {
			cell.Start = max(cell.Start, needed)
		} else {
			cell.Reply = max(cell.Reply, needed)
		}
	}
}

// hopeless tells whether what is repeated alone is late time and again.
func (d *coordinator) hopeless() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unshown >= mostUnshown
}

// unrepeated is what is left of an outcome in doubt where the check was not repeated.
func (d *coordinator) unrepeated(outcome check.Outcome) check.Outcome {
	if harmless(outcome) {
		return outcome
	}
	if d.hopeless() {
		return check.Outcome{
			Ending: check.Inconclusion, Hint: Relief,
			Reason: why(outcome) + "; not repeated alone: " + Overloaded,
		}
	}
	return check.Outcome{
		Ending: check.Inconclusion,
		Reason: why(outcome) + "; the run ended before the check was repeated alone",
		Hint:   "give the run more time with --deadline",
	}
}
