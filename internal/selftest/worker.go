package selftest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/reports"
)

// WorkerCommand is the hidden subcommand that makes this binary a worker of a
// selftest.
const WorkerCommand = "selftest-worker"

// setup is what a worker needs to know of all jobs, as JSON on its standard
// input.
type setup struct {
	Executable []string
	Catalogue  *catalogue.Catalogue
	Peer       Peer
	Directory  string // for what is told from process to process
}

// job is one run of a cell, or of a part of its checks, as JSON on a worker's
// standard input.
type job struct {
	Number  int
	Cell    check.Cell
	Inject  []string       // ids of what is injected into the traffic
	Watch   []string       // ids of what is only looked for
	Known   *survey.Survey // of the cell without anything injected into it
	Contact bool           // first contact is made anew
	Checks  []string       // to run; nil for all
	Asked   questions      // by check: it is run, too, if the survey answers one otherwise
	Part    int            // of the checks, from 0
	Parts   int
	Reply   time.Duration // how long one reply may take
}

// questions are what checks want to know of a survey, by check.
type questions map[string][]survey.Question

// done is what a worker says of a job, as JSON on its standard output.
type done struct {
	Findings []finding
	Survey   *survey.Survey
	Met      map[string][]string // by check, by scenario of a client, or "" for first contact: what matched meanwhile
	Asked    questions
	Matched  []string // of what was injected
	Note     string   // why a peer could not be run on this cell
	Seconds  float64
	Errors   []string // of the harness: the job is worth nothing
}

// finding is what a check or rule found.
type finding struct {
	Check    string
	Kind     string
	Verdict  reports.Verdict
	Reason   string            `json:",omitempty"`
	Failures []reports.Failure `json:",omitempty"`
	Exchange []reports.Step    `json:",omitempty"` // of what nothing allows to fail
	Seconds  float64           `json:",omitempty"`

	Unexplained bool `json:",omitempty"` // it has seen nothing, and does not say itself why
}

func (f finding) red() bool { return f.Verdict == reports.Failed || f.Verdict == reports.Warned }

// Work is the life of a worker: it does the jobs that come in, one after the
// other, and writes what it finds to out. When in ends, it stops.
func Work(in io.Reader, out io.Writer) error {
	reader, writer := json.NewDecoder(in), json.NewEncoder(out)
	reader.UseNumber() // what a peer listed is kept as it came
	var work setup
	if err := reader.Decode(&work); err != nil {
		return fmt.Errorf("reading the setup: %w", err)
	}
	if work.Directory != "" { // a parent that is killed cannot do it
		defer func() { _ = os.RemoveAll(work.Directory) }()
	}
	layers, err := readLayers(fixtures.Wire)
	if err != nil {
		return err
	}
	w := &worker{setup: work, rules: runner.SuiteRules(), layers: map[string]*fault.Fault{}}
	for _, one := range layers {
		w.layers[one.ID] = one.Fault
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for {
			var next job
			if err := reader.Decode(&next); err != nil {
				//nolint:forbidigo // the parent process may be gone, and cannot end this one
				time.AfterFunc(stopTimeout, func() { os.Exit(1) })
				cancel(errors.New("the selftest is over"))
				return
			}
			jobs <- next
		}
	}()
	for next := range jobs {
		if err := writer.Encode(w.do(ctx, next)); err != nil {
			return fmt.Errorf("telling what was found: %w", err)
		}
	}
	return nil
}

type worker struct {
	setup
	rules  []rules.Rule
	layers map[string]*fault.Fault
}

// do runs a job.
func (w *worker) do(ctx context.Context, next job) (said done) {
	begun := time.Now()
	defer func() { said.Seconds = time.Since(begun).Seconds() }()
	said.Met = map[string][]string{}
	watch := &watch{}
	turn := ""
	flush := func() {
		if met := watch.take(); len(met) > 0 {
			said.Met[turn] = append(said.Met[turn], met...)
		}
	}
	to, err := w.testbed(next, watch)
	if err != nil {
		said.Errors = append(said.Errors, err.Error())
		return said
	}
	defer to.close()
	watch.file = to.matched
	examination := runner.Examination{
		Cell:         next.Cell,
		Target:       to.target,
		Access:       to.access,
		Registration: to.registration,
		Catalogue:    w.Catalogue,
		Rules:        w.rules,
		Known:        next.Known,
		Contact:      next.Contact,
		Wants:        next.wants(),
	}
	if next.Cell.Role == protocol.ClientRole {
		live, recorded := to.injection.Parted()
		examination.Launch = func(ctx context.Context, invocation scenario.Invocation) (scenario.Exit, error) {
			turn = invocation.Scenario
			defer flush()
			return launch(ctx, invocation, live)
		}
		examination.Alter = func(recording *scenario.Recording) {
			defer flush()
			alter(recording, recorded)
		}
	} else if len(next.Watch) > 0 {
		examination.Turn = func(check string) {
			flush()
			turn = check
		}
		said.Asked = questions{}
		examination.Asked = func(question survey.Question) {
			if !slices.Contains(said.Asked[turn], question) {
				said.Asked[turn] = append(said.Asked[turn], question)
			}
		}
	}
	found, err := runner.Examine(ctx, examination)
	flush()
	for _, met := range said.Met {
		said.Matched = append(said.Matched, met...)
	}
	if unspoken, failed := errors.AsType[*contact.TargetError](err); failed && w.Peer.given() {
		said.Note = unspoken.Reason
		return said
	}
	if err != nil {
		said.Errors = append(said.Errors, err.Error())
		return said
	}
	if len(next.Watch) == 0 {
		said.Met = nil
	}
	said.Survey, said.Errors = found.Survey, found.Errors
	for _, result := range found.Results {
		one := finding{
			Check: plan.CheckName(result.Group, result.Text), Kind: result.Kind, Verdict: result.Verdict,
			Reason: result.Reason, Failures: result.Failures, Seconds: float64(result.Duration),
		}
		one.Unexplained = slices.Contains(found.Unexplained, one.Check)
		if one.red() && !w.allows(next.Inject, result.Requirements) {
			one.Exchange = result.Exchange
		}
		said.Findings = append(said.Findings, one)
	}
	return said
}

// allows tells whether one of the layers may break one of the requirements.
func (w *worker) allows(ids []string, requirements []reports.Requirement) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		one := w.layers[id]
		return slices.ContainsFunc(requirements, func(requirement reports.Requirement) bool {
			return slices.Contains(one.Breaks, requirement.ID) || beside(one)[requirement.ID] != ""
		})
	})
}

// wants chooses the checks of a job.
func (j job) wants() func(one *check.Declaration, differs func(survey.Question) bool) bool {
	chosen := map[string]bool{}
	for _, name := range j.Checks {
		chosen[name] = true
	}
	return func(one *check.Declaration, differs func(survey.Question) bool) bool {
		name, together := plan.CheckName(one.Group, one.Text), ""
		if one.Scenario != nil {
			together = one.Scenario.Name
		}
		switch {
		case j.Parts > 1 && partOf(cmp.Or(together, name), j.Parts) != j.Part:
			return false
		case j.Checks == nil: // of a protected cell those that the others have not run
			return !j.Cell.Protected || one.Guarded
		default:
			return chosen[name] || slices.ContainsFunc(j.Asked[name], differs)
		}
	}
}
