package matrix_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/matrix"
	"github.com/mcpconform/mcpconform/reports"
)

// asHarness turns the test binary into a harness that finds what its command says.
const asHarness = "MCPCONFORM_TEST_AS_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(asHarness) != "" {
		os.Exit(harness(os.Args[1:]))
	}
	if err := os.Setenv(asHarness, "1"); err != nil { // of what is started
		panic(err)
	}
	os.Exit(m.Run())
}

// harness writes what a harness would that found a target to be of a kind.
func harness(arguments []string) int {
	file := arguments[slices.Index(arguments, "--json")+1]
	command := arguments[slices.Index(arguments, "--")+1:]
	status := 1
	var run *reports.Run
	switch command[0] {
	case "good":
		run, status = found(reports.Passed), 0
	case "filtered":
		run, status = found(reports.Passed), 0
		run.Filter = "ping"
	case "bad":
		run = found(reports.Failed)
	case "turning":
		text, _ := os.ReadFile(command[1])
		run = found(reports.Verdict(text))
		if string(text) == "passed" {
			status = 0
		}
	case "copied":
		text, err := os.ReadFile(command[1])
		if err != nil || os.WriteFile(file, text, 0o600) != nil {
			return 9
		}
		status = 0
	case "cut":
		run = found(reports.Passed)
		run.Interrupted = "deadline of 1s reached"
	case "gone":
		run = found(reports.Passed)
		run.Cells[0].Ended = &reports.Ended{Reason: "the server exited with status 7"}
	case "unreachable":
		run, status = found(reports.Passed), 3
		run.Cells, run.Errors = nil, []string{"cannot connect: connection refused"}
	case "misused":
		fmt.Fprintln(os.Stderr, "mcpconform: m.yaml:3: unknown key \x1b[2J<b>")
		status = 2
	case "broken":
		run, status = found(reports.Passed), 4
		run.Errors = []string{"a worker was killed"}
	case "garbage":
		if os.WriteFile(file, []byte("{"), 0o600) != nil {
			return 9
		}
	case "silent":
		status = 1
	case "hang":
		select {}
	case "where":
		directory, _ := os.Getwd()
		run = found(reports.Passed)
		run.Target.Name = strings.Join(append(arguments[:1], slices.DeleteFunc(arguments[1:], func(word string) bool { return word == file })...), " ") +
			" in " + filepath.Base(directory)
		status = 0
	}
	if run != nil && reports.WriteFile(file, func(w io.Writer) error { return run.Write(w) }) != nil {
		return 9
	}
	return status
}

// found is a run in which one check of several came to a verdict.
func found(verdict reports.Verdict) *reports.Run {
	results := []reports.Result{result("tools.call.answered", "server/tools", verdict), result("ping.answered", "basic/utilities/ping", reports.Passed)}
	return &reports.Run{
		Tool:    reports.Tool{Name: "mcpconform", Version: "1"},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Target:  reports.Target{Role: "server", Command: []string{"x"}, Identity: reports.Identity{Name: "sample<b>", Version: "1.0"}},
		Cells: []reports.Cell{{
			Role: "server", Revision: "2025-11-25", Transport: "stdio", Spoken: true, Declared: len(results),
			Pages: []string{"basic/utilities/ping", "server/tools"}, Results: results,
		}},
	}
}

func result(id, page string, verdict reports.Verdict) reports.Result {
	one := reports.Result{
		ID: id, Kind: reports.KindCheck, Page: page, Text: "does what " + id + " says", Verdict: verdict,
		Requirements: []reports.Requirement{{
			ID: id, Level: reports.Must, Says: "It is so <of " + id + ">.", At: page + "#it",
			Link: "https://modelcontextprotocol.io/specification/2025-11-25/" + page + "#it",
		}},
	}
	if verdict == reports.Failed {
		one.Failures = []reports.Failure{{Wanted: "an answer", Found: "nothing <i>"}}
	}
	return one
}

// program is the test binary.
func program(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self}
}

func entry(name string, command ...string) matrix.Entry {
	return matrix.Entry{Name: name, Role: "server", Command: command}
}

