package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
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

// host is the parent, as a worker sees it.
type host interface {
	// claim asks whether this worker is the one to run a check of a cell.
	claim(cell int, asked claim) permission
	// checked hands over what a check found.
	checked(checked)
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
	all      which = ""
	together which = "together" // those that run side by side
	inTurn   which = "in turn"  // those that run beside these, one after another
	alone    which = "alone"    // those that run when no other does
)

// has tells whether a check is one of them.
func (w which) has(declared *check.Declaration) bool {
	return w == all || declared.Alone == (w == alone) && declared.InTurn == (w == inTurn)
}

// executor gives checks to Ginkgo, and does what surrounds each of them.
type executor struct {
	environments []*session.Environment
	host         host
	claimed      *claimed // the check that runs, if it is ours; nil for none
}

// claimed is a check that runs on a cell.
type claimed struct {
	cell int
	*check.T
}

// declare hands the checks that match a filter to Ginkgo, those of all cells, and what
// surrounds each. Those of another cell need no other Describe: no two have one key.
func (e *executor) declare(filter string, only which) {
	globals.Reset()
	matches := matching(filter)
	for cell, environment := range e.environments {
		checks := suites.Checks(environment.Role)
		environment.Know(checks)
		for _, one := range checks {
			if !only.has(one) || !environment.Applies(one) ||
				!matches(func() []string { return environment.Labels(one) }) {
				continue
			}
			priority := ginkgo.SpecPriority(0)
			if one.Early() {
				priority = 1
			}
			place := types.CodeLocation{FileName: one.Place.File, LineNumber: one.Place.Line}
			ginkgo.It(keyOf(environment.Name(), one.Name()), place, priority, func(ctx ginkgo.SpecContext) {
				e.run(ctx, cell, one)
			})
		}
	}
	ginkgo.ReportAfterEach(e.after)
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

// run claims a check and runs it, and lets Ginkgo know how it ended.
func (e *executor) run(ctx context.Context, cell int, declared *check.Declaration) {
	environment := e.environments[cell]
	scenario := environment.TogetherWith(declared)
	if declared.Scenario != nil {
		scenario = declared.Scenario.Name
	}
	allowed := e.host.claim(cell, claim{
		Key: keyOf(environment.Name(), declared.Name()), Check: plan.CheckName(declared.Group, declared.Text),
		Text: declared.Text, Scenario: scenario,
	})
	if e.claimed = nil; !allowed.Run {
		return // another worker has it
	}
	t := environment.Begin(ctx, declared)
	e.claimed = &claimed{cell: cell, T: t}
	t.Run(func() {
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
	switch t.Outcome.Ending {
	case check.Failed:
		ginkgo.Fail("see the outcome")
	case check.Skipped, check.Inconclusion:
		ginkgo.Skip(t.Outcome.Reason)
	}
}

// unmuting says what to do about a target that leaves unanswered what it is asked.
var unmuting = map[string]string{
	protocol.ServerRole:              "fix the failures under lifecycle and ping first",
	protocol.AuthorizationServerRole: "make sure that the authorization server answers, then run again",
	protocol.ClientRole:              "make sure that the command does the steps of MCPCONFORM_STEPS, then run again",
}

func (e *executor) after(report types.SpecReport) {
	if e.claimed == nil {
		return
	}
	ran := *e.claimed
	e.claimed = nil
	defer dieOfPanic()
	outcome, exchanges := session.End(ran.T, report.Failed())
	if report.State.Is(types.SpecStateInterrupted | types.SpecStateAborted) {
		return
	}
	e.host.checked(conclude(e.environments[ran.cell], ran, report, outcome, exchanges))
}

// dieOfPanic ends the process by a panic that Ginkgo would keep to itself: the check would
// be lost, and nobody would know.
func dieOfPanic() {
	if cause := recover(); cause != nil {
		// What is cut is the beginning.
		_, _ = fmt.Fprintf(os.Stderr, "%s\npanic: %v\n", debug.Stack(), cause)
		os.Exit(2) //nolint:forbidigo // a worker is a process of its own
	}
}

// perform runs the checks that match the filter, as far as the host lets this
// process claim them.
func perform(environments []*session.Environment, to host, filter string, only which) {
	(&executor{environments: environments, host: to}).declare(filter, only)
	suite, reporter := quiet()
	ginkgo.RunSpecs(discard{}, "mcpconform", suite, reporter)
	session.Finish(environments...)
}

// quiet keeps Ginkgo from writing anything: what it would say is in the
// reports, in our words.
func quiet() (types.SuiteConfig, types.ReporterConfig) {
	formatter.ColorableStdOut = io.Discard
	formatter.ColorableStdErr = io.Discard
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.RandomSeed = 1 // every worker builds the same tree in the same order
	// Checks that wait stand together on a page: apart, they wait beside others
	// that do not.
	suite.RandomizeAllSpecs = true
	suite.GracePeriod = gracePeriod
	reporter.NoColor = true
	reporter.Succinct = true
	return suite, reporter
}

func conclude(
	environment *session.Environment,
	ran claimed,
	report types.SpecReport,
	outcome check.Outcome,
	exchanges [][]transcript.Event,
) checked {
	evidence.Point(&outcome, exchanges)
	result := checked{
		Cell:         ran.cell,
		Group:        ran.Declared.Group,
		Text:         ran.Declared.Text,
		Requirements: environment.Applicable(ran.Declared.Requirements),
		State:        report.State,
		Outcome:      outcome,
		Exchanges:    exchanges,
		Seconds:      report.RunTime.Seconds(),
		Evidence:     evidence.Shows(exchanges, environment.Role),
		Unresponsive: outcome.Idle ||
			report.RunTime >= environment.Target.Reply && evidence.Unheard(exchanges, environment.Role),
	}
	if report.State.Is(types.SpecStateTimedout) {
		result.Outcome.Doubtful = true
	}
	if report.State.Is(types.SpecStatePanicked) {
		result.Panic = report.Failure.Message + ": " + report.Failure.ForwardedPanic + "\n" + report.Failure.Location.FullStackTrace
	}
	return result
}

// discard takes the place of a testing.T: whether a suite failed is told by
// its results.
type discard struct{}

func (discard) Fail() {}

// note is one line that a worker writes.
type note struct {
	Claim      *claim            `json:",omitempty"`
	Checked    *checked          `json:",omitempty"`
	Cell       int               `json:",omitempty"`
	Connection *scope.Connection `json:",omitempty"`
	Process    *process          `json:",omitempty"` // that the connection had
	Drawn      *drawn            `json:",omitempty"`
	Finished   bool              `json:",omitempty"`
}

// permission is one line: the parent's answer to a claim.
type permission struct {
	Run          bool
	Unresponsive string `json:",omitempty"` // why it is no use to ask the target anything
	Astray       bool   `json:",omitempty"` // that is since another client gets the answers
	// Ended tells that the target went away: not even checks of silence have a use.
	Ended bool `json:",omitempty"`
}

// Work is the life of a worker process: it reads its plan from in, claims
// checks, and writes what it finds to out. When in ends before the work does,
// it stops its targets and returns.
func Work(in io.Reader, out io.Writer) error {
	reader := json.NewDecoder(in)
	reader.UseNumber() // what the target listed is kept as it came
	pipe := &pipe{allowed: make(chan permission), writer: json.NewEncoder(out)}
	var work workerPlan
	if err := reader.Decode(&work); err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	if work.Draft != nil {
		draft, err := schema.ReadDraft(bytes.NewReader(work.Draft))
		if err != nil {
			return fmt.Errorf("reading the schema of the draft: %w", err)
		}
		draft.Use()
	}
	pipe.events, pipe.exchanges, pipe.sockets = work.Events, work.Exchanges, work.Sockets
	pipe.process = scope.NewProcess(work.Name)
	confine(min(memoryAlone, share(work.Workers)))
	finished := make(chan struct{})
	go pipe.hear(reader, finished)
	defer pipe.removeSockets()
	environments := work.environments(pipe.process, transcript.NewMemoryBudget(budgetOf(work.Workers)), pipe.closed)
	if work.Explore != nil {
		pipe.explore(environments, *work.Explore, work.Suspects)
	} else {
		perform(environments, pipe, work.Filter, work.Only)
	}
	close(finished)
	pipe.write(note{Finished: true})
	return nil
}

// orphaned ends the work because the parent wants an end, or is gone: then nobody is
// there to kill a worker that does not come to one.
func (p *pipe) orphaned() {
	p.alone.Store(true)
	time.AfterFunc(killTimeout, func() {
		p.removeSockets()
		os.Exit(1) //nolint:forbidigo // a worker is a process of its own, and hangs
	})
	p.process.Hurry()
	interrupt()
}

// removeSockets does what the parent cannot do any more.
func (p *pipe) removeSockets() {
	if p.sockets != "" && p.alone.Load() {
		_ = os.RemoveAll(p.sockets) // others do the same
	}
}

// interrupt makes Ginkgo end the check that is running and skip the rest.
// Where a process cannot signal itself, the check runs to its end.
func interrupt() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(syscall.SIGTERM)
	}
}

// pipe speaks to the parent over standard input and output.
type pipe struct {
	events    bool
	exchanges bool
	process   *scope.Process
	sockets   string          // directory of those that a client's servers come to
	alone     atomic.Bool     // the parent is gone, or wants an end
	allowed   chan permission // closed when the parent is gone, or wants an end
	mu        sync.Mutex
	writer    *json.Encoder
}

// hear passes on what the parent says, and ends the work with it.
func (p *pipe) hear(reader *json.Decoder, finished <-chan struct{}) {
	defer close(p.allowed)
	for {
		var answer permission
		if err := reader.Decode(&answer); err != nil {
			select {
			case <-finished:
			default:
				p.orphaned()
			}
			return
		}
		select {
		case p.allowed <- answer:
		case <-finished:
			return
		}
	}
}

func (p *pipe) claim(cell int, asked claim) permission {
	p.write(note{Cell: cell, Claim: &asked})
	return <-p.allowed
}

func (p *pipe) checked(found checked) {
	found.shorten(p.exchanges)
	p.write(note{Checked: &found})
}

func (p *pipe) closed(cellIndex int, connection scope.Connection) {
	ended := processOf(connection.Cell.Role, connection.Events)
	if !p.events {
		connection.Events, connection.Facts = nil, rules.Facts{}
	}
	p.write(note{Cell: cellIndex, Connection: &connection, Process: ended})
}

// write sends a line. When the parent is gone there is nobody to tell.
func (p *pipe) write(line note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.writer.Encode(line)
}
