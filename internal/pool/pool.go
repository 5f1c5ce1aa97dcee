// Package pool hands checks to worker processes and takes what they find: it starts and replaces the
// workers, has what is in doubt repeated alone, and says what stays open. It makes no verdict.
package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/worker"
)

const (
	// partingTime is how much of the time after the end of a run workers have to tell what they
	// have found; then they are killed.
	partingTime = time.Second
	// maxRestarts bounds how often workers that die are replaced.
	maxRestarts = 20
)

// Job is what a pool has workers do.
type Job struct {
	Plan    worker.Plan     // what all of them are told
	Role    string          // that the target plays
	Checks  []plan.Declared // that are to be run, on the cells of the plan
	Others  map[string]bool // checks that are run elsewhere, by key; nil for none
	Command target.Command  // that starts a worker
	Lanes   int             // at most, in which checks run side by side; 0: as many as are of use
	Draws   int             // to make on each cell, after the checks
	Seed    uint64          // of the first of them
	Shard   shard.Shard     // of which this is the part; zero for all
}

// Results takes what workers find, and tells what is known of the target by then. A pool calls it
// from several goroutines.
type Results interface {
	// Permit lets a check of a cell run, and tells why it is no use to ask the target anything.
	Permit(cell int) worker.Permission
	// Begin is told that a check is under way, by its sentence.
	Begin(sentence string)
	// Checked takes what a check has found, once for each.
	Checked(found worker.Checked)
	// Connection takes one that is closed and judged, and how the process ended that it had; nil
	// where it had none.
	Connection(cell int, connection scope.Connection, ended *worker.Exit)
	// Drawn takes what came of draws.
	Drawn(cell int, found worker.Drawn)
	// Failed takes an error of the harness.
	Failed(err error)
	// Notice puts a line at the top of what is said of each cell.
	Notice(text string)
	// Pace is how long the target has taken on a cell.
	Pace(cell int) scope.Pace
	// Failing names a check of a cell that has failed for a requirement; "" for none.
	Failing(cell int, requirement string) string
	// End ends the cell of a check that has found the target gone, or silent.
	End(found worker.Checked)
	// Overload ends a cell that the machine cannot carry, and says why.
	Overload(cell int, why string)
	// Ended tells whether a cell has ended, and why.
	Ended(cell int) (why string, ended bool)
}

// Check has workers run the checks of a job: side by side, then those that run alone, then once more
// what was put off or is in doubt; and last the draws. When the context ends before, what was found
// by then is in the results, and it returns within a second or two. The error tells what went wrong
// with the workers, not what the target does wrong.
func Check(ctx context.Context, job Job, results Results) error {
	coordinator := newCoordinator(job, results)
	defer coordinator.dismiss()
	return errors.Join(
		coordinator.sideBySide(ctx),
		coordinator.rest(ctx),
		coordinator.again(ctx),
		coordinator.confirm(ctx),
		coordinator.explore(ctx),
	)
}

// Recall has one worker run the checks of a job, once, which judge what was recorded. It is killed when
// the context ends.
func Recall(ctx context.Context, job Job, results Results) error {
	coordinator := newCoordinator(job, results)
	defer coordinator.dismiss()
	coordinator.parting = 0
	return coordinator.keepWorking(ctx, pass{lanes: 1})
}

func newCoordinator(job Job, results Results) *coordinator {
	claimed := map[string]bool{}
	maps.Copy(claimed, job.Others)
	return &coordinator{
		job: job, results: results, parting: partingTime, claimed: claimed, deferred: map[string]bool{},
		scenarios: map[scene]string{}, asked: map[string]bool{}, confirmed: map[string]bool{},
		repeating: map[string]doubt{}, suspected: make([][]explore.Finding, len(job.Plan.Cells)),
	}
}

// sideBySide has all checks run, in as many lanes as are of use; those that run alone come last.
func (d *coordinator) sideBySide(ctx context.Context) error {
	var failures []error
	if d.left(worker.Beside) {
		failures = append(failures, d.keepWorking(ctx, pass{only: worker.Beside, lanes: d.job.lanesOfUse()}))
	}
	if d.left(worker.Alone) && !over(ctx) {
		failures = append(failures, d.keepWorking(ctx, pass{only: worker.Alone, lanes: 1}))
	}
	return errors.Join(failures...)
}

// rest runs the checks to which no lane came: of a scenario that one had whose worker died; or
// those that were left to the one lane that a slow machine can carry, and was ahead of them.
func (d *coordinator) rest(ctx context.Context) error {
	if over(ctx) || d.restarts > maxRestarts || !d.left(worker.All) {
		return nil
	}
	return d.keepWorking(ctx, pass{lanes: 1, rest: true})
}

// left tells whether there are checks of a kind to which no lane has come.
func (d *coordinator) left(only worker.Selection) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.job.Checks, func(one plan.Declared) bool {
		return only.Has(one.Check) && !d.claimed[d.keyOf(one)]
	})
}