// check runs targets and returns what became of each; those that were run before with a
// mark.
func check(t *testing.T, o matrix.Options, entries ...matrix.Entry) map[string]string {
	t.Helper()
	all := map[string]string{}
	o.Program, o.Jobs = program(t), 4
	if o.Deadline == 0 {
		o.Deadline = time.Hour
	}
	o.Done = func(attempt *matrix.Attempt, before bool) {
		all[attempt.Target] = strings.TrimSuffix(string(attempt.State)+": "+attempt.Reason, ": ")
		if before {
			all[attempt.Target] += ", before"
		}
	}
	if err := matrix.Run(t.Context(), entries, o); err != nil {
		t.Fatal(err)
	}
	return all
}

// A target that fails does not keep the others from being checked, and each tells why.
func TestRun(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	want := map[string]string{
		"good":        "conforms",
		"filtered":    "no failure found",
		"bad":         "does not conform",
		"cut":         "ended early: deadline of 1s reached",
		"gone":        "ended early: 2025-11-25 · stdio: the server exited with status 7",
		"unreachable": "not reached: cannot connect: connection refused",
		"misused":     `not run: m.yaml:3: unknown key \x1b[2J<b>`,
		"broken":      "harness failed: a worker was killed",
		"silent":      "harness failed: the harness exited with status 1",
		"nowhere":     "not run: ",
		"garbage":     "harness failed: its report cannot be read: ",
	}
	var entries []matrix.Entry
	for name := range want {
		one := entry(name, name)
		if name == "nowhere" {
			one.Directory = filepath.Join(out, "none")
		}
		entries = append(entries, one)
	}
	all := check(t, matrix.Options{Out: out}, entries...)
	for name, text := range want {
		if !strings.HasPrefix(all[name], text) || all[name] != text && !strings.HasSuffix(text, ": ") {
			t.Errorf("%s: %q, wanted %q", name, all[name], text)
		}
	}
	// What is whole stays; all others are tried again.
	for name, text := range check(t, matrix.Options{Out: out}, entries...) {
		if whole := slices.Contains([]string{"good", "filtered", "bad"}, name); strings.HasSuffix(text, ", before") != whole {
			t.Errorf("the second time, %s: %s", name, text)
		}
	}
}

func TestRunAgain(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	directory := t.TempDir()
	one := entry("one", "good")
	one.Directory = directory
	again := func(why string, wanted bool, o matrix.Options) {
		t.Helper()
		o.Out = out
		if text := check(t, o, one)["one"]; (text == "conforms") != wanted {
			t.Errorf("%s: %s", why, text)
		}
	}
	again("the first time", true, matrix.Options{})
	again("the same", false, matrix.Options{})
	again("by force", true, matrix.Options{Force: true})
	again("another version", true, matrix.Options{Version: "2"})
	again("the same version", false, matrix.Options{Version: "2"})
	again("young enough", false, matrix.Options{Version: "2", MaxAge: time.Hour})
	again("too old", true, matrix.Options{Version: "2", MaxAge: time.Nanosecond})
	one.Revision = "all"
	again("another entry", true, matrix.Options{})
	write(t, filepath.Join(directory, "mcpconform.yaml"), "baseline: known.yaml\n")
	again("a config", true, matrix.Options{})
	write(t, filepath.Join(directory, "known.yaml"), "deviations: [{requirement: ping.answered, reason: It is known.}]\n")
	again("a baseline of the config", true, matrix.Options{})
	again("the same config and baseline", false, matrix.Options{})
	write(t, filepath.Join(directory, "known.yaml"), "include: [\"sdk:go@1.8\"]\ndeviations: []\n")
	again("a baseline that includes another", true, matrix.Options{})
	again("the same", false, matrix.Options{})
}

// A run has the options of its entry, in its directory.
func TestRunOptions(t *testing.T) {
	t.Parallel()
	out, directory := t.TempDir(), t.TempDir()
	write(t, filepath.Join(directory, "m.yaml"), "deadline: 7m\n")
	one := matrix.Entry{
		Name: "one", Role: "client", Command: []string{"where", "--strict"}, Directory: directory, Config: "m.yaml", Baseline: "b.yaml",
		Revision: "all", Transport: "http", Filter: "ping", CallTools: "all", Timeout: 2 * time.Second, Strict: true,
	}
	check(t, matrix.Options{Out: out}, one)
	const want = "client --quiet --no-color --json --deadline 7m0s --config m.yaml --baseline b.yaml --revision all --transport http --filter ping" +
		" --call-tools all --timeout 2s --strict -- where --strict in "
	if text := only(t, filepath.Join(out, "one", "*.run.json")); !strings.Contains(text, want+filepath.Base(directory)) {
		t.Errorf("%s\nlacks %s", text, want)
	}
}

