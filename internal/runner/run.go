package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/pool"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// Options say what to check and how.
type Options struct {
	Executable []string // this binary, for workers and the reference; default os.Executable

	Role       string         // that the target plays; default: server
	URL        string         // the target's endpoint, or
	Command    target.Command // the command that starts it, or neither: the embedded reference
	Transports []string       // default: what the target allows
	falls      bool           // the user named no transport for the URL: HTTP with SSE is tried, too
	Header     http.Header
	Access     *offer.Access // tokens for a server that asks for authorization; nil for none
	// Mint issues tokens of all kinds for a server, by the URL that they are for, from an
	// authorization server that it trusts. Nil for none.
	Mint func(resource string) (*offer.Access, error)
	// Registration is for the client of a target authorization server.
	Registration issuer.Registration
	// Network lets the harness contact all hosts that the target names, not only this machine
	// and the origin of the target.
	Network   bool
	Trusted   string // the issuer of those, which the embedded reference trusts; "" for none
	Revisions contact.Revise
	// Served is the process of the server at URL, where it was started for the run; else nil.
	Served *target.Process

	Filter  string
	Profile string // of [Profiles], beside the filter; "" for everything
	// Requirements are the only ones that the target is judged by, at the revision of the
	// set; nil for all.
	Requirements *catalogue.Set
	// Draft is what to say of a draft that the target is judged by, whose schema is in use in
	// this process, and DraftSchema its document, for the workers; nil for none.
	Draft          *reports.Draft
	DraftSchema    []byte
	Shard          shard.Shard // the checks that it is to run; zero for all
	provoke.Policy             // of the target's tools; default: provoke.CallReadOnly

	Workers    int           // lanes at most, in which checks run side by side; 0: as many as are of use
	Timeout    time.Duration // of one reply, the first one too; 0: 5 s, and longer for the first
	Deadline   time.Duration // of the run; 0: DefaultDeadline
	MaxMessage int           // bytes

	Tool        reports.Tool // what the report says of this program
	Transcripts string       // directory; "" for none
	folder      *os.Root     // that directory, opened before a target could make a link of it
	Exchanges   bool         // keep those of checks that pass, too
	Redactor    *reports.Redactor
	Progress    *reports.Progress                           // nil for none
	Found       func(*reports.Cell, *reports.Result)        // is told what a check found, perhaps several at once; it may be nil
	Rerun       func(cell check.Cell, filter string) string // the command that repeats a check

	// Explore is how many draws of legal inputs are made on each cell, from Seed on.
	Explore int
	Seed    uint64
	Redraw  func(cell check.Cell, seed uint64) string // the command that repeats a draw
}

const (
	defaultTimeout = 5 * time.Second
	// endTimeout is how long after its deadline, or a signal, a run goes on: two
	// seconds, less what writing the reports takes.
	endTimeout        = 1500 * time.Millisecond
	defaultMaxMessage = 16 << 20 // each worker may hold one: together they stay within 256 MiB
	// DefaultDeadline ends a run that hangs, with its reports, before CI does so
	// without: most give a job an hour. A slow target needs a quarter of it, with
	// each reply of 1000 checks in four workers taking as long as one may.
	DefaultDeadline = 30 * time.Minute
)

func (o *Options) defaults() error {
	if o.Executable == nil {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		o.Executable = []string{self}
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.Calls == "" {
		o.Calls = provoke.CallReadOnly
	}
	if o.Role == "" {
		o.Role = protocol.ServerRole
	}
	if len(o.Transports) == 0 {
		o.Transports = o.allowedTransports()
		o.falls = o.URL != "" && o.Role == protocol.ServerRole
	}
	return nil
}

// openFolder opens the directory of transcripts, which may be a new one.
func openFolder(path string) (*os.Root, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("--transcripts: %w", err)
	}
	folder, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("--transcripts: %w", err)
	}
	return folder, nil
}

