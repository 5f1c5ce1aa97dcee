package worker

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites"
)

// gracePeriod is how long a check that is interrupted may still take.
const gracePeriod = time.Second

// Host decides what the lanes of a process run, and takes what they find. Lanes call it at once.
type Host interface {
	// Claim asks whether a lane is the one to run a check of a cell.
	Claim(lane, cell int, asked Claim) Permission
	// Checked hands over what a check found that the lane has claimed.
	Checked(lane int, found Checked)
}

// executor runs checks in lanes, one in each at a time: most of what a check does is to wait. To
// Ginkgo, which runs one spec after another, a check is a spec that waits for its lane.
type executor struct {
	lanes     [][]*session.Environment // what the checks of a lane see, by cell
	host      Host
	items     []*item
	interrupt context.CancelFunc
}

// item is a check on a cell, which one of the lanes runs, or another worker.
type item struct {
	cell     int
	declared *check.Declaration
	claiming sync.Mutex      // one lane at a time asks for it: most have been given it then
	taken    bool            // by a lane
	state    types.SpecState // how it ended there
	reason   string          // why it was skipped
	ahead    atomic.Int32    // lanes that have not come past it
	past     chan struct{}   // closed when all have
}

// pass notes that a lane has come past it.
func (i *item) pass() {
	if i.ahead.Add(-1) == 0 {
		close(i.past)
	}
}

// declare hands the checks that match a filter to Ginkgo, those of all cells. Those of another
// cell need no other Describe: no two have one key.
func (e *executor) declare(chosen Choice, only Selection, keys []string) {
	globals.Reset()
	for cell, environment := range e.lanes[0] {
		checks := suites.Checks(environment.Role)
		for _, lane := range e.lanes {
			lane[cell].Know(checks)
		}
		for _, one := range checks {
			key := KeyOf(environment.Name(), one.Name())
			if !only.Has(one) || !environment.Applies(one) || keys != nil && !slices.Contains(keys, key) ||
				!chosen(environment, one) {
				continue
			}
			item := &item{cell: cell, declared: one, past: make(chan struct{})}
			item.ahead.Store(int32(len(e.lanes))) //nolint:gosec // a few
			e.items = append(e.items, item)
			place := types.CodeLocation{FileName: one.Place.File, LineNumber: one.Place.Line}
			ginkgo.It(key, place, func(ctx ginkgo.SpecContext) { e.join(ctx, item) })
		}
	}
}

