package target_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/target"
)

// These tests count processes and descriptors, so they do not run in parallel.

// soon is a grace for steps that a test means to run out.
const soon = 20 * time.Millisecond

// patient is a grace for steps that a test means to succeed.
const patient = time.Minute

func start(t *testing.T, name string) *target.Process {
	t.Helper()
	return startWith(t, name)
}

func startWith(t *testing.T, name string, environment ...string) *target.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, target.Command{Args: []string{self}, Env: append(helper(name), environment...)})
}

func startCommand(t *testing.T, command target.Command) *target.Process {
	t.Helper()
	leavesNothing(t)
	process, err := target.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Close(); err != nil {
			t.Error(err)
		}
	})
	return process
}

// leavesNothing checks at the end of a test that descriptors and goroutines
// are as many as at its start.
func leavesNothing(t *testing.T) {
	t.Helper()
	if read, write, err := os.Pipe(); err == nil { // what the runtime waits with is open from now on
		_, _ = read.Close(), write.Close()
	}
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	t.Cleanup(func() {
		for range 1000 {
			if descriptors(t) <= files && runtime.NumGoroutine() <= goroutines {
				return
			}
			runtime.Gosched() // goroutines that are done take a moment to go
		}
		if now := descriptors(t); now > files {
			t.Errorf("%d descriptors are open, %d were", now, files)
		}
		if now := runtime.NumGoroutine(); now > goroutines {
			stacks := make([]byte, 1<<16)
			t.Errorf("%d goroutines run, %d did\n%s", now, goroutines, stacks[:runtime.Stack(stacks, true)])
		}
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	return len(entries)
}

// running reports whether a process exists and is no zombie.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func await(t *testing.T, process *target.Process) target.Exit {
	t.Helper()
	select {
	case <-process.Done():
	case <-time.After(patient):
		t.Fatal("the process did not end")
	}
	return process.Exit()
}

func firstLine(t *testing.T, process *target.Process) string {
	t.Helper()
	line, err := bufio.NewReader(process.Stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func childOf(t *testing.T, process *target.Process) int {
	t.Helper()
	reader := bufio.NewReader(process.Stdout)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "child "); ok {
			pid, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
}

func shutdown(t *testing.T, process *target.Process, grace target.Grace) target.Ending {
	t.Helper()
	ending, err := process.Shutdown(t.Context(), grace)
	if err != nil {
		t.Fatal(err)
	}
	if running(process.PID()) {
		t.Error("the process still runs after its shutdown")
	}
	return ending
}

func TestTalksAndEndsWithItsInput(t *testing.T) {
	process := start(t, "echo")
	if _, err := io.WriteString(process.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line := firstLine(t, process); line != "hello" {
		t.Errorf("read %q", line)
	}
	ending := shutdown(t, process, target.Grace{Input: patient})
	if ending.Step != target.InputClosed || ending.Exit != (target.Exit{}) {
		t.Errorf("ended otherwise: %+v", ending)
	}
	if _, err := process.Stdout.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("standard output ended with %v", err)
	}
	again := shutdown(t, process, target.DefaultGrace)
	if again != ending {
		t.Errorf("a second shutdown tells %+v", again)
	}
}

func TestShutdownTakesTheStepsThatItNeeds(t *testing.T) {
	for _, test := range []struct {
		name, behaviour string
		grace           target.Grace
		step            target.Step
		exit            string
		notes           []string
	}{
		{"terminates", "hang", target.Grace{Input: soon, Terminate: patient}, target.Terminated,
			"killed by SIGTERM", []string{"closed", "SIGTERM"}},
		{"kills", "deaf", target.Grace{Input: soon, Terminate: soon}, target.Killed,
			"killed by SIGKILL", []string{"closed", "SIGTERM", "SIGKILL"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			process := start(t, test.behaviour)
			var notes []string
			process.Watch(target.Watcher{
				InputClosed: func() { notes = append(notes, "closed") },
				Signal:      func(name string) { notes = append(notes, name) },
			})
			firstLine(t, process)

			ending := shutdown(t, process, test.grace)
			if ending.Step != test.step || ending.Exit.String() != test.exit {
				t.Errorf("ended %+v", ending)
			}
			if fmt.Sprint(notes) != fmt.Sprint(test.notes) {
				t.Errorf("noted %q, wanted %q", notes, test.notes)
			}
		})
	}
}

func TestShutdownKillsAtOnceWhenTheContextEnds(t *testing.T) {
	process := start(t, "deaf")
	firstLine(t, process)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ending, err := process.Shutdown(ctx, target.Grace{Input: time.Hour, Terminate: time.Hour})
	if err != nil || ending.Step != target.Killed {
		t.Errorf("ended %+v, %v", ending, err)
	}
}

func TestShutdownFromManySides(t *testing.T) {
	process := start(t, "deaf")
	firstLine(t, process)
	var all sync.WaitGroup
	endings := make([]target.Ending, 4)
	for side := range endings {
		all.Go(func() {
			ending, err := process.Shutdown(context.Background(), target.Grace{Input: soon, Terminate: soon})
			if err != nil {
				t.Error(err)
			}
			endings[side] = ending
		})
	}
	all.Wait()
	for _, ending := range endings {
		if ending.Step != target.Killed {
			t.Errorf("ended %+v", ending)
		}
	}
}

func TestExit(t *testing.T) {
	for behaviour, want := range map[string]string{
		"exit:0": "exited with status 0",
		"exit:7": "exited with status 7",
		"die":    "killed by SIGKILL",
	} {
		t.Run(behaviour, func(t *testing.T) {
			process := start(t, behaviour)
			if exit := await(t, process); exit.String() != want {
				t.Errorf("told %q, wanted %q", exit, want)
			}
			if ending := shutdown(t, process, target.DefaultGrace); ending.Step != target.Exited {
				t.Errorf("ended %+v", ending)
			}
			if err := process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("signalling a process that is gone: %v", err)
			}
		})
	}
}

// A target cannot pass values to later steps of a workflow: the files for that are not in its
// environment, unless the user names them.
func TestFilesForCommandsOfGitHubAreNotInherited(t *testing.T) {
	for _, name := range []string{
		"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_SHA",
	} {
		t.Setenv(name, "inherited")
	}
	process := startWith(t, "variables", "GITHUB_PATH=given")

	out, err := io.ReadAll(process.Stdout)

	texts := strings.Fields(string(out))
	slices.Sort(texts)
	if want := []string{"GITHUB_PATH=given", "GITHUB_SHA=inherited"}; err != nil || !slices.Equal(texts, want) {
		t.Errorf("%q, %v", texts, err)
	}
}

func TestStandardErrorIsKept(t *testing.T) {
	process := start(t, "complain")
	await(t, process)
	tail, total := process.Stderr()
	if want := "cannot find my configuration\ngiving up"; string(tail) != want || total != int64(len(want)) {
		t.Errorf("kept %q of %d bytes", tail, total)
	}

	var texts []string
	process.Watch(target.Watcher{
		Stderr: func(line []byte) { texts = append(texts, string(line)) },
		Exit:   func(exit target.Exit) { texts = append(texts, exit.String()) },
	})
	if want := "[cannot find my configuration giving up exited with status 2]"; fmt.Sprint(texts) != want {
		t.Errorf("told %q, wanted %q", texts, want)
	}
}

func TestStandardErrorIsBounded(t *testing.T) {
	process := start(t, "flood-stderr")
	await(t, process)
	tail, total := process.Stderr()
	if len(tail) > 64<<10 || !strings.HasSuffix(string(tail), "x\nthe last line") {
		t.Errorf("kept %d bytes", len(tail))
	}
	if total != 1_000_013 {
		t.Errorf("counted %d bytes", total)
	}
}

func TestLongLinesOfStandardErrorComeInPieces(t *testing.T) {
	process := start(t, "long-stderr")
	var mu sync.Mutex
	var lengths []int
	over := make(chan struct{})
	process.Watch(target.Watcher{
		Stderr: func(line []byte) {
			mu.Lock()
			defer mu.Unlock()
			lengths = append(lengths, len(line))
		},
		Exit: func(target.Exit) { close(over) },
	})
	<-over
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(lengths) != "[8192 8192 4096 5]" {
		t.Errorf("lines of %v bytes", lengths)
	}
}

func TestChildrenDoNotOutliveTheirParent(t *testing.T) {
	process := start(t, "fork")
	child := childOf(t, process)
	if exit := await(t, process); exit.Code != 0 {
		t.Errorf("the leader %s", exit)
	}
	if running(child) {
		t.Errorf("child %d still runs", child)
	}
	if _, err := io.Copy(io.Discard, process.Stdout); err != nil {
		t.Errorf("standard output ended with %v", err)
	}
}

func TestChildrenThatLeftTheGroupAreKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descendants are found on Linux only")
	}
	process := start(t, "escape")
	child := childOf(t, process)
	ending := shutdown(t, process, target.Grace{Input: patient})
	if ending.Step != target.InputClosed || ending.Strays != 1 {
		t.Errorf("ended %+v", ending)
	}
	if running(child) {
		t.Errorf("child %d still runs", child)
	}
}