func (o *Options) allowedTransports() []string {
	switch {
	case o.URL != "", o.Role == protocol.AuthorizationServerRole,
		o.Role == protocol.ClientRole && len(o.Command.Args) > 0 && !scenario.TakesServer(o.Command.Args):
		return []string{protocol.HTTP}
	case len(o.Command.Args) > 0:
		return []string{protocol.Stdio}
	}
	return []string{protocol.Stdio, protocol.HTTP}
}

// errInterrupted is the cause of a context that a signal cancelled.
var errInterrupted = errors.New("interrupt")

// Interrupted is the cause to cancel a run's context with when the user wants
// it to stop; what was done until then is reported.
func Interrupted() error { return errInterrupted }

// Run checks a target. A run that was interrupted, or reached its deadline, is over
// within two seconds, even if the target or a worker hangs, and returns what was done.
//
// The report is nil when the options are wrong. Beside one without results the error
// is a *contact.TargetError when the target could not be started or reached, and a
// *plan.FilterError; anything else is a failure of the harness.
func Run(ctx context.Context, options Options) (*reports.Run, error) {
	if err := options.defaults(); err != nil {
		return nil, err
	}
	if options.Transcripts != "" {
		folder, err := openFolder(options.Transcripts)
		if err != nil {
			return nil, err
		}
		options.folder = folder
		defer func() { _ = folder.Close() }() // it only leads there
	}
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		options.Deadline,
		fmt.Errorf("deadline of %s reached", options.Deadline),
	)
	defer cancel()
	started := time.Now()
	memory.Confine(memory.Alone)
	r := newRun(options, started)
	ended, err := inTime(ctx, endTimeout, func() error { return r.toItsEnd(ctx) })
	if !ended && !r.abandon() {
		r = newRun(options, started) // the other one is still making first contact
		if !errors.Is(context.Cause(ctx), errInterrupted) {
			err = &contact.TargetError{Reason: "first contact was not finished; " + context.Cause(ctx).Error()}
		}
	}
	r.merge()
	if ctx.Err() != nil {
		r.report.Interrupted = context.Cause(ctx).Error()
	}
	r.report.Duration = reports.SecondsOf(time.Since(started))
	return r.report, err
}

func newRun(options Options, started time.Time) *run {
	return &run{
		process: scope.NewProcess(""),
		load:    sync.OnceValues(func() (*catalogue.Catalogue, error) { return requirementsFor(options) }),
		collector: collector{options: options, report: &reports.Run{
			Format: reports.Format, Tool: options.Tool, Started: started, Host: hostname(),
			Target:       reports.Target{Role: options.Role, URL: options.URL, Command: options.Command.Args},
			Requirements: nameOf(options.Requirements), Draft: options.Draft,
		}},
	}
}

// requirementsFor loads the catalogue, kept to the set that a run is for.
func requirementsFor(options Options) (*catalogue.Catalogue, error) {
	requirements, err := suites.Catalogue()
	if err != nil || options.Requirements == nil {
		return requirements, err
	}
	return requirements.Only(options.Requirements, options.Role), nil
}

// nameOf is the name of a set; "" for none.
func nameOf(set *catalogue.Set) string {
	if set == nil {
		return ""
	}
	return set.Name()
}

// inTime waits for the end of some work, but not longer than for a while after the
// context has ended.
func inTime(ctx context.Context, while time.Duration, work func() error) (ended bool, err error) {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return true, err
	case <-ctx.Done():
	}
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case err := <-done:
		return true, err
	case <-timer.C:
		return false, nil
	}
}

// toItsEnd makes first contact and runs the checks.
func (r *run) toItsEnd(ctx context.Context) error {
	defer r.removeSockets()
	go func() { _, _ = r.load() }() // it takes as long as first contact
	r.phase(r.meeting())
	err := r.readFilter()
	if err == nil {
		err = r.prepare(ctx)
	}
	switch {
	case err == nil:
		r.mu.Lock()
		r.prepared = true
		r.mu.Unlock()
		err = r.check(ctx)
	case errors.Is(context.Cause(ctx), errInterrupted):
		err = nil // nothing was done until then: that is reported
		fallthrough
	default:
		r.cells = nil
	}
	r.closing.Wait()
	r.stopReference(ctx)
	return err
}