// order puts what leaves the harness waiting before all others, so that these go on meanwhile, and
// then what calls tools, which take their time; the rest is shuffled, each time alike.
func (e *executor) order() {
	shuffled := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // for order alone
	shuffled.Shuffle(len(e.items), func(i, j int) { e.items[i], e.items[j] = e.items[j], e.items[i] })
	rank := func(one *item) int {
		switch {
		case one.declared.Early():
			return 0
		case len(one.declared.Provocations) > 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(e.items, func(a, b *item) int { return cmp.Compare(rank(a), rank(b)) })
}

// join waits until every lane is past a check, and lets Ginkgo know how it ended.
func (e *executor) join(ctx context.Context, one *item) {
	select {
	case <-one.past:
	case <-ctx.Done():
		e.interrupt()
		return
	}
	switch {
	case one.state.Is(types.SpecStateFailureStates):
		ginkgo.Fail("see the outcome")
	case one.state.Is(types.SpecStateSkipped):
		ginkgo.Skip(one.reason)
	}
}

// walk runs in a lane what no other runs. The first of several begins with those that run in turn,
// of which the others run none.
func (e *executor) walk(ctx context.Context, lane int) {
	items := e.items
	if lane == 0 && len(e.lanes) > 1 {
		items = e.inTurnFirst()
	}
	for _, one := range items {
		if ctx.Err() == nil && (lane == 0 || !one.declared.InTurn) {
			e.run(ctx, lane, one)
		}
		one.pass()
	}
}

func (e *executor) inTurnFirst() []*item {
	inTurn := func(one *item) bool { return one.declared.InTurn }
	others := slices.DeleteFunc(slices.Clone(e.items), inTurn)
	return append(slices.DeleteFunc(slices.Clone(e.items), func(one *item) bool { return !inTurn(one) }), others...)
}

// claim has a lane run a check, if no other does.
func (e *executor) claim(lane int, one *item) Permission {
	one.claiming.Lock()
	defer one.claiming.Unlock()
	if one.taken {
		return Permission{}
	}
	environment, declared := e.lanes[lane][one.cell], one.declared
	scenario := environment.TogetherWith(declared)
	if declared.Scenario != nil {
		scenario = declared.Scenario.Name
	}
	allowed := e.host.Claim(lane, one.cell, Claim{Key: KeyOf(environment.Name(), declared.Name()), Scenario: scenario})
	one.taken = allowed.Run
	return allowed
}

// run claims a check and runs it in a lane.
func (e *executor) run(ctx context.Context, lane int, one *item) {
	allowed := e.claim(lane, one)
	if !allowed.Run {
		return // another one has it
	}
	environment, declared := e.lanes[lane][one.cell], one.declared
	began := time.Now()
	t := environment.Begin(ctx, declared)
	var panicked string
	one.state, panicked = attempt(t, func() {
		offer.PassGates(t)
		switch {
		case allowed.Ended:
			t.Inconclusive(allowed.Unresponsive, "see the beginning of the report, then run again")
		case allowed.Astray: // and which checks run beside one makes all the difference
			t.Inconclusive(allowed.Unresponsive, "fix the failure of transports.sse.clients first")
		case allowed.Unresponsive != "" && !judgesSilence(environment.Labels(declared)):
			t.Inconclusive(allowed.Unresponsive, unmuting[environment.Role])
		}
		declared.Body(t)
	})
	took := time.Since(began)
	one.reason = t.Outcome.Reason
	defer dieOfPanic()
	outcome, exchanges := session.End(t, one.state.Is(types.SpecStatePanicked))
	if ctx.Err() != nil {
		one.state = types.SpecStateInterrupted
		return
	}
	found := conclude(environment, declared, outcome, exchanges, took)
	found.Cell, found.State, found.Panic = one.cell, one.state, panicked
	e.host.Checked(lane, found)
}

// attempt runs the body of a check and tells how that ended; what the harness itself did wrong, it
// tells, too.
func attempt(t *check.T, body func()) (state types.SpecState, panicked string) {
	defer func() {
		if cause := recover(); cause != nil {
			state, panicked = types.SpecStatePanicked, fmt.Sprintf("%v\n%s", cause, debug.Stack())
		}
	}()
	t.Run(body)
	switch t.Outcome.Ending {
	case check.Failed:
		return types.SpecStateFailed, ""
	case check.Skipped, check.Inconclusion:
		return types.SpecStateSkipped, ""
	}
	return types.SpecStatePassed, ""
}

// dieOfPanic ends the process by a panic between checks: the parent reports it, with the check
// that is lost.
func dieOfPanic() {
	if cause := recover(); cause != nil {
		// What is cut is the beginning.
		_, _ = fmt.Fprintf(os.Stderr, "%s\npanic: %v\n", debug.Stack(), cause)
		os.Exit(2) //nolint:forbidigo // a worker is a process of its own
	}
}

// Choice tells whether to run a check in an environment.
type Choice func(*session.Environment, *check.Declaration) bool

// Perform runs the checks of a choice, of some keys (nil for all), as far as the host
// lets a lane of this process claim them. Each lane has its environments, by cell. A process
// does one at a time.
func Perform(lanes [][]*session.Environment, to Host, chosen Choice, only Selection, keys []string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := &executor{lanes: lanes, host: to, interrupt: cancel}
	e.declare(chosen, only, keys)
	e.order()
	var walking sync.WaitGroup
	for lane := range lanes {
		walking.Go(func() { e.walk(ctx, lane) })
	}
	suite, reporter := quiet()
	ginkgo.RunSpecs(discard{}, "mcpconform", suite, reporter)
	// Where it was interrupted, Ginkgo is done before the lanes.
	cancel()
	within(gracePeriod, walking.Wait)
	session.Finish(slices.Concat(lanes...)...)
}

// within waits for the end of some work, but not longer than so long.
func within(most time.Duration, work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// quiet keeps Ginkgo from writing anything: what it would say is in the
// reports, in our words.
func quiet() (types.SuiteConfig, types.ReporterConfig) {
	formatter.ColorableStdOut = io.Discard
	formatter.ColorableStdErr = io.Discard
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.GracePeriod = gracePeriod
	reporter.NoColor = true
	reporter.Succinct = true
	return suite, reporter
}

// conclude is what the parent is told of a check that has run.
func conclude(
	environment *session.Environment,
	declared *check.Declaration,
	outcome check.Outcome,
	exchanges [][]transcript.Event,
	took time.Duration,
) Checked {
	evidence.Point(&outcome, exchanges)
	return Checked{
		Group:        declared.Group,
		Text:         declared.Text,
		Requirements: environment.Applicable(declared.Requirements),
		Outcome:      outcome,
		Exchanges:    exchanges,
		Seconds:      took.Seconds(),
		Evidence:     evidence.Shows(exchanges, environment.Role),
		Unresponsive: outcome.Idle || took >= environment.Target.Reply && evidence.Unheard(exchanges, environment.Role),
	}
}

// discard takes the place of a testing.T: whether a suite failed is told by
// its results.
type discard struct{}

func (discard) Fail() {}