func TestEscapedChildrenDoNotHoldUs(t *testing.T) {
	process := start(t, "escape-unmarked")
	child := childOf(t, process)
	defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }()
	await(t, process)
	if _, err := io.Copy(io.Discard, process.Stdout); !errors.Is(err, target.ErrHeldOpen) {
		t.Errorf("standard output ended with %v", err)
	}
}

func TestCloseKillsAndEndsBlockedReadsAndWrites(t *testing.T) {
	process := start(t, "hang")
	firstLine(t, process)
	var blocked sync.WaitGroup
	blocked.Go(func() {
		if _, err := process.Stdin.Write(make([]byte, 1<<20)); err == nil {
			t.Error("a process that does not read took a mebibyte")
		}
	})
	blocked.Go(func() {
		if _, err := process.Stdout.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("standard output ended with %v", err)
		}
	})
	if err := process.Close(); err != nil {
		t.Error(err)
	}
	blocked.Wait()
}

func TestStartExplains(t *testing.T) {
	leavesNothing(t)
	directory := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "hello", 0o600)
	garbage := write("garbage", "\x00\x01\x02", 0o700)
	orphan := write("orphan", "#!/no/such/interpreter\n", 0o700)

	for name, test := range map[string]struct {
		command target.Command
		kind    error
		says    string
	}{
		"nothing":      {target.Command{}, target.ErrNoCommand, "no command was given"},
		"not in PATH":  {command("no-such-program"), target.ErrNotFound, `command "no-such-program" not found in PATH`},
		"one word":     {command("node server.js"), target.ErrNotFound, "as separate words"},
		"forgotten ./": {target.Command{Args: []string{"plain"}, Dir: directory}, target.ErrNotFound, `did you mean "./plain"?`},
		"no such file": {command("/no/such/file"), target.ErrNotFound, `command "/no/such/file" does not exist`},
		"a directory":  {command(directory), target.ErrNotExecutable, "is a directory"},
		"no x bit":     {command(plain), target.ErrNotExecutable, "chmod +x"},
		"no program":   {command(garbage), target.ErrNotExecutable, "#!"},
		"interpreter":  {command(orphan), target.ErrNotExecutable, "interpreter"},
		"no directory": {target.Command{Args: []string{"true"}, Dir: "/no/such"}, target.ErrDirectory, `"/no/such" does not exist`},
		"file as dir":  {target.Command{Args: []string{"true"}, Dir: plain}, target.ErrDirectory, "is a file"},
	} {
		t.Run(name, func(t *testing.T) {
			process, err := target.Start(test.command)
			if err == nil {
				_ = process.Close()
				t.Fatal("it started")
			}
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("said %q, wanted %q and kind %q", err, test.says, test.kind)
			}
		})
	}
}

