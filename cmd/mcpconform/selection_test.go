//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reports"
)

// What failed is checked again, and nothing else; where nothing failed, that is said.
func TestLastFailed(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	good := []string{"--", os.Args[0], "reference", "server", "--stdio"}
	mcpconformIn(t, directory, slices.Concat([]string{"server", "-q", "--revision", "2025-11-25", "--filter", "resources.uri.validated || lifecycle.version", "--json", "run.json"}, faulty())...).
		demand(t, exitDoesNot)
	mcpconformIn(t, directory, slices.Concat([]string{"server", "-q", "--last-failed", "run.json", "--json", "again.json"}, good)...).
		demand(t, exitConforms, "(--filter", "1 passed, 0 failed")
	var ids []string
	again := readRun(t, filepath.Join(directory, "again.json"))
	for _, cell := range again.Cells {
		for _, result := range cell.Results {
			ids = append(ids, cell.Revision+" "+result.ID)
		}
	}
	if want := []string{"2025-11-25 resources.uri.validated"}; !slices.Equal(ids, want) {
		t.Errorf("checks %q, want %q", ids, want)
	}
	mcpconformIn(t, directory, slices.Concat([]string{"server", "--last-failed", "again.json"}, good)...).
		demand(t, exitUsage, "--last-failed: nothing failed or warned in again.json")
	mcpconformIn(t, directory, "client", "--last-failed", "run.json").demand(t, exitUsage, "run.json is the run of a server, not of a client")
	mcpconformIn(t, directory, slices.Concat([]string{"server", "--last-failed", "run.json", "--filter", "lifecycle.version"}, good)...).
		demand(t, exitUsage, `--filter "(lifecycle.version) && (resources.uri.validated)" matches no check or rule`)
}

// A run ends with the first check that fails, except for what the baseline names.
func TestFailFast(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	target := []string{"--", os.Args[0], "reference", "server", "--stdio", "--fault", "ping-unknown"}
	run := func(flags ...string) outcome {
		return mcpconformIn(t, directory, slices.Concat([]string{"server", "--revision", "2025-11-25", "--filter", "ping", "--fail-fast", "--json", "run.json"}, flags, target)...)
	}
	found := run()
	if found.status != exitDoesNot || !strings.Contains(found.stdout, "--fail-fast: a check failed") {
		t.Errorf("%s", found)
	}
	var broken []string
	for _, result := range readRun(t, filepath.Join(directory, "run.json")).Cells[0].Results {
		if result.Verdict == reports.Failed {
			broken = append(broken, result.ID)
		}
	}
	if len(broken) == 0 {
		t.Fatalf("nothing failed: %s", found)
	}
	writeFile(t, directory, "known.yaml", "deviations:\n  - requirement: "+strings.Join(broken, "\n    reason: known\n  - requirement: ")+"\n    reason: known\n")
	if found := run("--baseline", "known.yaml"); found.status != exitConforms || strings.Contains(found.stdout, "--fail-fast") {
		t.Errorf("%s", found)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	found := mcpconform(t, "server", "--revision", "2025-11-25", "--filter", "ping", "--durations", "2", "--", os.Args[0], "reference", "server", "--stdio")
	found.demand(t, exitConforms, "SLOWEST  slowest checks", "ping.")
	_, list, _ := strings.Cut(found.stdout, "SLOWEST")
	if lines := strings.Count(list, "2025-11-25 · stdio\n"); lines != 2 {
		t.Errorf("%d are listed: %s", lines, found)
	}
}
