package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
)

// mortal is an argument that makes this binary a worker that dies of a job.
const mortal = "mortal"

// TestMain lets this test binary take the place of mcpconform: a selftest starts
// its workers by these words.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case WorkerCommand:
		if err := Work(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case mortal:
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(7)
	}
	os.Exit(m.Run())
}

func testExecutable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// A fault is injected into the reference, and found by the checks that are there for
// it, and by no other.
func TestRun(t *testing.T) {
	found, err := Run(context.Background(), Options{Filter: "ping-answered-with-pong", Workers: 2, Timeout: reliable})
	if err != nil {
		t.Fatal(err)
	}
	if !found.Holds() {
		t.Errorf("does not hold: %v, %+v", found.Errors, found.Wrong())
	}
	if len(found.Trials) != 1 || len(found.Cells) != 1 || found.Cells[0].Passed < 100 {
		t.Fatalf("%d trials on cells %+v", len(found.Trials), found.Cells)
	}
	trial := found.Trials[0]
	var allowed []string
	for _, effect := range trial.Effects {
		allowed = append(allowed, effect.Allowed)
		if effect.Was != reports.Passed || !effect.Red() || len(effect.Failures) == 0 {
			t.Errorf("effect %+v", effect)
		}
	}
	slices.Sort(allowed)
	if !trial.Caught || trial.Touched == 0 || !slices.Equal(slices.Compact(allowed), []string{reports.ByAlsoBreaks, reports.ByBreaks}) {
		t.Errorf("caught %t, touches %d, allowed %q", trial.Caught, trial.Touched, allowed)
	}
}

// reliable is a time within which every reply comes, on any machine: nothing in
// these tests waits for one that does not.
const reliable = 60e9

func TestRunRefusesFilters(t *testing.T) {
	for filter, says := range map[string]string{
		"ping-unknwn": `did you mean "ping-unknown"?`,
		"ping &&":     "cannot be read",
	} {
		_, err := Run(context.Background(), Options{Filter: filter})
		if wrong, refused := errors.AsType[*plan.FilterError](err); !refused || !strings.Contains(wrong.Reason, says) {
			t.Errorf("%q: %v", filter, err)
		}
	}
}

// What a filter chooses can be proven: with the checks of a page come the faults of other
// pages that break what these checks verify beside.
func TestFiltersChooseWhatProves(t *testing.T) {
	t.Parallel()
	whole, some := &test{}, &test{options: Options{Filter: "server/tools"}}
	for _, one := range []*test{whole, some} {
		if err := one.declare(); err != nil {
			t.Fatal(err)
		}
	}
	chosen := map[string]bool{}
	for _, one := range some.layers {
		chosen[one.ID] = true
	}
	others := 0
	for _, one := range whole.layers {
		here := sideOf(one.cell)
		for _, check := range whole.checks[here] {
			if one.kind != reports.KindFault || !some.matches(check.Labels) || !verifies(one.Breaks, check.Requirements) {
				continue
			}
			if !chosen[one.ID] {
				t.Errorf("%s proves %q of %s, and is not chosen", one.ID, check.Text, here.role)
			}
			if !some.matches(one.labels) {
				others++
			}
		}
	}
	if others == 0 || len(some.layers) == len(whole.layers) {
		t.Errorf("%d faults of other pages, %d of %d in all", others, len(some.layers), len(whole.layers))
	}
}

func TestRunEndsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(program.ErrInterrupted)
	found, err := Run(ctx, Options{Filter: "ping-unknown"})
	if err != nil {
		t.Fatal(err)
	}
	if found.Interrupted != "interrupt" || found.Holds() || len(found.Trials) > 0 {
		t.Errorf("interrupted %q, %d trials", found.Interrupted, len(found.Trials))
	}
}

// A worker that dies costs its job, and another takes its place.
func TestWorkerDies(t *testing.T) {
	t.Parallel()
	pool := newPool(1, setup{Executable: []string{testExecutable(t), mortal}})
	defer func() { pool.dismiss(t.Context()) }()
	told := map[int]string{}
	var tasks []task
	for n := range 2 {
		tasks = append(tasks, task{took: func(said done) []task {
			told[n] = strings.Join(said.Errors, "; ")
			return nil
		}})
	}
	pool.do(t.Context(), tasks)
	for n := range 2 {
		if !strings.Contains(told[n], "exited with status 7") || !strings.Contains(told[n], "out of luck") {
			t.Errorf("job %d: %q", n, told[n])
		}
	}
}

// What a task leads to is done before the tasks that are left, by the same workers.
func TestTasksLeadToTasks(t *testing.T) {
	t.Parallel()
	pool := newPool(1, setup{Executable: []string{testExecutable(t), mortal}})
	defer func() { pool.dismiss(t.Context()) }()
	var order []string
	var named func(name string, next ...string) task
	named = func(name string, next ...string) task {
		return task{took: func(done) (more []task) {
			order = append(order, name)
			for _, one := range next {
				more = append(more, named(one))
			}
			return more
		}}
	}
	pool.do(t.Context(), []task{named("first", "again", "and again"), named("last")})
	if want := []string{"first", "again", "and again", "last"}; !slices.Equal(order, want) {
		t.Errorf("done were %q, wanted %q", order, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	pool.do(ended, []task{named("too late")})
	if len(order) > 4 {
		t.Errorf("after the end: %q", order)
	}
}

func TestInjectionKnowsWhatThereIs(t *testing.T) {
	t.Parallel()
	w := &worker{layers: map[string]*fault.Fault{}}
	if said := w.do(t.Context(), job{Inject: []string{"unheard-of"}, Cell: check.Cell{Transport: protocol.HTTP}}); len(said.Errors) != 1 || !strings.Contains(said.Errors[0], "unheard-of") {
		t.Errorf("found %+v", said)
	}
}

// What processes tell of matches is read once each time.
func TestWatch(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "matched")
	first, second := Tell(file), Tell(file)
	one, other := &fault.Fault{ID: "a"}, &fault.Fault{ID: "b"}
	watch := &watch{file: file}
	if met := watch.take(); len(met) > 0 {
		t.Errorf("found %q where nothing was told", met)
	}
	first(one)
	first(one)
	second(one)
	watch.matched(other)
	if met := watch.take(); !slices.Equal(met, []string{"b", "a"}) {
		t.Errorf("found %q", met)
	}
	second(other)
	if met := watch.take(); !slices.Equal(met, []string{"b"}) {
		t.Errorf("found %q afterwards", met)
	}
}

// Faults are written as they stand in the fixtures.
func TestWriteFaults(t *testing.T) {
	t.Parallel()
	layers, err := readLayers(fixtures.Wire)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*fault.Fault, len(layers))
	for i, one := range layers {
		all[i] = one.Fault
	}
	file, err := writeFaults(t.TempDir(), "faults.yaml", all)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	read, err := fault.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range all {
		if i >= len(read) || read[i].ID != one.ID || read[i].Says != one.Says || len(read[i].AllChanges()) != len(one.AllChanges()) {
			t.Fatalf("%s is not as it was", one.ID)
		}
	}
}