func command(args ...string) target.Command { return target.Command{Args: args} }

func TestRelativeCommandsAreRelativeToTheDirectory(t *testing.T) {
	leavesNothing(t)
	directory := t.TempDir()
	path := filepath.Join(directory, "greet")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho $GREETING from $(pwd -P)\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	process, err := target.Start(target.Command{Args: []string{"./greet"}, Dir: directory, Env: []string{"GREETING=hello"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = process.Close() }()
	resolved, err := filepath.EvalSymlinks(directory)
	if err != nil {
		t.Fatal(err)
	}
	if line := firstLine(t, process); line != "hello from "+resolved {
		t.Errorf("read %q", line)
	}
	await(t, process)
}

func TestLastIsCalledBeforeWhatTheProcessStartedIsKilled(t *testing.T) {
	leavesNothing(t)
	var process *target.Process
	started, echoed := make(chan struct{}), make(chan string, 1)
	command := target.Command{
		Args: []string{"sh", "-c", "exec 3<&0; cat <&3 & exit 0"},
		Last: func() {
			<-started
			_, _ = io.WriteString(process.Stdin, "still here\n")
			line, _ := bufio.NewReader(process.Stdout).ReadString('\n')
			echoed <- line
		},
	}
	process, err := target.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	close(started)
	if line := <-echoed; line != "still here\n" {
		t.Errorf("what it started said %q", line)
	}
	<-process.Done()
	if err := process.Close(); err != nil {
		t.Error(err)
	}
}

// What ends a process is told before it can end for that: who reads the record knows why.
func TestTheEndIsToldAfterWhatBroughtIt(t *testing.T) {
	t.Parallel()
	process := start(t, "echo")
	var open error
	process.Watch(target.Watcher{InputClosed: func() { _, open = process.Stdin.WriteString("\n") }})
	process.CloseInput()
	shutdown(t, process, target.DefaultGrace)
	if open != nil {
		t.Errorf("the input when it was told to be closed: %v", open)
	}
}
