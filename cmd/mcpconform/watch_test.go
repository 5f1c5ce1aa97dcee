//go:build linux

package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// markOf is a variable in the environment of everything that one run starts.
const markOf = "MCPCONFORM_TEST_RUN"

// watched is a run whose processes can be found, and of which nothing may be
// left: no process, no temporary file, no goroutine or descriptor of its own.
type watched struct {
	*execution
	mark   string
	said   *bufio.Reader // standard error, as it comes
	temp   string        // its directory for temporary files
	traces string        // what its processes write of what they leave
}

func watch(t *testing.T, directory string, arguments ...string) *watched {
	t.Helper()
	w := watchLater(t, directory, arguments...)
	w.begin()
	return w
}

// watchLater prepares a run that begin starts.
func watchLater(t *testing.T, directory string, arguments ...string) *watched {
	t.Helper()
	w := &watched{mark: markOf + "=" + rand.Text(), temp: t.TempDir(), traces: t.TempDir()}
	w.execution = prepare(t, directory, []string{w.mark, "TMPDIR=" + w.temp, tracesIn + "=" + w.traces}, arguments...)
	w.command.Stderr = nil
	return w
}

func (w *watched) begin() {
	w.t.Helper()
	pipe, err := w.command.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	w.start()
	w.said = bufio.NewReader(io.TeeReader(pipe, &w.stderr))
	w.t.Cleanup(func() {
		for pid := range processes(w.mark) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// processes finds those that carry a mark, with their command lines.
func processes(mark string) map[int]string {
	found := map[int]string{}
	for _, pid := range living() {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !bytes.Contains(environment, []byte(mark)) {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	return found
}

// until waits for a condition that other processes bring about, within the
// test's deadline.
func (w *watched) until(what string, holds func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(testDeadline)
	for !holds() {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: never\n%v\n%s", what, processes(w.mark), w.stderr.String())
		}
		<-time.After(10 * time.Millisecond)
	}
}

// running waits until a process that the run started, whose command line
// contains words, is there and returns its id.
func (w *watched) running(words string) (pid int) {
	w.t.Helper()
	w.until(words+" runs", func() bool {
		for one, line := range processes(w.mark) {
			if one != w.command.Process.Pid && strings.Contains(line, words) {
				pid = one
			}
		}
		return pid != 0
	})
	return pid
}

// underWay waits until checks run.
func (w *watched) underWay() {
	w.t.Helper()
	if line, err := w.said.ReadString('\n'); err != nil || !strings.Contains(line, "checks") {
		w.t.Fatalf("%q: %v", line, err)
	}
}

// finish waits for the run's end; nothing of it may be left.
func (w *watched) finish() outcome {
	w.t.Helper()
	_, _ = io.Copy(io.Discard, w.said)
	ended := w.wait()
	if left := processes(w.mark); len(left) > 0 {
		w.t.Errorf("left behind: %v\n%s", left, ended)
	}
	w.leavesNo("temporary file", w.temp)
	w.leavesNo("goroutine or descriptor", w.traces)
	return ended
}

func (w *watched) leavesNo(what, directory string) {
	w.t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, entry := range entries {
		text, _ := os.ReadFile(filepath.Join(directory, entry.Name())) // a directory says nothing more
		w.t.Errorf("left behind a %s: %s\n%s", what, entry.Name(), text)
	}
}

// Every process of the harness looks, at its end, what is left of its work, and
// writes it into a file of the directory that a variable names.
const tracesIn = "MCPCONFORM_TEST_TRACES"

// settling bounds the wait for goroutines that are about to end.
const settling = 10 * time.Second

// traced runs the command line and reports what it leaves in this process.
func traced(run func() int) int {
	directory := os.Getenv(tracesIn)
	before := descriptors()
	status := run()
	if directory == "" {
		return status
	}
	var left string
	for deadline := time.Now().Add(settling); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if left = remains(before); left == "" {
			return status
		}
	}
	if err := os.WriteFile(filepath.Join(directory, strconv.Itoa(os.Getpid())), []byte(left), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitHarness
	}
	return status
}

// remains describes the descriptors that were not open before, and the
// goroutines of the harness, save those that wait for signals as long as the
// process lives.
func remains(before []string) string {
	var left []string
	for _, one := range descriptors() {
		if !slices.Contains(before, one) {
			left = append(left, "descriptor "+one)
		}
	}
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2) // a buffer takes everything
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if !slices.ContainsFunc(lasting, func(name string) bool { return strings.Contains(stack, name) }) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n")
}

// lasting are functions of goroutines that live as long as the process: they wait for signals,
// for the parent process to close its pipe, or, after an interrupt of Ginkgo, for its run
// to take the outcome of a node.
var lasting = []string{
	"cmd/mcpconform.traced(", "os/signal.loop(",
	"interrupt_handler.(*InterruptHandler).registerForInterrupts", "runner.(*pipe).hear(",
	"ginkgo/v2/internal.(*Suite).runNode.func3.1(",
}

// descriptors are those that are open, with what they are, save those of the
// runtime.
func descriptors() []string {
	var open []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		what, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name()))
		if err != nil || strings.HasPrefix(what, "anon_inode:[event") {
			continue // closed meanwhile, or what the runtime waits with
		}
		open = append(open, entry.Name()+" "+what)
	}
	return open
}
