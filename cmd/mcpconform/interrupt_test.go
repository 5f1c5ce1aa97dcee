//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestInterruptedRunsStopEverythingAndReport(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for name, flags := range map[string][]string{"side by side": {"--workers", "2"}, "in one process": {"--workers", "1"}} {
			t.Run(fmt.Sprintf("%s %s", signal, name), func(t *testing.T) {
				t.Parallel()
				directory := t.TempDir()
				one := watch(t, directory, args("server", "--timeout", "300ms", "--json", "run.json", "--junit", "run.xml", flags, bad(t, "silent", "ping"))...)
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

func TestDeadlineEndsARunAndReports(t *testing.T) {
	t.Parallel()
	for _, workers := range []string{"1", "2"} {
		directory := t.TempDir()
		one := watch(t, directory, args("server", "--timeout", "300ms", "--deadline", "2s", "--workers", workers, "--json", "run.json", bad(t, "silent", "ping"))...)
		ended := one.finish()
		ended.demand(t, exitDoesNot, "deadline of 2s reached")
		onlyFiles(t, directory, "run.json")
	}
}

func TestDeadlineDuringFirstContact(t *testing.T) {
	t.Parallel()
	one := watch(t, t.TempDir(), args("server", "--deadline", "1s", bad(t, "deaf", "at-once"))...)
	one.finish().demand(t, exitUnreachable, "initialize was not answered", "deadline of 1s reached")
}

func TestInterruptDuringFirstContact(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	one := watch(t, directory, args("server", "--json", "run.json", bad(t, "deaf", "at-once"))...)
	one.running(hostile(t))

	if err := one.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}

	one.finish().demand(t, exitDoesNot, "interrupt", "0 passed")
	onlyFiles(t, directory, "run.json")
}

func TestAKilledRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, target := range map[string][]string{"a hanging target": bad(t, "deaf", "ping"), "the reference": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := watch(t, t.TempDir(), args("server", "--timeout", "300ms", "--workers", "2", target)...)
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
	one := watch(t, t.TempDir(), args("server", "--timeout", "2s", "--workers", "2", "--filter", "ping||lifecycle", bad(t, "silent", "ping"))...)
	one.underWay()
	worker := one.running(" worker") // each has a check that waits for a ping

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
