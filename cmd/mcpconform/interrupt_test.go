//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reports"
)

func TestInterruptedRunsStopEverythingAndReport(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for name, flags := range map[string][]string{"several workers": {"--workers", "2"}, "one worker": {"--workers", "1"}} {
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

// farOff is how long a reply may take where a test must not come to its end by that.
const farOff = "1h"

// endsBy ends a run whose target and workers wait for what never comes, and demands
// its reports.
func endsBy(t *testing.T, one *watched, directory string, signal syscall.Signal) {
	t.Helper()
	if err := one.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	one.finish().demand(t, exitDoesNot, "interrupt")
	if run := readRun(t, filepath.Join(directory, "run.json")); run.Interrupted != "interrupt" {
		t.Errorf("the report says %q", run.Interrupted)
	}
	onlyFiles(t, directory, "run.json")
}

// An interrupt ends a run while its target hangs, drips, floods or is silent in place of an
// answer.
func TestInterruptsEndWhateverIsWaitedFor(t *testing.T) {
	t.Parallel()
	wholePrograms(t)
	for place, target := range []string{
		"hangs GET", "silent GET", "upgrades GET", "upgrades-floods GET", "half-head GET", "drips-head GET", "interim GET",
		"interim-drips GET", "half-body GET", "drips GET", "endless-body GET", "chunk-huge GET", "stream-hangs GET", "comments GET",
		"stream-drips GET", "headers-endless GET", "half-closes GET", "gzip-bomb GET", "stream-stays GET", "event-flood GET",
	} {
		if !chosen(place, oneHostileOf) {
			continue
		}
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			one := watch(t, directory, args("server", "--timeout", farOff, "--filter", "transports && (MUST || SHOULD)", "--workers", "2", "--json", "run.json",
				badURL(t, append([]string{"http"}, strings.Fields(target)...)...))...)
			one.underWay()
			one.running(" worker")
			endsBy(t, one, directory, syscall.SIGTERM)
		})
	}
}

func TestInterruptsEndRunsWhoseWorkersHang(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for name, arguments := range map[string][]string{
		"server": args("server", "--timeout", farOff, "--workers", "2", "--json", "run.json", bad(t, "deaf", "GET")),
		"client": args("client", "--timeout", farOff, "--workers", "2", "--json", "run.json", "--transport", "stdio"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			one := watch(t, directory, arguments...)
			one.underWay()
			one.running(" worker")
			for pid, line := range processes(one.mark) {
				if strings.HasSuffix(line, " worker ") {
					_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
				}
			}
			endsBy(t, one, directory, syscall.SIGHUP)
		})
	}
}

// unread is the writing end of a pipe that is full and is never read.
func unread(t *testing.T) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(reader.Close(), writer.Close()) }) // nothing is read
	size, err := unix.FcntlInt(writer.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	return writer
}

