// Package selftest proves the checks: it injects every fault and every variation
// over the wire of a good target, and demands that each check and rule fails for
// exactly the defects that it is there to find.
package selftest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reports"
)

// Options say what to prove and how.
type Options struct {
	Executable []string      // this binary, for workers; default os.Executable
	Role       string        // of the target; "" for both, or the server when it is a peer
	Filter     string        // over faults and checks, in the language of package filter; "" for all
	All        bool          // run every check that a fault touches, not a sample of those of other requirements
	Shard      shard.Shard   // the trials that it is to run; zero for all
	Workers    int           // 0: eight times the processors, and one for the URL of a peer
	Timeout    time.Duration // of one reply; 0: defaultTimeout
	Deadline   time.Duration // of all; 0: DefaultDeadline
	Peer       Peer          // instead of the reference
	Tool       reports.Tool
	Progress   *reports.Progress // nil for none
}

// Peer is an implementation that others wrote; the zero value means the
// reference.
type Peer struct {
	URL     string
	Command target.Command
}

func (p Peer) given() bool { return p.transport() != "" }

// transport over which a peer is reached; "" for the reference, which speaks all.
func (p Peer) transport() string {
	switch {
	case p.URL != "":
		return protocol.HTTP
	case len(p.Command.Args) > 0:
		return protocol.Stdio
	}
	return ""
}

const (
	// workersPerCPU: checks wait for most of their time.
	workersPerCPU = 8
	// defaultTimeout is far more than a reply of the reference takes on a machine
	// that is four times slower and busy. What seems wrong after a wait is tried
	// again with more patience.
	defaultTimeout = time.Second
	// patience is how many times longer replies may take then.
	patience = 5
	// DefaultDeadline ends a selftest that hangs, with its report. Every fault injected
	// over one server behind a URL, one after the other, takes most of an hour.
	DefaultDeadline = 2 * time.Hour
)

// DeclarationError says what is wrong with faults and variations before anything
// is run.
type DeclarationError struct{ Problems error }

func (e *DeclarationError) Error() string { return e.Problems.Error() }

func (o *Options) defaults() error {
	if o.Executable == nil {
		self, err := program.Itself()
		if err != nil {
			return err
		}
		o.Executable = self
	}
	switch {
	case o.Workers == 0 && o.Peer.URL != "":
		o.Workers = 1 // what one session changes may reach all others
	case o.Workers == 0:
		o.Workers = workersPerCPU * runtime.NumCPU()
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	return nil
}

// Run proves the checks. The error is a *DeclarationError, a *plan.FilterError
// or a failure of the harness.
func Run(ctx context.Context, options Options) (*reports.Selftest, error) {
	if err := options.defaults(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		options.Deadline,
		fmt.Errorf("deadline of %s reached", options.Deadline),
	)
	defer cancel()
	began := time.Now()
	t := &test{options: options, bases: map[check.Cell]*base{}}
	if err := t.declare(); err != nil {
		return nil, err
	}
	shard := t.share()
	t.report = &reports.Selftest{
		Format: reports.SelftestFormat, Tool: options.Tool, Started: began,
		Role: options.Role, Filter: options.Filter, Shard: shard, Workers: options.Workers,
		Target: reports.Target{Role: options.roles()[0], URL: options.Peer.URL, Command: options.Peer.Command.Args},
		Pages:  catalogue.Pages,
	}
	directory, err := os.MkdirTemp("", "mcpconform-selftest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(directory) }() // what stays behind is small
	t.pool = newPool(options.Workers, setup{
		Executable: options.Executable, Catalogue: t.requirements, Peer: options.Peer, Directory: directory,
	})
	defer func() { t.pool.dismiss(ctx) }()
	if t.runBases(ctx) {
		t.runTrials(ctx)
	}
	if ctx.Err() != nil {
		t.report.Interrupted = context.Cause(ctx).Error()
	}
	t.report.Duration = reports.SecondsOf(time.Since(began))
	return t.report, nil
}

// roles of the targets. Those that others wrote are servers.
func (o Options) roles() []string {
	switch {
	case o.Role != "":
		return []string{o.Role}
	case o.Peer.given():
		return []string{protocol.ServerRole}
	}
	return protocol.Roles()
}

// test is the state of one selftest in the parent.
type test struct {
	options Options
	declarations
	matches types.LabelFilter // nil for all
	layers  []layer
	bases   map[check.Cell]*base
	judgement
	pool   *pool
	report *reports.Selftest
}

// declare reads what there is to prove, and with what.
func (t *test) declare() error {
	known, err := declarationsOf(t.options.roles())
	if err != nil {
		return err
	}
	known.only = t.options.Peer.transport()
	t.declarations = known
	t.judgement = newJudgement(t.checks, t.options.Peer.given())
	if t.layers, err = readLayers(fixtures.Wire); err != nil {
		return &DeclarationError{Problems: err}
	}
	t.layers = slices.DeleteFunc(t.layers, func(one layer) bool { return !slices.Contains(t.roles, one.role()) })
	t.layers = t.declarations.declare(t.layers)
	if err := t.filter(); err != nil {
		return err
	}
	if err := problems(t.layers); err != nil {
		return &DeclarationError{Problems: err}
	}
	return nil
}

func (t *test) filter() error {
	text := t.options.Filter
	if text == "" {
		return nil
	}
	chosen, err := filter.Parse(text)
	if err != nil {
		return &plan.FilterError{Reason: fmt.Sprintf("--filter %q cannot be read: %s", text, err)}
	}
	t.matches = chosen.Matches
	var labels []string
	for _, one := range t.layers {
		labels = append(labels, one.labels...)
	}
	verified := map[side][]string{} // by the checks that match
	for _, one := range t.sides() {
		for _, check := range t.checks[one] {
			labels = append(labels, check.Labels...)
			if chosen.Matches(check.Labels) {
				verified[one] = append(verified[one], check.Requirements...)
			}
		}
	}
	known := len(t.layers)
	t.layers = slices.DeleteFunc(t.layers, func(one layer) bool {
		proves := one.kind == reports.KindFault && verifies(one.Breaks, verified[sideOf(one.cell)])
		return !proves && !chosen.Matches(one.labels)
	})
	if len(t.layers) > 0 || len(verified) > 0 || known == 0 {
		return nil
	}
	mend := ""
	if _, meant := chosen.Unknown(labels); meant != "" {
		mend = fmt.Sprintf(", did you mean %q?", meant)
	}
	return &plan.FilterError{Reason: fmt.Sprintf("--filter %q matches no fault, variation or check%s", text, mend)}
}
