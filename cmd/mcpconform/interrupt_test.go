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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// markOf is a variable in the environment of everything that one run starts.
const markOf = "MCPCONFORM_TEST_RUN"

// marked is a run whose processes can be found.
type marked struct {
	*execution
	mark string
	said *bufio.Reader // standard error, as it comes
}

func beginMarked(t *testing.T, directory string, arguments ...string) *marked {
	t.Helper()
	mark := markOf + "=" + rand.Text()
	one := prepare(t, directory, []string{mark}, arguments...)
	one.command.Stderr = nil
	pipe, err := one.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	one.start()
	t.Cleanup(func() {
		for pid := range processes(mark) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return &marked{execution: one, mark: mark, said: bufio.NewReader(io.TeeReader(pipe, &one.stderr))}
}

// processes finds those that carry a mark, with their command lines.
func processes(mark string) map[int]string {
	found := map[int]string{}
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		environment, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environment, []byte(mark)) {
			continue
		}
		directory := filepath.Dir(path)
		pid, _ := strconv.Atoi(filepath.Base(directory))
		line, _ := os.ReadFile(filepath.Join(directory, "cmdline"))
		found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	return found
}

// until waits for a condition that other processes bring about, within the
// test's deadline.
func (m *marked) until(what string, holds func() bool) {
	m.t.Helper()
	deadline := time.Now().Add(testDeadline)
	for !holds() {
		if time.Now().After(deadline) {
			m.t.Fatalf("%s: never\n%v\n%s", what, processes(m.mark), m.stderr.String())
		}
		<-time.After(time.Millisecond)
	}
}

// running waits until a process that the run started, whose command line
// contains words, is there and returns its id.
func (m *marked) running(words string) (pid int) {
	m.t.Helper()
	m.until(words+" runs", func() bool {
		for one, line := range processes(m.mark) {
			if one != m.command.Process.Pid && strings.Contains(line, words) {
				pid = one
			}
		}
		return pid != 0
	})
	return pid
}

// finish waits for the run's end; nothing of it may be left.
func (m *marked) finish() outcome {
	m.t.Helper()
	_, _ = io.Copy(io.Discard, m.said)
	ended := m.wait()
	if left := processes(m.mark); len(left) > 0 {
		m.t.Errorf("left behind: %v\n%s", left, ended)
	}
	return ended
}

func TestInterruptedRunsStopEverythingAndReport(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for name, flags := range map[string][]string{"side by side": {"--workers", "2"}, "in one process": {"--workers", "1"}} {
			t.Run(fmt.Sprintf("%s %s", signal, name), func(t *testing.T) {
				t.Parallel()
				directory := t.TempDir()
				one := beginMarked(t, directory, args("server", "--timeout", "300ms", "--json", "run.json", "--junit", "run.xml", flags, bad("hangs-on-ping"))...)
				one.underWay()

				if err := one.command.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}

				one.finish().demand(t, exitDoesNot, "interrupt")
				for _, report := range []string{"run.json", "run.xml"} {
					if text, err := os.ReadFile(filepath.Join(directory, report)); err != nil || !bytes.Contains(text, []byte("interrupt")) {
						t.Errorf("%s: %v\n%s", report, err, text)
					}
				}
				onlyFiles(t, directory, "run.json", "run.xml")
			})
		}
	}
}

// underWay waits until checks run.
func (m *marked) underWay() {
	m.t.Helper()
	if line, err := m.said.ReadString('\n'); err != nil || !strings.Contains(line, "checks") {
		m.t.Fatalf("%q: %v", line, err)
	}
}

func TestDeadlineEndsARunAndReports(t *testing.T) {
	t.Parallel()
	for _, workers := range []string{"1", "2"} {
		directory := t.TempDir()
		one := beginMarked(t, directory, args("server", "--timeout", "300ms", "--deadline", "2s", "--workers", workers, "--json", "run.json", bad("hangs-on-ping"))...)
		ended := one.finish()
		ended.demand(t, exitDoesNot, "deadline of 2s reached")
		onlyFiles(t, directory, "run.json")
	}
}

func TestDeadlineDuringFirstContact(t *testing.T) {
	t.Parallel()
	one := beginMarked(t, t.TempDir(), args("server", "--deadline", "1s", bad("deaf"))...)
	one.finish().demand(t, exitUnreachable, "initialize was not answered", "deadline of 1s reached")
}

func TestInterruptDuringFirstContact(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	one := beginMarked(t, directory, args("server", "--json", "run.json", bad("deaf"))...)
	one.running(badServer)

	if err := one.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}

	one.finish().demand(t, exitDoesNot, "interrupt", "0 passed")
	onlyFiles(t, directory, "run.json")
}

func TestAKilledRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, target := range map[string][]string{"a hanging target": bad("deaf-on-ping"), "the reference": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := beginMarked(t, t.TempDir(), args("server", "--timeout", "300ms", "--workers", "2", target)...)
			one.underWay()
			one.running(" worker")

			if err := one.command.Process.Kill(); err != nil {
				t.Fatal(err)
			}

			_ = one.command.Wait()
			one.until("everything is gone", func() bool { return len(processes(one.mark)) == 0 })
		})
	}
}

func TestAKilledWorkerCostsOnlyItsCheck(t *testing.T) {
	t.Parallel()
	one := beginMarked(t, t.TempDir(), args("server", "--timeout", "300ms", "--workers", "2", "--filter", "ping", bad("hangs-on-ping"))...)
	worker := one.running(" worker")

	if err := syscall.Kill(worker, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	ended := one.finish()
	ended.demand(t, exitHarness, "a worker was killed by SIGKILL")
	if !strings.Contains(ended.stdout, "answers ping") {
		t.Errorf("the run did not go on\n%s", ended)
	}
}

func onlyFiles(t *testing.T, directory string, wanted ...string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if strings.Join(names, " ") != strings.Join(wanted, " ") {
		t.Errorf("files are %v, want %v", names, wanted)
	}
}
