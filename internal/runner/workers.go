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
	coordinator.parting = 0
	return coordinator.keepWorking(ctx, pass{filter: r.plan.Filter, workers: 1})
}

// makeRoom leaves the memory to the checks.
func (r *run) makeRoom() {
	if heavy(r.budget) {
		r.closing.Wait()
		debug.FreeOSMemory()
	}
}

// sideBySide has all checks run by workers; those that run alone come last. One worker has
// those that run in turn before it goes on as another.
func (d *coordinator) sideBySide(ctx context.Context) error {
	var working, last sync.WaitGroup
	var lonely sync.Once
	others := make(chan struct{}) // closed when those who work side by side are done
	workers := d.run.workers()
	if !d.left(together) {
		workers = 1 // nothing runs beside those that run in turn
	}
	failures := make([]error, workers+1)
	for i := range workers {
		working.Go(func() {
			if i == 0 && d.left(inTurn) {
				failures[i] = d.keepWorking(ctx, pass{filter: d.run.plan.Filter, only: inTurn, workers: workers})
			}
			if d.left(together) {
				failures[i] = errors.Join(failures[i],
					d.keepWorking(ctx, pass{filter: d.run.plan.Filter, only: together, workers: workers}))
			}
			if !d.left(alone) || over(ctx) {
				return
			}
			// The first to be done makes room for the one that runs alone, which
			// gets ready while the others end.
			lonely.Do(func() {
				last.Go(func() {
					failures[workers] = d.keepWorking(
						ctx,
						pass{filter: d.run.plan.Filter, only: alone, workers: 1, others: others},
					)
				})
			})
		})
	}
	working.Wait()
	close(others)
	last.Wait()
	return errors.Join(failures...)
}

// rest runs the checks to which no worker came: of a scenario that another had, which died;
// or those that were left to the one worker that a slow machine can carry, and was ahead of them.
func (d *coordinator) rest(ctx context.Context) error {
	if over(ctx) || d.restarts > maxRestarts || !d.left(all) {
		return nil
	}
	return d.keepWorking(ctx, pass{filter: d.run.plan.Filter, workers: 1, rest: true})
}

// left tells whether there are checks of a kind to which no worker has come.
func (d *coordinator) left(only which) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.run.declared, func(one plan.Declared) bool {
		return only.has(one.Check) && !d.claimed[keyOf(d.run.planned[one.Cell].Name(), one.Check.Name())]
	})
}

// workers is how many are of use for the checks of all cells.
func (r *run) workers() int {
	checks := 0
	for _, state := range r.cells {
		checks += state.total
	}
	return r.options.workers(checks)
}

// again runs the checks that were put off, by a worker that has all the room.
func (d *coordinator) again(ctx context.Context) error {
	d.mu.Lock()
	none := len(d.deferred) == 0
	d.mu.Unlock()
	if none || over(ctx) {
		return nil
	}
	return d.keepWorking(ctx, pass{filter: d.run.plan.Filter, workers: 1, again: true})
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
	scenarios map[scene]string // the worker that has one
	restarts  int
	workers   int // begun so far

	doubts     []doubt
	asked      map[string]bool  // of what brings no reply: one check was repeated
	confirmed  map[string]bool  // and got none again; whether that shows anything
	repeating  map[string]doubt // under way, by key
	overBudget bool             // there was no room to repeat some side by side
	unshown    int              // that were late again, which shows nothing
	slow       bool             // some process was not there in time: one worker goes on
	only       string           // that worker
	beside     int              // others that were at work when it became slow
	slowStarts int              // processes that were not there in time since
}

