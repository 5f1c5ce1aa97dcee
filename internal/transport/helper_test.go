package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// behaviour is the variable that turns the test binary into a target.
const behaviour = "MCPCONFORM_TEST_BEHAVIOUR"

func TestMain(m *testing.M) {
	if name := os.Getenv(behaviour); name != "" {
		behave(name)
		return
	}
	os.Exit(m.Run())
}

// behave plays a target, good or bad.
func behave(name string) {
	switch name {
	case "echo":
		fmt.Fprintln(os.Stderr, "I am ready")
		reader := bufio.NewReader(os.Stdin)
		for {
			line, err := reader.ReadString('\n')
			_, _ = os.Stdout.WriteString(line)
			if err != nil {
				return
			}
		}
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		wait := make(chan os.Signal, 1)
		signal.Notify(wait, syscall.SIGUSR1)
		<-wait
	case "flood":
		line := []byte(strings.Repeat(`{"flood":true}`, 100) + "\n")
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return
			}
		}
	case "flood-stderr":
		line := []byte(strings.Repeat("E", 999) + "\n")
		for range 3000 {
			if _, err := os.Stderr.Write(line); err != nil {
				return
			}
		}
	case "long-line":
		block := []byte(strings.Repeat("x", 1<<20))
		for range 100 {
			if _, err := os.Stdout.Write(block); err != nil {
				return
			}
		}
		fmt.Println()
	case "closes-input":
		_ = os.Stdin.Close()
		fmt.Println("closed")
		wait := make(chan os.Signal, 1)
		signal.Notify(wait, syscall.SIGUSR1)
		<-wait
	case "exits":
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(3)
	case "late": // answers only when its input ends, much at once
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		for number := range 10_000 {
			fmt.Printf("late %d %s\n", number, strings.Repeat("z", 1000))
		}
	default:
		panic("unknown behaviour " + name)
	}
}

// patient bounds a wait that a test means to succeed.
const patient = time.Minute

// soon is a wait that a test means to run out.
const soon = 20 * time.Millisecond

func start(t *testing.T, name string) *target.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process, err := target.Start(target.Command{Args: []string{self},
		Env: []string{behaviour + "=" + name, "GORACE=atexit_sleep_ms=0"}})
	if err != nil {
		t.Fatal(err)
	}
	return process
}

// leavesNothing checks at the end of a test that descriptors and goroutines
// are as many as at its start. Such a test does not run in parallel.
func leavesNothing(t *testing.T) {
	t.Helper()
	if read, write, err := os.Pipe(); err == nil { // what the runtime waits with is open from now on
		_, _ = read.Close(), write.Close()
	}
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	t.Cleanup(func() {
		for deadline := time.Now().Add(patient); time.Now().Before(deadline); {
			if descriptors(t) <= files && runtime.NumGoroutine() <= goroutines {
				return
			}
			runtime.Gosched() // what is done takes a moment to go
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

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// scenario is what a log tells, one event a line.
func scenario(log *transcript.Log) string {
	var lines []string
	for _, event := range log.Events() {
		line := fmt.Sprintf("%s %s %s", event.Stream, event.From, event.Kind)
		if event.HTTP != nil {
			line += fmt.Sprintf(" %s %d", event.HTTP.Method, event.HTTP.Status)
		}
		if len(event.Raw) > 0 {
			line += fmt.Sprintf(" %.60q", event.Raw)
		}
		if event.Note != "" {
			line += " (" + event.Note + ")"
		}
		lines = append(lines, strings.TrimSpace(strings.Join(strings.Fields(line), " ")))
	}
	return strings.Join(lines, "\n")
}

func wantScenario(t *testing.T, log *transcript.Log, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if got := scenario(log); got != strings.Join(lines, "\n") {
		t.Errorf("the log tells\n%s\nwanted\n%s", got, strings.Join(lines, "\n"))
	}
}

func wantKind(t *testing.T, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("said %v, wanted %q and the kind %q", err, says, kind)
	}
}