// only reads the one file of a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	return read(t, names[0])
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An interrupt ends what is under way, and nothing more is begun.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var all []string
	err := matrix.Run(ctx, []matrix.Entry{entry("a", "good"), entry("b", "hang"), entry("c", "good")}, matrix.Options{
		Out: out, Program: program(t), Jobs: 1, Deadline: time.Hour,
		Done: func(attempt *matrix.Attempt, _ bool) {
			all = append(all, attempt.Target+" "+string(attempt.State)+" "+attempt.Reason)
			if attempt.Target == "a" {
				go func() { // when the next is under way
					for !exists(filepath.Join(out, "b")) {
						runtime.Gosched()
					}
					cancel()
				}()
			}
		},
	})
	if want := []string{"a conforms ", "b ended early interrupt"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %q", err, all)
	}
	if exists(filepath.Join(out, "c")) {
		t.Error("c was begun")
	}
}

// A harness that does not keep its deadline is ended.
func TestRunTooLong(t *testing.T) {
	t.Parallel()
	hanging := entry("hanging", "hang")
	hanging.Deadline = time.Millisecond
	all := check(t, matrix.Options{Out: t.TempDir()}.Impatient(time.Millisecond), hanging)
	if want := "ended early: it did not finish by its deadline of 1ms"; all["hanging"] != want {
		t.Errorf("%q, wanted %q", all["hanging"], want)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// No more targets run at once than are asked for.
func TestRunJobs(t *testing.T) {
	t.Parallel()
	var entries []matrix.Entry
	for i := range 6 {
		entries = append(entries, entry(fmt.Sprint("t", i), "good"))
	}
	var ended atomic.Int32
	out := t.TempDir()
	if err := matrix.Run(t.Context(), entries, matrix.Options{
		Out: out, Program: program(t), Jobs: 2, Deadline: time.Hour,
		Done: func(*matrix.Attempt, bool) {
			begun, err := os.ReadDir(out)
			if n := int(ended.Add(1)); err != nil || len(begun) > n+1 {
				t.Errorf("%d targets were begun when %d had ended: %v", len(begun), n, err)
			}
		},
	}); err != nil {
		t.Fatal(err)
	}
	if ended.Load() != 6 {
		t.Errorf("%d ended", ended.Load())
	}
}

// What cannot be written is an error of this machine.
func TestRunNowhere(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "file")
	write(t, out, "")
	err := matrix.Run(t.Context(), []matrix.Entry{entry("a", "good")}, matrix.Options{
		Out: out, Program: program(t), Jobs: 1, Deadline: time.Hour, Done: func(*matrix.Attempt, bool) {},
	})
	if err == nil || !strings.Contains(err.Error(), "a: ") {
		t.Errorf("%v", err)
	}
}

// A folder keeps the latest attempts, and one that came to its end.
func TestAttemptsKept(t *testing.T) {
	t.Parallel()
	out, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	write(t, state, "passed")
	one := entry("one", "turning", state)
	check(t, matrix.Options{Out: out}, one)
	first, err := filepath.Glob(filepath.Join(out, "one", "*.run.json"))
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	one.Command = []string{"cut"}
	for range 12 {
		check(t, matrix.Options{Out: out}, one)
	}
	attempts, _ := filepath.Glob(filepath.Join(out, "one", "*.attempt.json")) // the pattern is right
	runs, _ := filepath.Glob(filepath.Join(out, "one", "*.run.json"))
	if len(attempts) != 11 || len(runs) != 11 || runs[0] != first[0] {
		t.Errorf("kept %d attempts and %d runs, the first %s, wanted %s", len(attempts), len(runs), runs[0], first[0])
	}
}
