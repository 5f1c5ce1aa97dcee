//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// A run is written as everything at once, and later again from its JSON: the same bytes.
func TestReportsOfARun(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	files := func(name string) []string {
		return []string{
			"--junit", name + ".xml", "--html", name + ".html", "--markdown", name + ".md",
			"--code-quality", name + ".quality.json", "--badge", name + ".svg",
		}
	}
	mcpconformIn(t, directory, slices.Concat([]string{"server", "--revision", "2025-11-25", "--filter", "resources.uri.validated", "-q", "--json", "run.json"}, files("run"), faulty())...).
		demand(t, exitDoesNot)
	mcpconformIn(t, directory, slices.Concat([]string{"report"}, files("again"), []string{"run.json"})...).
		demand(t, exitDoesNot, "FAILED  rejects resources/read of a uri that is not a URI", "Does not conform to 2025-11-25")
	for name, want := range map[string]string{
		".xml": "<testsuites>", ".html": "<!doctype html>", ".md": "## ❌ Does not conform", ".quality.json": `"check_name": "resources.uri.validated"`,
		".svg": "MCP 2025-11-25: 1 failed",
	} {
		run, err := os.ReadFile(filepath.Join(directory, "run"+name))
		if err != nil || !strings.Contains(string(run), want) {
			t.Errorf("%s: %v\n%.500s", name, err, run)
		}
		if again, err := os.ReadFile(filepath.Join(directory, "again"+name)); err != nil || string(again) != string(run) {
			t.Errorf("%s is another one the second time: %v", name, err)
		}
	}
	mcpconformIn(t, directory, "diff", "--html", "diff.html", "run.json", "run.json").
		demand(t, exitConforms, "0 regressions, 0 fixed, 0 new, 0 gone")
	if page, err := os.ReadFile(filepath.Join(directory, "diff.html")); err != nil || !strings.Contains(string(page), "Changes") {
		t.Errorf("the page of the changes: %v\n%.500s", err, page)
	}
}

// On GitHub the run is in the summary of its step and in annotations.
func TestReportOnGitHub(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "summary.md", "# Before\n")
	one := prepare(t, directory, []string{"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + filepath.Join(directory, "summary.md")},
		slices.Concat([]string{"server", "--revision", "2025-11-25", "--filter", "resources.uri.validated"}, faulty())...)
	one.start()
	found := one.wait()
	found.demand(t, exitDoesNot, "\n::error title=resources.uri.validated MUST::rejects resources/read")
	summary, err := os.ReadFile(filepath.Join(directory, "summary.md"))
	if err != nil || !strings.HasPrefix(string(summary), "# Before\n## ❌ Does not conform to 2025-11-25") {
		t.Errorf("%v: %s", err, summary)
	}
}