// abandon keeps further findings out of a run that Run no longer waits for. It reports false
// when it has not even begun to check anything.
func (r *run) abandon() bool {
	defer r.removeSockets()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
	return r.prepared
}

func (r *run) removeSockets() {
	if r.plan.Sockets != "" {
		_ = os.RemoveAll(r.plan.Sockets) // what stays behind is empty
	}
}

// run is the state of one run in the parent.
type run struct {
	collector

	process   *scope.Process
	load      func() (*catalogue.Catalogue, error) // once
	opened    []opened                             // connections of the first contact that belong to cells
	closing   sync.WaitGroup                       // connections of the first contact that are ending
	budget    *transcript.MemoryBudget
	prepared  bool // there are cells; guarded by mu
	plan      worker.Plan
	planned   []*session.Environment // by cell of the plan
	others    map[string]bool        // checks that other shards run, by key
	reference *reference
}

// prepare starts the embedded reference if there is no other target, makes
// first contact and plans the cells.
func (r *run) prepare(ctx context.Context) error {
	r.budget = transcript.NewMemoryBudget(memory.BudgetAlone)
	r.plan = worker.Plan{
		Workers: 1, Policy: r.options.Policy, Events: r.options.Transcripts != "", Exchanges: r.options.Exchanges,
		Network: r.options.Network, Draft: r.options.DraftSchema,
	}
	err := r.meet(ctx)
	if err == nil {
		err = r.declare()
	}
	if err == nil {
		r.phase("calling tools to see what they provoke")
		r.tryTools(ctx)
	}
	for _, one := range r.opened {
		r.closing.Go(func() {
			if err != nil {
				one.connection.Close(ctx)
			} else {
				r.state(one.cell).environment.JudgeConnection(ctx, one.connection)
			}
		})
	}
	return err
}

// declare finds out which checks there are for the cells, and that their declarations hold.
func (r *run) declare() error {
	requirements, err := r.load()
	if err != nil {
		return err
	}
	r.catalogue, r.plan.Catalogue = requirements, requirements
	if len(r.plan.Cells) == 0 {
		return nil
	}
	environments := r.plan.Environments(r.process, r.budget, r.closed)
	r.planned = environments
	for _, state := range r.cells {
		if state.planned >= 0 {
			state.environment = environments[state.planned]
			state.rules, state.otherTransport = state.environment.ApplicableRules()
			state.all = len(state.rules) + len(state.otherTransport)
		}
	}
	declared := plan.At(environments)
	filter, err := r.filterChecks(declared)
	if err != nil {
		return err
	}
	r.plan.Filter = filter
	matches := worker.Matching(filter)
	for _, check := range declared {
		r.state(check.Cell).all++
		if matches(func() []string { return check.Labels }) {
			r.declared = append(r.declared, check)
		}
	}
	r.share()
	for _, check := range r.declared {
		r.state(check.Cell).total++
	}
	return nil
}

// check has workers run the checks, and the draws.
func (r *run) check(ctx context.Context) error {
	if len(r.plan.Cells) == 0 || ctx.Err() != nil {
		return nil
	}
	r.announce()
	r.makeRoom()
	memory.Confine(memory.OfRun)
	r.phase("starting workers")
	defer r.phase("judging by rules")
	return pool.Check(ctx, r.job(), r)
}

// recall has the checks judge what was recorded.
func (r *run) recall(ctx context.Context) error {
	if len(r.plan.Cells) == 0 || ctx.Err() != nil {
		return nil
	}
	return pool.Recall(ctx, r.job(), r)
}

// job is what workers are to do.
func (r *run) job() pool.Job {
	return pool.Job{
		Plan: r.plan, Role: r.options.Role, Checks: r.declared, Others: r.others, Command: r.itself(worker.Command),
		Lanes: r.options.Workers, Draws: r.options.Explore, Seed: r.options.Seed, Shard: r.options.Shard,
	}
}

// makeRoom leaves the memory to the checks.
func (r *run) makeRoom() {
	if contact.Heavy(r.budget) {
		r.closing.Wait()
		debug.FreeOSMemory()
	}
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
