//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reports"
)

// asProgram makes the test binary the command line itself.
const asProgram = "MCPCONFORM_TEST_AS_PROGRAM"

// atOnce is how many tests run side by side at least: most of them wait.
const atOnce = 8

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(program.WithOwnStatus(func() int {
			switch os.Getenv(asProgram) {
			case "panics":
				panic("out of luck\n::error::of the target")
			case "panics elsewhere":
				go panic("out of luck")
				select {}
			}
			return traced(func() int { return run(os.Args[1:]) })
		}))
	}
	if signal.Ignored(syscall.SIGHUP) { // by nohup: the programs that tests hang up on are not to inherit that
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Main(suite{m}, standIns)
}

// Of so many targets plain tests choose one.
const (
	oneHostileOf = 32
	oneOpeningOf = 80
	oneListOf    = 3
	oneCheckOf   = 2
	// It takes each role over each transport, and each revision but the oldest.
	oneCrossingOf = 5
	// With -all whole programs meet one of so many faults of the opening; first contact alone
	// meets every one, in internal/runner.
	oneOpeningOfAll = 9
)

// readRun reads the JSON report of a run.
func readRun(t *testing.T, path string) *reports.Run {
	t.Helper()
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	run, err := reports.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// raced are the tests that run the program under the race detector as well: those of what
// goes on at once in the process that the user has started.
var raced = regexp.MustCompile(`^Test(Interrupt|ASecondSignal|Deadline|Serve|Watch|AKilled|ARunThatIsKilled|MatrixInterrupted)`)

// wholePrograms skips a test that runs the program many times where that takes minutes.
func wholePrograms(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector makes these many processes slow; the plain tests run them")
	}
}

// chosen tells whether the tests are to meet a target of a list, by its place.
func chosen(place, oneOf int) bool { return slowtest.All() || place%oneOf == oneOf-1 }

// suite runs the tests, more of them side by side than there are processors.
type suite struct{ tests *testing.M }

func (s suite) Run() int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(strconv.Itoa(max(atOnce, runtime.GOMAXPROCS(0)))) // a number is what it takes
	}
	status := s.tests.Run()
	return max(status, putAway())
}

// testDeadline bounds one run of the command line: far more than any needs,
// far less than the bound of the test binary.
const testDeadline = 4 * time.Minute

// outcome is how a run of the command line ended.
type outcome struct {
	status         int
	stdout, stderr string
}

func (o outcome) String() string {
	return fmt.Sprintf("status %d\n--- stdout\n%s\n--- stderr\n%s", o.status, o.stdout, o.stderr)
}

// mcpconform runs the command line to its end in an empty directory.
func mcpconform(t *testing.T, arguments ...string) outcome {
	t.Helper()
	return mcpconformIn(t, t.TempDir(), arguments...)
}

func mcpconformIn(t *testing.T, directory string, arguments ...string) outcome {
	t.Helper()
	one := begin(t, directory, nil, arguments...)
	return one.wait()
}

// execution is a run of the command line that is under way.
type execution struct {
	t              *testing.T
	command        *exec.Cmd
	stdout, stderr bytes.Buffer
	kill           context.CancelFunc
}

// begin starts the command line.
func begin(t *testing.T, directory string, environment []string, arguments ...string) *execution {
	t.Helper()
	one := prepare(t, directory, environment, arguments...)
	one.start()
	return one
}

func prepare(t *testing.T, directory string, environment []string, arguments ...string) *execution {
	t.Helper()
	if name, _, _ := strings.Cut(t.Name(), "/"); !raced.MatchString(name) {
		wholePrograms(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	one := &execution{t: t, command: exec.CommandContext(ctx, os.Args[0], arguments...), kill: cancel}
	one.command.Dir = directory
	one.command.Env = append(append(os.Environ(), asProgram+"=1", "NO_COLOR=1", "GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY=", "GITHUB_OUTPUT="), environment...)
	one.command.Stdout, one.command.Stderr = &one.stdout, &one.stderr
	one.command.WaitDelay = testDeadline
	return one
}

func (e *execution) start() {
	e.t.Helper()
	if err := e.command.Start(); err != nil {
		e.t.Fatal(err)
	}
}

func (e *execution) wait() outcome {
	e.t.Helper()
	// What a test only speaks to lives on while others take their turns.
	defer time.AfterFunc(testDeadline, e.kill).Stop()
	err := e.command.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		e.t.Fatalf("%v\n%s", err, e.stderr.String())
	}
	if status, ok := e.command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.t.Fatalf("mcpconform did not exit by itself: %v\n%s\n%s", err, e.stdout.String(), e.stderr.String())
	}
	return outcome{status: e.command.ProcessState.ExitCode(), stdout: e.stdout.String(), stderr: e.stderr.String()}
}

func args(words ...any) []string {
	var all []string
	for _, word := range words {
		switch word := word.(type) {
		case string:
			all = append(all, word)
		case []string:
			all = append(all, word...)
		}
	}
	return all
}

// demand fails the test unless a run ended with a status and its text contains
// all the parts.
func (o outcome) demand(t *testing.T, status int, parts ...string) {
	t.Helper()
	text := o.stdout + o.stderr
	unbroken := strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if !strings.Contains(text, part) && !strings.Contains(unbroken, part) {
			t.Errorf("does not say %q\n%s", part, o)
		}
	}
	if o.status != status {
		t.Errorf("want status %d\n%s", status, o)
	}
}

// oneLine fails the test unless standard error is exactly one line and
// standard output is empty.
func (o outcome) oneLine(t *testing.T) {
	t.Helper()
	if o.stdout != "" || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("want one line on standard error and nothing else\n%s", o)
	}
}

func writeFile(t *testing.T, directory, name, text string) string {
	t.Helper()
	path := filepath.Join(directory, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
