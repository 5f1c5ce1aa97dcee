//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// hears waits until something is said, and returns what was said up to then.
func (w *watched) hears(text string) string {
	w.t.Helper()
	var said strings.Builder
	for {
		line, err := w.said.ReadString('\n')
		said.WriteString(line)
		if strings.Contains(line, text) {
			return said.String()
		}
		if err != nil {
			w.t.Fatalf("%v before it says %q: %s\n%s", err, text, said.String(), w.stdout.String())
		}
	}
}

// A change of the target's files starts a run of what failed, and of everything when
// that passes. What the run and the target write themselves starts none.
func TestWatch(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	target := func(flags string) string {
		return fmt.Sprintf("echo started >> own.log\nexec %s reference server --stdio %s\n", os.Args[0], flags)
	}
	writeFile(t, directory, "server.sh", target("--fault ping-unknown"))
	one := watch(t, directory, "server", "--watch", "--revision", "2025-11-25", "--filter", "ping || server/prompts",
		"--json", "run.json", "--", "sh", "server.sh")
	one.hears("changed during the run: own.log; assumed to be written by the target")
	one.hears("watching files; Ctrl-C ends it")

	writeFile(t, directory, "server.sh", "# still broken\n"+target("--fault ping-unknown"))
	if text := one.hears("watching files"); !strings.Contains(text, "changed: server.sh") ||
		!strings.Contains(text, "checking what failed") || strings.Contains(text, "checking everything") {
		t.Errorf("of a change that mends nothing: %s", text)
	}
	partly := readRun(t, filepath.Join(directory, "run.json"))

	writeFile(t, directory, "server.sh", target(""))
	if text := one.hears("watching files"); !strings.Contains(text, "checking what failed") || !strings.Contains(text, "checking everything") {
		t.Errorf("of a change that mends all: %s", text)
	}
	all := readRun(t, filepath.Join(directory, "run.json"))
	if len(partly.Cells[0].Results) == 0 || len(all.Cells[0].Results) <= len(partly.Cells[0].Results) {
		t.Errorf("of %d results %d had failed", len(all.Cells[0].Results), len(partly.Cells[0].Results))
	}
	if err := one.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	one.finish().demand(t, exitConforms)
}

// What is saved during the first run starts the next one, if the command names it; what the
// target writes does not, even if the command names that, and is looked at again between runs.
func TestWatchSavedDuringARun(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	target := func(flags string) string {
		return fmt.Sprintf("echo started >> $1\nmkdir -p logs\ndate > logs/$$\n[ -e mended.sh ] && mv mended.sh server.sh\nexec %s reference server --stdio %s\n", os.Args[0], flags)
	}
	writeFile(t, directory, "server.sh", target("--fault ping-unknown"))
	writeFile(t, directory, "mended.sh", target(""))
	writeFile(t, directory, "own.log", "")
	one := watch(t, directory, "server", "--watch", "--revision", "2025-11-25", "--filter", "ping", "--", "sh", "server.sh", "own.log")
	one.hears("changed: own.log, server.sh")
	if text := one.hears("watching files"); !strings.Contains(text, "checking what failed") ||
		!strings.Contains(text, "changed during the run: own.log; assumed to be written by the target") {
		t.Errorf("of what was saved during the first run: %s", text)
	}
	writeFile(t, directory, "own.log", "")
	if text := one.hears("watching files"); !strings.Contains(text, "changed: own.log") {
		t.Errorf("of a change between runs: %s", text)
	}
	writeFile(t, directory, "server.sh", target(""))
	if text := one.hears("watching files"); !strings.Contains(text, "changed: server.sh") {
		t.Errorf("of the file that was saved during the first run: %s", text)
	}
	if err := one.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	one.finish().demand(t, exitConforms)
}

func TestWatchUsage(t *testing.T) {
	t.Parallel()
	found := mcpconform(t, "server", "--watch", "--url", "http://127.0.0.1:1/mcp")
	found.demand(t, exitUsage, "--watch needs a command that restarts the target")
	found.oneLine(t)
	directory := t.TempDir()
	mcpconformIn(t, directory, "server", "--watch", "--filter", "pong", "--", "sh", "-c", "exit").demand(t, exitUsage, `"pong" is unknown`)
}