// keyOf names a check among all cells.
func (d *coordinator) keyOf(one plan.Declared) string {
	return worker.KeyOf(d.job.Plan.Cells[one.Cell].Name(), one.Check.Name())
}

// again runs the checks that were put off, in a lane that has all the room.
func (d *coordinator) again(ctx context.Context) error {
	d.mu.Lock()
	none := len(d.deferred) == 0
	d.mu.Unlock()
	if none || over(ctx) {
		return nil
	}
	return d.keepWorking(ctx, pass{lanes: 1, again: true})
}

// over tells whether the run is to end. That is no error: what was done until
// then is reported.
func over(ctx context.Context) bool { return ctx.Err() != nil }

// coordinator hands checks to workers and takes what they find.
type coordinator struct {
	job       Job
	results   Results
	parting   time.Duration // how long workers may take to tell what they have found when the run ends early
	mu        sync.Mutex
	claimed   map[string]bool
	deferred  map[string]bool  // claimed, and to be run again
	scenarios map[scene]string // the lane that has one
	restarts  int
	lanes     int      // begun so far
	idle      *process // is done with a plan, and waits for another one; nil for none

	doubts     []doubt
	asked      map[string]bool     // of what brings no reply: one check was repeated
	confirmed  map[string]bool     // and got none again; whether that shows anything
	repeating  map[string]doubt    // under way, by key
	overBudget bool                // there was no room to repeat some side by side
	suspected  [][]explore.Finding // draws to look at again, by cell
	unshown    int                 // that were late again, which shows nothing
	slow       bool                // some process was not there in time: one lane goes on
	only       string              // that lane
	beside     int                 // others that were at work when it became slow
	slowStarts int                 // processes that were not there in time since
}

// pass is what a worker is for.
type pass struct {
	only     worker.Selection    // the checks that it runs
	lanes    int                 // in which it runs them
	beside   int                 // other workers at the same time
	rest     bool                // it runs what no lane has run, regardless of those that had the scenarios
	again    bool                // it runs what was put off, nothing else
	alone    bool                // it repeats what is in doubt, and waits longer
	explore  *explore.Plan       // the draws that it makes, in the place of checks; nil for none
	suspects [][]explore.Finding // by cell, to be explained in the place of making draws
}

// plan is what a worker is told for a pass.
func (d *coordinator) plan(pass pass) worker.Plan {
	work := d.job.Plan
	work.Only, work.Workers = pass.only, 1+pass.beside
	work.Catalogue = work.Catalogue.For(d.job.Role)
	work.Explore, work.Suspects = pass.explore, pass.suspects
	work.Cells = slices.Clone(work.Cells)
	work.Apart = pass.alone
	work.Repeated = !pass.alone && pass.explore == nil && pass.suspects == nil
	if pass.alone {
		for i := range work.Cells {
			d.giveTime(&work.Cells[i], i)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if pass.again {
		work.Keys = slices.Collect(maps.Keys(d.deferred))
	}
	for range pass.lanes {
		d.lanes++
		work.Names = append(work.Names, "worker"+strconv.Itoa(d.lanes)+"-")
	}
	return work
}

// keepWorking runs one worker after another until one ends by itself: a worker
// that dies loses the check it was on, not the rest.
func (d *coordinator) keepWorking(ctx context.Context, pass pass) error {
	for {
		died, err := d.work(ctx, pass)
		if err != nil || !died || ctx.Err() != nil {
			return err
		}
		d.mu.Lock()
		d.restarts++
		tooMany := d.restarts > maxRestarts
		d.mu.Unlock()
		if tooMany {
			return fmt.Errorf("workers died %d times; the last one is not replaced", maxRestarts)
		}
	}
}

// work has a worker do one pass. It reports whether the process died before that was done.
func (d *coordinator) work(ctx context.Context, pass pass) (died bool, err error) {
	hired, err := d.hire()
	if err != nil {
		return false, err
	}
	work := d.plan(pass)
	// The end of its input asks a worker to stop, also when this process is killed.
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_, _ = hired.Shutdown(context.Background(), target.Grace{Input: d.parting})
	})

	served := d.serve(ctx, work, hired, pass)
	defer d.resign(work.Names...)
	if !stop() {
		<-ended
	}
	if served.finished && !over(ctx) {
		return false, d.release(hired)
	}
	if err := hired.stop(); err != nil || over(ctx) {
		return false, err
	}
	lastWords, _ := hired.Stderr()
	lost := served.underWay()
	d.lost(lost, hired.Exit(), lastWords)
	d.bequeath(work.Names...)
	if len(lost) > 1 && !pass.again { // most have nothing to do with it: alone, each shows that
		for _, key := range lost {
			d.postpone(key)
		}
	}
	return true, nil
}
