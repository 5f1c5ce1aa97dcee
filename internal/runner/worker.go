package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/schema"
	"github.com/mcpconform/mcpconform/suites"
)

// host is the parent, as a worker sees it. Lanes call it at once.
type host interface {
	// claim asks whether a lane is the one to run a check of a cell.
	claim(lane, cell int, asked claim) permission
	// checked hands over what a check found that the lane has claimed.
	checked(lane int, found checked)
	// closed hands over a connection that is closed and judged.
	closed(cellIndex int, connection scope.Connection)
}

// checked is one check that ran, or was skipped.
type checked struct {
	Cell         int
	Group        []string
	Text         string
	Requirements []string
	State        types.SpecState
	Panic        string // of the harness itself
	Outcome      check.Outcome
	Seconds      float64
	Exchanges    [][]transcript.Event
	Evidence     bool // the target sent something meanwhile
	Unresponsive bool // it left unanswered what it was asked, for as long as an answer may take
}

// shows tells whether a check that came to its end has seen what it judges.
func (c checked) shows() bool { return c.Evidence && c.Outcome.Observed > 0 }

// unexplained tells whether a check came to its end without that, and does not say itself why.
func (c checked) unexplained() bool {
	ended := c.Panic == "" && !c.Outcome.Unproven() && c.Outcome.Ending != check.Skipped
	return ended && c.State.Is(types.SpecStatePassed) && !c.shows()
}

// shorten leaves of what went over the wire what a report shows: nothing of a check that
// passed, unless all of them are to be shown.
func (c *checked) shorten(all bool) {
	if !all && c.State.Is(types.SpecStatePassed) && c.shows() {
		c.Exchanges = nil
	}
	c.Exchanges = evidence.Shorten(c.Exchanges, c.Outcome)
	if reply := c.Outcome.NoReply; reply != nil {
		short := *reply
		short.Exchange = evidence.Shorten([][]transcript.Event{reply.Exchange}, check.Outcome{Judged: reply.Place()})[0]
		c.Outcome.NoReply = &short
	}
}

// claim names a check that a worker wants to run.
type claim struct {
	Key      string // among all cells
	Check    string // [plan.CheckName]
	Text     string
	Scenario string `json:",omitempty"` // that it looks at, or its Together: one worker runs all of these on a cell
}

// keyOf names a check among all cells.
func keyOf(cellName, name string) string { return cellName + "\n" + name }

// which of the checks that a filter chooses a worker runs.
type which string

const (
	all    which = ""
	beside which = "beside" // those that run beside others; of them one lane runs those that run in turn
	alone  which = "alone"  // those that run when no other does
)

// has tells whether a check is one of them.
func (w which) has(declared *check.Declaration) bool {
	return w == all || declared.Alone == (w == alone)
}

// executor runs checks in lanes, one in each at a time: most of what a check does is to wait. To
// Ginkgo, which runs one spec after another, a check is a spec that waits for its lane.
type executor struct {
	lanes     [][]*session.Environment // what the checks of a lane see, by cell
	host      host
	items     []*item
	interrupt context.CancelFunc
}

