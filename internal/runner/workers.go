package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reports"
)

// WorkerCommand is the hidden subcommand that makes this binary a worker.
const WorkerCommand = "worker"

const (
	// gracePeriod is how long a check that is interrupted may still take.
	gracePeriod = time.Second
	// stopTimeout is how long a worker may take to stop its targets.
	stopTimeout = 15 * time.Second
	// killTimeout is how long one may take that did not stop by itself.
	killTimeout = 2 * time.Second
	// endTimeout is how long after its deadline, or a signal, a run goes on: two
	// seconds, less what writing the reports takes.
	endTimeout = 1500 * time.Millisecond
	// partingTime is how much of it workers have to tell what they have found; then
	// they are killed.
	partingTime = time.Second
	// maxRestarts bounds how often workers that die are replaced.
	maxRestarts = 20
)

// stopGrace is how a worker is stopped: by the end of its input.
var stopGrace = target.Grace{Input: stopTimeout, Terminate: killTimeout}

// check runs the checks: side by side, then those that run alone.
func (r *run) check(ctx context.Context) error {
	if len(r.plan.Cells) == 0 || over(ctx) {
		return nil
	}
	r.announce()
	r.makeRoom()
	confine(memoryOfRun)
	r.phase("starting workers")
	defer r.phase("judging by rules")
	coordinator := r.coordinator()
	defer coordinator.dismiss()
	return errors.Join(
		coordinator.sideBySide(ctx),
		coordinator.rest(ctx),
		coordinator.again(ctx),
		coordinator.confirm(ctx),
		coordinator.explore(ctx),
	)
}

func (r *run) coordinator() *coordinator {
	claimed := map[string]bool{}
	maps.Copy(claimed, r.others)
	return &coordinator{
		run: r, parting: partingTime, claimed: claimed, deferred: map[string]bool{}, scenarios: map[scene]string{},
		asked: map[string]bool{}, confirmed: map[string]bool{}, repeating: map[string]doubt{},
	}
}

// recall has the checks judge what was recorded, by one worker, which is ended with
// the context.
func (r *run) recall(ctx context.Context) error {
	if len(r.plan.Cells) == 0 || over(ctx) {
		return nil
	}
	coordinator := r.coordinator()
	defer coordinator.dismiss()
	coordinator.parting = 0
	return coordinator.keepWorking(ctx, pass{lanes: 1})
}

// makeRoom leaves the memory to the checks.
func (r *run) makeRoom() {
	if heavy(r.budget) {
		r.closing.Wait()
		debug.FreeOSMemory()
	}
}

// sideBySide has all checks run, in as many lanes as are of use; those that run alone come last.
func (d *coordinator) sideBySide(ctx context.Context) error {
	var failures []error
	if d.left(beside) {
		failures = append(failures, d.keepWorking(ctx, pass{only: beside, lanes: d.run.lanes()}))
	}
	if d.left(alone) && !over(ctx) {
		failures = append(failures, d.keepWorking(ctx, pass{only: alone, lanes: 1}))
	}
	return errors.Join(failures...)
}

// rest runs the checks to which no lane came: of a scenario that one had whose worker died; or
// those that were left to the one lane that a slow machine can carry, and was ahead of them.
func (d *coordinator) rest(ctx context.Context) error {
	if over(ctx) || d.restarts > maxRestarts || !d.left(all) {
		return nil
	}
	return d.keepWorking(ctx, pass{lanes: 1, rest: true})
}

// left tells whether there are checks of a kind to which no lane has come.
func (d *coordinator) left(only which) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.run.declared, func(one plan.Declared) bool {
		return only.has(one.Check) && !d.claimed[keyOf(d.run.planned[one.Cell].Name(), one.Check.Name())]
	})
}

