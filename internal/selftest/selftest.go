// Package selftest proves the checks: it lays every fault and every variation
// over the wire of a good target, and demands that each check and rule fails for
// exactly the defects that it is there to find.
package selftest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/reports"
)

// Options say what to prove and how.
type Options struct {
	Executable []string      // this binary, for workers; default os.Executable
	Filter     string        // Ginkgo label expression over faults and checks
	Workers    int           // 0: three times the processors
	Timeout    time.Duration // of one reply; 0: defaultTimeout
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

func (p Peer) given() bool { return p.URL != "" || len(p.Command.Args) > 0 }

const (
	// workersPerCPU: checks wait for a good part of their time.
	workersPerCPU = 3
	// defaultTimeout is far more than a reply of the reference takes on a machine
	// that is four times slower and busy. What seems wrong after a wait is tried
	// again with more patience.
	defaultTimeout = time.Second
	// patience is how many times longer replies may take then.
	patience = 5
)

// DeclarationError says what is wrong with faults and variations before anything
// is run.
type DeclarationError struct{ Problems error }

func (e *DeclarationError) Error() string { return e.Problems.Error() }

func (o *Options) defaults() error {
	if o.Executable == nil {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		o.Executable = []string{self}
	}
	if o.Workers == 0 {
		o.Workers = workersPerCPU * runtime.NumCPU()
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	return nil
}

// Run proves the checks. The error is a *DeclarationError, a *runner.FilterError
// or a failure of the harness.
func Run(ctx context.Context, options Options) (*reports.Selftest, error) {
	if err := options.defaults(); err != nil {
		return nil, err
	}
	began := time.Now()
	t := &test{options: options, bases: map[conform.Leg]*base{}}
	if err := t.declare(); err != nil {
		return nil, err
	}
	t.report = &reports.Selftest{
		Format: reports.SelftestFormat, Tool: options.Tool, Started: began, Filter: options.Filter, Workers: options.Workers,
		Target: reports.Target{Role: reports.RoleServer, URL: options.Peer.URL, Command: options.Peer.Command.Args},
		Pages:  catalogue.Pages,
	}
	directory, err := os.MkdirTemp("", "mcpconform-selftest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(directory) }() // what stays behind is small
	t.crew = newCrew(options.Workers, setup{
		Executable: options.Executable, Catalogue: t.requirements, Peer: options.Peer, Directory: directory,
	})
	defer t.crew.dismiss()
	if t.runBases(ctx) {
		t.runTrials(ctx)
	}
	t.conclude()
	if ctx.Err() != nil {
		t.report.Interrupted = context.Cause(ctx).Error()
	}
	t.report.Duration = reports.SecondsOf(time.Since(began))
	return t.report, nil
}

// test is the state of one selftest in the parent.
type test struct {
	options Options
	declarations
	matches types.LabelFilter // nil for all
	layers  []layer
	bases   map[conform.Leg]*base
	judgement
	crew   *crew
	report *reports.Selftest
}

// declare reads what there is to prove, and with what.
func (t *test) declare() error {
	revisions := server.Revisions()
	checks, requirements, err := runner.All(conform.ServerRole, revisions)
	if err != nil {
		return err
	}
	t.declarations = declarations{requirements: requirements, checks: checks, revisions: revisions, switches: server.Defects()}
	t.judgement = newJudgement(checks, t.options.Peer.given())
	if t.layers, err = readLayers(fixtures.Wire); err == nil {
		err = t.declarations.declare(t.layers)
	}
	if err != nil {
		return &DeclarationError{Problems: err}
	}
	return t.filter()
}

func (t *test) filter() error {
	filter := t.options.Filter
	if filter == "" {
		return nil
	}
	matches, err := types.ParseLabelFilter(filter)
	if err != nil {
		return &runner.FilterError{Reason: fmt.Sprintf("--filter %q cannot be read: %s", filter, strings.Join(strings.Fields(err.Error()), " "))}
	}
	t.matches = matches
	var labels []string
	for _, one := range t.layers {
		labels = append(labels, one.labels...)
	}
	known := len(t.layers)
	t.layers = slices.DeleteFunc(t.layers, func(one layer) bool { return !matches(one.labels) })
	if len(t.layers) > 0 || known == 0 {
		return nil
	}
	for _, revision := range t.revisions {
		for _, check := range t.checks[revision] {
			if matches(check.Labels) {
				return nil // it is not proven by anything, which is told
			}
			labels = append(labels, check.Labels...)
		}
	}
	mend := ""
	if meant := nearest.Word(filter, labels); meant != "" {
		mend = fmt.Sprintf(", did you mean %q?", meant)
	}
	return &runner.FilterError{Reason: fmt.Sprintf("--filter %q matches no fault, variation or check%s", filter, mend)}
}

// runBases runs the legs without anything laid over them, and tells whether
// trials can be judged by them.
func (t *test) runBases(ctx context.Context) bool {
	watched := map[conform.Leg][]string{}
	for _, one := range t.layers {
		t.bases[one.leg] = &base{
			leg: one.leg, found: map[string]finding{}, touched: map[string]map[string]bool{}, met: map[string]bool{},
		}
		watched[one.leg] = append(watched[one.leg], one.ID)
	}
	legs := t.legs()
	var jobs []job
	parts := max(1, t.options.Workers/max(1, len(legs)))
	for _, leg := range legs {
		jobs = append(jobs, t.bases[leg].jobs(watched[leg], parts, patience*t.options.Timeout)...)
	}
	var taking sync.Mutex
	t.crew.do(ctx, jobs, func(n int, part done) {
		taking.Lock()
		defer taking.Unlock()
		t.bases[jobs[n].Leg].take(part)
		for _, text := range part.Errors {
			t.report.Errors = append(t.report.Errors, "without a fault, "+jobs[n].Leg.Name()+": "+text)
		}
	})
	for _, leg := range legs {
		t.report.Legs = append(t.report.Legs, t.describe(t.bases[leg]))
	}
	return len(t.report.Errors) == 0 && ctx.Err() == nil && (t.peer || t.report.Holds())
}

// legs that something is laid over, in a fixed order.
func (t *test) legs() []conform.Leg {
	var legs []conform.Leg
	for leg := range t.bases {
		legs = append(legs, leg)
	}
	slices.SortFunc(legs, func(a, b conform.Leg) int { return strings.Compare(a.Name(), b.Name()) })
	return legs
}

func (t *test) describe(b *base) reports.SelftestLeg {
	leg := reports.SelftestLeg{Role: b.leg.Role, Revision: b.leg.Revision, Transport: b.leg.Transport}
	for check, found := range b.found {
		switch {
		case found.Verdict == reports.Passed:
			leg.Passed++
		case found.red(), found.Verdict == reports.Inconclusive && !t.peer:
			leg.Red = append(leg.Red, reports.Effect{
				Check: check, Kind: found.Kind, Requirements: t.judgement.verified[check],
				Verdict: found.Verdict, Reason: found.Reason, Failures: found.Failures, Exchange: found.Exchange,
			})
		}
	}
	slices.SortFunc(leg.Red, func(a, b reports.Effect) int { return strings.Compare(a.Check, b.Check) })
	return leg
}

// runTrials lays everything over the wire, and again with more patience what
// may have gone wrong for the lack of it.
func (t *test) runTrials(ctx context.Context) {
	trials := make([]trial, len(t.layers))
	for i, one := range t.layers {
		trials[i] = planTrial(one, t.bases[one.leg], t.checks[one.leg.Revision])
	}
	order(trials, t.options.Timeout)
	split(trials, t.options.Workers, t.options.Timeout)
	doubtful := t.try(ctx, trials, t.options.Timeout, true)
	t.try(ctx, doubtful, patience*t.options.Timeout, false)
}

// progressName is what is counted in the progress.
const progressName = "selftest"

// try runs trials. It returns those that are in doubt, if there may be any.
func (t *test) try(ctx context.Context, trials []trial, reply time.Duration, doubts bool) []trial {
	if t.options.Progress != nil && doubts {
		t.options.Progress.Leg(progressName, len(trials))
	}
	var jobs []job
	var of []int // trial of a job
	outcomes := make([]outcome, len(trials))
	left := make([]int, len(trials))
	var again []trial
	var taking sync.Mutex
	conclude := func(i int) {
		said := t.judge(trials[i], outcomes[i])
		if doubts && doubtful(said, outcomes[i], reply.Seconds()) {
			again = append(again, trials[i])
			return
		}
		t.report.Trials = append(t.report.Trials, said)
		if t.options.Progress != nil {
			verdict := reports.Passed
			if len(said.Problems) > 0 {
				verdict = reports.Failed
			}
			t.options.Progress.Done(progressName, said.ID, verdict)
		}
	}
	for i, one := range trials {
		if !one.meets() || t.peer && one.Switch != "" {
			conclude(i)
			continue
		}
		for _, part := range one.jobs(reply) {
			jobs, of = append(jobs, part), append(of, i)
			left[i]++
		}
	}
	t.crew.do(ctx, jobs, func(n int, part done) {
		taking.Lock()
		defer taking.Unlock()
		outcomes[of[n]].take(part)
		if left[of[n]]--; left[of[n]] == 0 {
			conclude(of[n])
		}
	})
	return again
}

// conclude says what is proven.
func (t *test) conclude() {
	place := map[string]int{} // as they are written
	for i, one := range t.layers {
		place[one.ID] = i
	}
	slices.SortFunc(t.report.Trials, func(a, b reports.Trial) int { return place[a.ID] - place[b.ID] })
	t.report.Proofs = t.proofs(t.matches, t.report.Trials, t.peer)
}