// item is a check on a cell, which one of the lanes runs, or another worker.
type item struct {
	cell     int
	declared *check.Declaration
	taken    atomic.Bool     // by a lane
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
func (e *executor) declare(filter string, only which, keys []string) {
	globals.Reset()
	matches := matching(filter)
	for cell, environment := range e.lanes[0] {
		checks := suites.Checks(environment.Role)
		for _, lane := range e.lanes {
			lane[cell].Know(checks)
		}
		for _, one := range checks {
			key := keyOf(environment.Name(), one.Name())
			if !only.has(one) || !environment.Applies(one) || keys != nil && !slices.Contains(keys, key) ||
				!matches(func() []string { return environment.Labels(one) }) {
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
		if ctx.Err() == nil && !one.taken.Load() && (lane == 0 || !one.declared.InTurn) {
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

// matching tells whether a filter ("" for everything) chooses what has some labels, which are
// only made where there is one.
func matching(filter string) func(labels func() []string) bool {
	if filter == "" {
		return func(func() []string) bool { return true }
	}
	matches := types.MustParseLabelFilter(filter)
	return func(labels func() []string) bool { return matches(labels()) }
}

// run claims a check and runs it in a lane.
func (e *executor) run(ctx context.Context, lane int, one *item) {
	environment, declared := e.lanes[lane][one.cell], one.declared
	scenario := environment.TogetherWith(declared)
	if declared.Scenario != nil {
		scenario = declared.Scenario.Name
	}
	allowed := e.host.claim(lane, one.cell, claim{
		Key: keyOf(environment.Name(), declared.Name()), Check: plan.CheckName(declared.Group, declared.Text),
		Text: declared.Text, Scenario: scenario,
	})
	if !allowed.Run {
		return // another one has it
	}
	one.taken.Store(true)
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
	e.host.checked(lane, found)
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

// unmuting says what to do about a target that leaves unanswered what it is asked.
var unmuting = map[string]string{
	protocol.ServerRole:              "fix the failures under lifecycle and ping first",
	protocol.AuthorizationServerRole: "make sure that the authorization server answers, then run again",
	protocol.ClientRole:              "make sure that the command does the steps of MCPCONFORM_STEPS, then run again",
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

// perform runs the checks that match the filter, of some keys (nil for all), as far as the host
// lets a lane of this process claim them.
func perform(lanes [][]*session.Environment, to host, filter string, only which, keys []string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := &executor{lanes: lanes, host: to, interrupt: cancel}
	e.declare(filter, only, keys)
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
) checked {
	evidence.Point(&outcome, exchanges)
	return checked{
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

// note is one line that a worker writes.
type note struct {
	Lane       int               `json:",omitempty"`
	Claim      *claim            `json:",omitempty"`
	Checked    *checked          `json:",omitempty"`
	Cell       int               `json:",omitempty"`
	Connection *scope.Connection `json:",omitempty"`
	Process    *process          `json:",omitempty"` // that the connection had
	Drawn      *drawn            `json:",omitempty"`
	Finished   bool              `json:",omitempty"` // with its plan
}

// order is one line that the parent writes: a plan, or the answer to a claim.
type order struct {
	Plan       *workerPlan `json:",omitempty"`
	Lane       int         `json:",omitempty"`
	Permission *permission `json:",omitempty"`
}

// permission is the parent's answer to a claim.
type permission struct {
	Run          bool
	Unresponsive string `json:",omitempty"` // why it is no use to ask the target anything
	Astray       bool   `json:",omitempty"` // that is since another client gets the answers
	// Ended tells that the target went away: not even checks of silence have a use.
	Ended bool `json:",omitempty"`
}

// Work is the life of a worker process: it reads one plan after another from in, claims
// checks, and writes what it finds to out. When in ends before the work does,
// it stops its targets and returns.
func Work(in io.Reader, out io.Writer) error {
	pipe := &pipe{plans: make(chan workerPlan), gone: make(chan struct{}), writer: json.NewEncoder(out)}
	go pipe.hear(in)
	defer pipe.removeSockets()
	var before *workerPlan
	for work := range pipe.plans {
		if before != nil { // what does not change is told once
			work.Catalogue, work.Draft = before.Catalogue, nil
		}
		if err := pipe.do(work); err != nil {
			return err
		}
		before = &work
	}
	if before == nil {
		return fmt.Errorf("reading the plan: %w", pipe.failure)
	}
	return nil
}

// do does what a plan says.
func (p *pipe) do(work workerPlan) error {
	if work.Draft != nil {
		draft, err := schema.ReadDraft(bytes.NewReader(work.Draft))
		if err != nil {
			return fmt.Errorf("reading the schema of the draft: %w", err)
		}
		draft.Use()
	}
	p.events, p.exchanges = work.Events, work.Exchanges
	confine(min(memoryAlone, share(work.Workers)))
	var lanes [][]*session.Environment
	for _, process := range p.begin(work) {
		budget := transcript.NewMemoryBudget(budgetOf(work.Workers, work.lanes()))
		lanes = append(lanes, work.environments(process, budget, p.closed))
	}
	if work.Explore != nil {
		p.explore(lanes[0], *work.Explore, work.Suspects)
	} else {
		perform(lanes, p, work.Filter, work.Only, work.Keys)
	}
	p.mu.Lock()
	p.busy = false
	p.mu.Unlock()
	p.write(note{Finished: true})
	return nil
}

// pipe speaks to the parent over standard input and output.
type pipe struct {
	events    bool
	exchanges bool
	plans     chan workerPlan // closed when the parent is gone, or wants an end
	gone      chan struct{}   // closed then, too
	failure   error           // why nothing more is read
	writing   sync.Mutex
	writer    *json.Encoder

	mu        sync.Mutex // guards the following
	busy      bool       // with a plan
	alone     bool       // the parent is gone, or wants an end
	sockets   string     // directory of those that a client's servers come to
	processes []*scope.Process
	allowed   []chan permission // by lane
}

// begin makes what the lanes of a plan share, each for itself.
func (p *pipe) begin(work workerPlan) []*scope.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sockets, p.processes, p.allowed = work.Sockets, nil, nil
	for _, name := range work.Names {
		process := scope.NewProcess(name)
		if p.alone {
			process.Hurry()
		}
		p.processes = append(p.processes, process)
		p.allowed = append(p.allowed, make(chan permission, 1)) // to one question
	}
	return p.processes
}

// hear passes on what the parent says, and ends the work with it.
func (p *pipe) hear(in io.Reader) {
	defer close(p.plans)
	defer close(p.gone)
	reader := json.NewDecoder(in)
	reader.UseNumber() // what the target listed is kept as it came
	for {
		var told order
		if p.failure = reader.Decode(&told); p.failure != nil {
			p.orphaned()
			return
		}
		if told.Plan != nil {
			p.mu.Lock()
			p.busy = true
			p.mu.Unlock()
			p.plans <- *told.Plan
			continue
		}
		p.mu.Lock()
		to := p.allowed[told.Lane]
		p.mu.Unlock()
		to <- *told.Permission
	}
}

// orphaned ends the work, if there is any, because the parent wants an end, or is gone: then
// nothing else can kill a worker that does not come to one.
func (p *pipe) orphaned() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alone = true; !p.busy {
		return
	}
	time.AfterFunc(killTimeout, func() {
		p.removeSockets()
		os.Exit(1) //nolint:forbidigo // a worker is a process of its own, and hangs
	})
	for _, process := range p.processes {
		process.Hurry()
	}
	interrupt()
}

// removeSockets does what the parent cannot do any more.
func (p *pipe) removeSockets() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sockets != "" && p.alone {
		_ = os.RemoveAll(p.sockets) // others do the same
	}
}

// interrupt makes Ginkgo end what is running and skip the rest.
// Where a process cannot signal itself, the checks run to their end.
func interrupt() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(syscall.SIGTERM)
	}
}

func (p *pipe) claim(lane, cell int, asked claim) permission {
	p.mu.Lock()
	answer := p.allowed[lane]
	p.mu.Unlock()
	p.write(note{Lane: lane, Cell: cell, Claim: &asked})
	select {
	case allowed := <-answer:
		return allowed
	case <-p.gone:
		return permission{}
	}
}

func (p *pipe) checked(lane int, found checked) {
	found.shorten(p.exchanges)
	p.write(note{Lane: lane, Checked: &found})
}

func (p *pipe) closed(cellIndex int, connection scope.Connection) {
	ended := processOf(connection.Cell.Role, connection.Events)
	if !p.events {
		connection.Events, connection.Facts = nil, rules.Facts{}
	}
	p.write(note{Cell: cellIndex, Connection: &connection, Process: ended})
}

// write sends a line. When the parent is gone, it is lost.
func (p *pipe) write(line note) {
	p.writing.Lock()
	defer p.writing.Unlock()
	_ = p.writer.Encode(line)
}