// lanes is how many are of use for the checks of all cells.
func (r *run) lanes() int {
	checks, starting := 0, false
	for _, state := range r.cells {
		checks += state.total
		starting = starting || state.planned >= 0 && r.plan.Cells[state.planned].starts()
	}
	return r.options.lanes(checks, starting)
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

func (r *run) announce() {
	if r.options.Progress == nil {
		return
	}
	for _, state := range r.cells {
		if state.planned >= 0 {
			r.options.Progress.Cell(state.report.Name(), reports.Plan{
				Checks: state.total, Rules: len(r.chosenRules(state)), Told: len(r.chosenOf(state)),
			})
		}
	}
}

// phase shows what is done while no check is under way.
func (c *collector) phase(text string) {
	if c.options.Progress != nil {
		c.options.Progress.Phase(text)
	}
}

// begin shows that a check is under way, by its sentence.
func (r *run) begin(sentence string) {
	if r.options.Progress != nil {
		r.options.Progress.Begin(sentence)
	}
}

// over tells whether the run is to end. That is no error: what was done until
// then is reported.
func over(ctx context.Context) bool { return ctx.Err() != nil }

// scene is a scenario on a cell.
type scene struct {
	cell int
	name string
}

// coordinator hands checks to workers and takes what they find.
type coordinator struct {
	run       *run
	parting   time.Duration // how long workers may take to tell what they have found when the run ends early
	mu        sync.Mutex
	claimed   map[string]bool
	deferred  map[string]bool  // claimed, and to be run again
	scenarios map[scene]string // the lane that has one
	restarts  int
	lanes     int     // begun so far
	idle      *worker // is done with a plan, and waits for another one; nil for none

	doubts     []doubt
	asked      map[string]bool  // of what brings no reply: one check was repeated
	confirmed  map[string]bool  // and got none again; whether that shows anything
	repeating  map[string]doubt // under way, by key
	overBudget bool             // there was no room to repeat some side by side
	unshown    int              // that were late again, which shows nothing
	slow       bool             // some process was not there in time: one lane goes on
	only       string           // that lane
	beside     int              // others that were at work when it became slow
	slowStarts int              // processes that were not there in time since
}

// pass is what a worker is for.
type pass struct {
	only     which               // the checks that it runs
	lanes    int                 // in which it runs them
	beside   int                 // other workers at the same time
	rest     bool                // it runs what no lane has run, regardless of those that had the scenarios
	again    bool                // it runs what was put off, nothing else
	alone    bool                // it repeats what is in doubt, and waits longer
	explore  *explore.Plan       // the draws that it makes, in the place of checks; nil for none
	suspects [][]explore.Finding // by cell, to be explained in the place of making draws
}

// plan is what a worker is told for a pass.
func (d *coordinator) plan(pass pass) workerPlan {
	work := d.run.plan
	work.Only, work.Workers = pass.only, 1+pass.beside
	work.Catalogue = work.Catalogue.For(d.run.options.Role)
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

// worker is a process that does what plans say, one after another.
type worker struct {
	*target.Process
	writer  *json.Encoder
	reader  *json.Decoder
	planned bool // it had a plan before
}

// hire returns a worker: one that is idle, or another one.
func (d *coordinator) hire() (*worker, error) {
	d.mu.Lock()
	idle := d.idle
	d.idle = nil
	d.mu.Unlock()
	if idle != nil {
		return idle, nil
	}
	command := d.run.itself(WorkerCommand)
	command.Orderly = true
	process, err := target.Start(command)
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	reader := json.NewDecoder(process.Stdout)
	reader.UseNumber() // what the target declared is kept as it came
	return &worker{Process: process, writer: json.NewEncoder(process.Stdin), reader: reader}, nil
}

// release keeps a worker that is done with its plan for another one, unless there is one already.
func (d *coordinator) release(one *worker) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle == nil {
		d.idle = one
		return nil
	}
	return one.stop()
}

// stop ends a worker.
func (w *worker) stop() error {
	defer func() { _ = w.Close() }() // it is gone by then
	if _, stuck := w.Shutdown(context.Background(), stopGrace); stuck != nil {
		return fmt.Errorf("stopping a worker: %w", stuck)
	}
	return nil
}

// dismiss ends the worker that is idle.
func (d *coordinator) dismiss() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle != nil {
		_ = d.idle.stop() // it has told everything
		d.idle = nil
	}
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
	worker, err := d.hire()
	if err != nil {
		return false, err
	}
	work := d.plan(pass)
	// The end of its input asks a worker to stop, also when this process is killed.
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_, _ = worker.Shutdown(context.Background(), target.Grace{Input: d.parting})
	})

	served := d.serve(ctx, work, worker, pass)
	defer d.resign(work.Names...)
	if !stop() {
		<-ended
	}
	if served.finished && !over(ctx) {
		return false, d.release(worker)
	}
	if err := worker.stop(); err != nil || over(ctx) {
		return false, err
	}
	lastWords, _ := worker.Stderr()
	lost := served.underWay()
	d.lost(lost, worker.Exit(), lastWords)
	d.bequeath(work.Names...)
	if len(lost) > 1 && !pass.again { // most have nothing to do with it: alone, each shows that
		for _, key := range lost {
			d.postpone(key)
		}
	}
	return true, nil
}