// One signal ends each phase: the first contact, the trial of tools, a run of many
// targets, and the printing of reports to a pipe that is not read.
func TestOneSignalEndsEveryPhase(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments []string
		running   string // what shows that it is under way
		unread    bool   // the standard output is a pipe that is not read
		files     []string
	}{
		"reports of a server": {
			args("server", "--timeout", farOff, "--json", "run.json", bad(t, "deaf", "at-once")), "stdio deaf", true, []string{"run.json"},
		},
		"contact with a client": {
			args("client", "--timeout", farOff, "--json", "run.json", "--transport", "http", "--", hostile(t), "client", "hangs"), "client hangs", false, []string{"run.json"},
		},
		"reports of a client": {
			args("client", "--timeout", farOff, "--json", "run.json", "--transport", "http", "--", hostile(t), "client", "hangs"), "client hangs", true, []string{"run.json"},
		},
		"contact of init":     {args("init", "--timeout", farOff, bad(t, "deaf", "at-once")), "stdio deaf", false, nil},
		"trying tools":        {args("init", "--timeout", farOff, bad(t, "deaf", "tools/call")), "stdio deaf", false, nil},
		"matrix":              {args("matrix", "targets.yaml"), "stdio deaf", false, []string{"matrix", "targets.yaml"}},
		"matrix, with no end": {args("matrix", "targets.yaml"), "stdio deaf", true, []string{"matrix", "targets.yaml"}},
		"merging":             {args("merge", "run.fifo"), "", false, []string{"run.fifo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			switch test.arguments[0] {
			case "matrix":
				text := fmt.Sprintf("- target: one\n  command: [%q, stdio, deaf, at-once]\n", hostile(t))
				if err := os.WriteFile(filepath.Join(directory, "targets.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			case "merge":
				if err := unix.Mkfifo(filepath.Join(directory, "run.fifo"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			one := watchLater(t, directory, test.arguments...)
			if test.unread {
				one.command.Stdout = unread(t)
			}
			one.begin()
			if test.running != "" {
				one.running(test.running)
			} else if pipe, err := os.OpenFile(filepath.Join(directory, "run.fifo"), os.O_WRONLY, 0); err != nil { // when it reads
				t.Fatal(err)
			} else {
				t.Cleanup(func() { _ = pipe.Close() })
			}

			if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}

			_, _ = io.Copy(io.Discard, one.said)
			one.wait().demand(t, exitDoesNot)
			one.until("everything is gone", func() bool { return len(processes(one.mark)) == 0 })
			onlyFiles(t, directory, test.files...)
		})
	}
}

func TestASecondSignalEndsARunAtOnce(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	one := watchLater(t, directory, args("server", "--timeout", farOff, "--json", "run.json", bad(t, "deaf", "at-once"))...)
	one.command.Stdout = unread(t)
	one.begin()
	one.running(hostile(t))
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := one.command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if signal == syscall.SIGTERM {
			one.until("its report is written", func() bool { // what follows blocks
				_, err := os.Stat(filepath.Join(directory, "run.json"))
				return err == nil
			})
		}
	}
	_, _ = io.Copy(io.Discard, one.said)
	one.wait().demand(t, exitDoesNot)
	one.until("everything is gone", func() bool { return len(processes(one.mark)) == 0 })
}

func TestDeadlineEndsARunAndReports(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, workers := range []string{"1", "2"} {
		directory := t.TempDir()
		for deadline := 2 * time.Second; ; deadline *= 8 {
			one := watch(t, directory, args("server", "--timeout", "300ms", "--deadline", deadline.String(), "--workers", workers, "--json", "run.json", bad(t, "silent", "ping"))...)
			ended := one.finish()
			if ended.status == exitUnreachable && deadline < 10*time.Minute {
				continue // on a busy machine, even first contact lasts longer
			}
			ended.demand(t, exitDoesNot, fmt.Sprintf("deadline of %s reached", deadline))
			break
		}
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

// Nothing outlives a run that is killed, alone or with all of its workers: neither
// targets that ignore every signal nor what these have started and left to itself.
func TestAKilledRunLeavesNothing(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for name, target := range map[string][]string{
		"a hanging target": bad(t, "deaf", "GET"), "the reference": nil,
		"what a target starts": bad(t, "forks-stay", "initialize"), "what a target lets go": bad(t, "forks-away", "initialize"),
	} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, workers too: %v", name, whole), func(t *testing.T) {
				t.Parallel()
				one := watch(t, t.TempDir(), args("server", "--timeout", farOff, "--workers", "2", target)...)
				one.underWay()
				one.running(" worker")
				one.kill(whole)
			})
		}
	}
}

func TestARunThatIsKilledDuringFirstContactLeavesNothing(t *testing.T) {
	t.Parallel()
	one := watch(t, t.TempDir(), args("server", "--timeout", farOff, bad(t, "forks-deaf", "initialize"))...)
	one.running(" stay")
	one.kill(false)
}

// kill kills a run, or what of it can be seen by its name, and waits until nothing is
// left.
func (w *watched) kill(whole bool) {
	w.t.Helper()
	for pid, line := range processes(w.mark) {
		if pid == w.command.Process.Pid || whole && strings.HasSuffix(line, " worker ") {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	_ = w.command.Wait() // it was killed
	w.until("everything is gone", func() bool { return len(processes(w.mark)) == 0 })
	w.leavesNo("temporary file", w.temp)
}

// Several checks are under way in a worker. When it is killed, they run again.
func TestAKilledWorkerCostsNoChecks(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	begun := func() (*watched, string) {
		directory := t.TempDir()
		return watch(t, directory, args("server", "--timeout", "2s", "--workers", "2", "--filter", "ping||lifecycle",
			"--json", "run.json", bad(t, "silent", "ping"))...), directory
	}
	checks := func(directory string) (texts []string) {
		for _, result := range results(t, directory) {
			if result.Kind == reports.KindCheck {
				texts = append(texts, result.Text)
			}
		}
		slices.Sort(texts)
		return texts
	}
	other, whole := begun() // waits meanwhile, too
	one, directory := begun()
	one.underWay()
	worker := one.running(" worker") // with two checks that wait for a ping

	if err := syscall.Kill(worker, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	ended := one.finish()
	ended.demand(t, exitHarness, "a worker was killed by SIGKILL")
	other.finish().demand(t, exitDoesNot)
	if diff := cmp.Diff(checks(whole), checks(directory)); diff != "" {
		t.Errorf("undisturbed - killed +\n%s\n%s", diff, ended)
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
