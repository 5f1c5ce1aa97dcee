// Package runner is a run, from first contact to the report: it plans the checks, has a pool of workers
// run them, and merges what they find into a reports.Run. It judges recordings in the same way.
package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

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
		if !errors.Is(context.Cause(ctx), program.ErrInterrupted) {
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

// toItsEnd makes first contact, plans the checks, and has workers run them.
func (r *run) toItsEnd(ctx context.Context) error {
	defer r.removeSockets()
	go func() { _, _ = r.load() }() // it takes as long as first contact
	r.phase(r.meeting())
	err := r.readFilter()
	if err == nil {
		r.prepare()
		err = r.meet(ctx)
	}
	if err == nil {
		err = r.declare()
	}
	if err == nil {
		r.tryTools(ctx)
	}
	r.leave(ctx, err == nil)
	switch {
	case err == nil:
		r.mu.Lock()
		r.prepared = true
		r.mu.Unlock()
		err = r.check(ctx)
	case errors.Is(context.Cause(ctx), program.ErrInterrupted):
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

// prepare says what all workers are told.
func (r *run) prepare() {
	r.budget = transcript.NewMemoryBudget(memory.BudgetAlone)
	r.plan = worker.Plan{
		Workers: 1, Policy: r.options.Policy, Events: r.options.Transcripts != "", Exchanges: r.options.Exchanges,
		Network: r.options.Network, Draft: r.options.DraftSchema,
	}
}

// leave ends the connections of first contact, meanwhile: they are judged where there are cells to
// check.
func (r *run) leave(ctx context.Context, judged bool) {
	for _, one := range r.opened {
		r.closing.Go(func() {
			if judged {
				r.state(one.cell).environment.JudgeConnection(ctx, one.connection)
			} else {
				one.connection.Close(ctx)
			}
		})
	}
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