// service is how the conversation with a worker ended.
type service struct {
	finished bool
	current  map[int]string // by lane: the check that it had claimed and not finished
}

// underWay are the checks that were not finished, sorted.
func (s service) underWay() []string { return slices.Sorted(maps.Values(s.current)) }

// serve speaks with a worker until it is done with a plan, or gone.
func (d *coordinator) serve(ctx context.Context, work workerPlan, worker *worker, pass pass) (ended service) {
	ended.current = map[int]string{}
	if worker.planned { // what does not change is told once
		work.Catalogue, work.Draft = nil, nil
	}
	worker.planned = true
	_ = worker.writer.Encode(order{Plan: &work}) // a worker that cannot be told is gone, or about to end
	for {
		var line note
		if err := worker.reader.Decode(&line); err != nil {
			return ended
		}
		switch {
		case line.Claim != nil:
			answer := permission{Run: ctx.Err() == nil && d.grant(line.Cell, *line.Claim, work.Names[line.Lane], pass)}
			if answer.Run {
				ended.current[line.Lane] = line.Claim.Key
				answer = d.run.permit(line.Cell)
			}
			_ = worker.writer.Encode(order{Lane: line.Lane, Permission: &answer}) // what it has done is read to the end
		case line.Checked != nil:
			d.take(ended.current[line.Lane], *line.Checked, pass.alone)
			delete(ended.current, line.Lane)
		case line.Connection != nil:
			d.run.exited(line.Cell, line.Process)
			d.run.closed(line.Cell, *line.Connection)
		case line.Drawn != nil:
			d.drawn(line.Cell, *line.Drawn)
		case line.Finished:
			ended.finished = true
			return ended
		}
	}
}

// grant lets a lane run a check that none has run, or again one that was put off. It looks in a
// scenario that this lane has, or none.
func (d *coordinator) grant(cell int, asked claim, lane string, pass pass) bool {
	key := asked.Key
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case pass.again && d.unshown >= mostUnshown:
		return false
	case d.slow && !pass.again:
		if d.only = cmp.Or(d.only, lane); d.only != lane {
			return false // what that one is past already is for the rest
		}
	}
	if d.claimed[key] && (!pass.again || !d.deferred[key]) {
		return false
	}
	if asked.Scenario != "" && !pass.again && !pass.rest {
		shared := scene{cell, asked.Scenario}
		if owner := d.scenarios[shared]; owner != "" && owner != lane {
			return false
		}
		d.scenarios[shared] = lane
	}
	d.claimed[key] = true
	delete(d.deferred, key)
	d.run.begin(asked.Text)
	return true
}

// resign has another lane go on where the one that did so alone has ended.
func (d *coordinator) resign(lanes ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(lanes, d.only) {
		d.only = ""
	}
}

// bequeath leaves the scenarios of lanes to others.
func (d *coordinator) bequeath(lanes ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.scenarios, func(_ scene, owner string) bool { return slices.Contains(lanes, owner) })
}

// postpone keeps a check for when there is more room.
func (d *coordinator) postpone(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deferred[key] = true
}

// lost records that a worker died, and the checks that were under way in it.
func (d *coordinator) lost(keys []string, ended target.Exit, lastWords []byte) {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	if d.run.abandoned {
		return
	}
	on := "between checks"
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = strconv.Quote(strings.ReplaceAll(key, "\n", " · "))
	}
	switch len(names) {
	case 0:
	case 1:
		on = "on the check " + names[0]
	default:
		on = "on one of the checks " + strings.Join(names, ", ")
	}
	text := fmt.Sprintf("a worker %s %s", ended.Past(), on)
	if words := excerpt.LastLines(string(lastWords)); words != "" {
		text += "; its last output: " + words
	}
	d.run.report.Errors = append(d.run.report.Errors, text)
}