// pass is what a worker is for.
type pass struct {
	filter   string              // the checks that it runs
	only     which               // of those
	workers  int                 // that work at the same time
	others   <-chan struct{}     // closed when those are done whom it has to wait for
	rest     bool                // it runs what nobody has run, whoever had the scenarios
	again    bool                // it runs what was put off, nothing else
	alone    bool                // it repeats what is in doubt, and waits longer
	explore  *explore.Plan       // the draws that it makes, in the place of checks; nil for none
	suspects [][]explore.Finding // by cell, to be explained in the place of making draws
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

// work runs one worker process. It reports whether the process died before it
// was done.
func (d *coordinator) work(ctx context.Context, pass pass) (died bool, err error) {
	work := d.run.plan
	work.Filter, work.Only, work.Workers = pass.filter, pass.only, pass.workers
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
	d.workers++
	work.Name = "worker" + strconv.Itoa(d.workers) + "-"
	d.mu.Unlock()

	output, err := json.Marshal(work)
	if err != nil {
		return false, fmt.Errorf("writing the plan of a worker: %w", err)
	}

	command := d.run.itself(WorkerCommand)
	command.Orderly = true
	worker, err := target.Start(command)
	if err != nil {
		return false, fmt.Errorf("starting a worker: %w", err)
	}
	defer func() { _ = worker.Close() }() // it is gone by then
	// The end of its input asks a worker to stop, also when this process is killed.
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_, _ = worker.Shutdown(context.Background(), target.Grace{Input: d.parting})
	})

	served := d.serve(ctx, output, work.Name, worker, pass)
	defer d.resign(work.Name)
	if !stop() {
		<-ended
	}
	_, stuck := worker.Shutdown(context.Background(), stopGrace)
	switch {
	case stuck != nil:
		return false, fmt.Errorf("stopping a worker: %w", stuck)
	case served.finished || over(ctx):
		return false, nil
	}
	lastWords, _ := worker.Stderr()
	d.lost(served.current, worker.Exit(), lastWords)
	d.bequeath(work.Name)
	return true, nil
}

// service is how the conversation with a worker ended.
type service struct {
	finished bool
	current  string // the check that it had claimed and not finished
}

// serve speaks with a worker until it is done or gone; it lets no check begin
// before others are done.
func (d *coordinator) serve(
	ctx context.Context,
	output []byte,
	name string,
	worker *target.Process,
	pass pass,
) (ended service) {
	writer := json.NewEncoder(worker.Stdin)
	reader := json.NewDecoder(worker.Stdout)
	reader.UseNumber()                // what the target declared is kept as it came
	_, _ = worker.Stdin.Write(output) // a worker that cannot be told is gone, or about to end
	for {
		var line note
		if err := reader.Decode(&line); err != nil {
			return ended
		}
		switch {
		case line.Claim != nil:
			if pass.others != nil {
				<-pass.others
			}
			answer := permission{Run: ctx.Err() == nil && d.grant(line.Cell, *line.Claim, name, pass)}
			if answer.Run {
				ended.current = line.Claim.Key
				answer = d.run.permit(line.Cell)
			}
			_ = writer.Encode(answer) // what it has done is read to the end
		case line.Checked != nil:
			d.take(ended.current, *line.Checked, pass.alone)
			ended.current = ""
		case line.Connection != nil:
			d.run.exited(line.Cell, line.Process)
			d.run.closed(line.Cell, *line.Connection)
		case line.Drawn != nil:
			d.drawn(line.Cell, *line.Drawn)
		case line.Finished:
			ended.finished = true
		}
	}
}

// grant lets a worker run a check that nobody has run, or again one that was put
// off. It looks in a scenario that this worker has, or nobody.
func (d *coordinator) grant(cell int, asked claim, worker string, pass pass) bool {
	key := asked.Key
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case pass.again && d.unshown >= mostUnshown:
		return false
	case d.slow && !pass.again:
		if d.only = cmp.Or(d.only, worker); d.only != worker {
			return false // what that one is past already is for the rest
		}
	}
	if d.claimed[key] && (!pass.again || !d.deferred[key]) {
		return false
	}
	if asked.Scenario != "" && !pass.again && !pass.rest {
		shared := scene{cell, asked.Scenario}
		if owner := d.scenarios[shared]; owner != "" && owner != worker {
			return false
		}
		d.scenarios[shared] = worker
	}
	d.claimed[key] = true
	delete(d.deferred, key)
	d.run.begin(asked.Text)
	return true
}

// resign has another worker go on where the one that did so alone has ended.
func (d *coordinator) resign(worker string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.only == worker {
		d.only = ""
	}
}

// bequeath leaves the scenarios of a worker that died to others.
func (d *coordinator) bequeath(worker string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.scenarios, func(_ scene, owner string) bool { return owner == worker })
}

// postpone keeps a check for when there is more room.
func (d *coordinator) postpone(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deferred[key] = true
}

// lost records that a worker died, and the check that it was on.
func (d *coordinator) lost(key string, ended target.Exit, lastWords []byte) {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	if d.run.abandoned {
		return
	}
	on := "between checks"
	if key != "" {
		on = "on the check " + strconv.Quote(strings.ReplaceAll(key, "\n", " · "))
	}
	text := fmt.Sprintf("a worker %s %s", ended.Past(), on)
	if words := excerpt.LastLines(string(lastWords)); words != "" {
		text += "; its last output: " + words
	}
	d.run.report.Errors = append(d.run.report.Errors, text)
}
