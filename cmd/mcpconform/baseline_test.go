//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reports"
)

// faulty is a server that breaks one requirement.
func faulty() []string {
	return []string{"--", os.Args[0], "reference", "server", "--stdio", "--fault", "resources-no-uri-served"}
}

// From a run that fails to a baseline, to a run that does not, to one that says what to
// remove: in shards as in one run.
// A slip of the pen is told before the run, which would be made in vain.
func TestBaselineOfUnknownIDs(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "known.yaml", "deviations:\n  - {requirement: ping.answerd, reason: later}\n")
	found := mcpconformIn(t, directory, "server", "--baseline", "known.yaml", "--", "touch", "started")
	found.demand(t, exitUsage, `known.yaml:2: no requirement has the id "ping.answerd", did you mean "ping.answered"?`)
	found.oneLine(t)
	onlyFiles(t, directory, "known.yaml")
}

func TestBaseline(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	run := func(flags []string, target ...string) outcome {
		return mcpconformIn(t, directory, slices.Concat([]string{"server", "--revision", "2025-11-25", "--filter", "resources.uri.validated || lifecycle.version"}, flags, target)...)
	}
	good := []string{"--", os.Args[0], "reference", "server", "--stdio"}

	run([]string{"-q", "--json", "run.json"}, faulty()...).demand(t, exitDoesNot)
	mcpconformIn(t, directory, "baseline", "update", "--baseline", "known.yaml", "run.json").
		demand(t, exitConforms, "known.yaml: 1 added, 0 removed, 0 kept", "known.yaml:2  resources.uri.validated")
	run([]string{"--baseline", "known.yaml"}, faulty()...).demand(t, exitUsage, "known.yaml:3: resources.uri.validated has no reason")

	text, err := os.ReadFile(filepath.Join(directory, "known.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, directory, "known.yaml", strings.Replace(string(text), `""`, "We know it.", 1))
	run([]string{"--baseline", "known.yaml", "--json", "known.json", "--junit", "known.xml"}, faulty()...).
		demand(t, exitConforms, "KNOWN ", "We know it.", "known.yaml:2", "except for 1 known deviation", "0 failed, 1 known")
	stale := run([]string{"--baseline", "known.yaml", "--json", "stale.json"}, good...)
	stale.demand(t, exitDoesNot, "STALE ", "known.yaml:2: resources.uri.validated passes now", "remove the entry: - requirement: resources.uri.validated")
	mcpconformIn(t, directory, "baseline", "update", "--baseline", "known.yaml", "known.json").demand(t, exitConforms, "0 added, 0 removed, 1 kept")

	for name, one := range map[string]struct {
		target []string
		status int
		whole  string
	}{"known": {faulty(), exitConforms, "known.json"}, "stale": {good, exitDoesNot, "stale.json"}} {
		var shards []string
		for index := range 3 {
			file := fmt.Sprintf("%s-%d.json", name, index)
			run([]string{"-q", "--baseline", "known.yaml", "--shard", fmt.Sprintf("%d/3", index+1), "--json", file}, one.target...).demand(t, exitConforms)
			shards = append(shards, file)
		}
		merged := name + "-merged.json"
		mcpconformIn(t, directory, slices.Concat([]string{"merge", "-q", "--json", merged}, shards)...).demand(t, one.status)
		if found, wanted := verdictsIn(t, directory, merged), verdictsIn(t, directory, one.whole); !slices.Equal(found, wanted) {
			t.Errorf("%s: one run finds\n%s\nand the merged shards\n%s", name, strings.Join(wanted, "\n"), strings.Join(found, "\n"))
		}
		outdated := func(file string) string {
			return fmt.Sprint(readRun(t, filepath.Join(directory, file)).Baseline.Outdated)
		}
		if outdated(merged) != outdated(one.whole) {
			t.Errorf("%s: %s is outdated in one run, and merged %s", name, outdated(one.whole), outdated(merged))
		}
		mcpconformIn(t, directory, "baseline", "update", "--baseline", "known.yaml", shards[0]).demand(t, exitUsage, "is shard 1/3 of a run")
	}
	mcpconformIn(t, directory, "merge", "-q", "--baseline", "known.yaml", "known-0.json", "known-1.json", "known-2.json").demand(t, exitConforms)

	mcpconformIn(t, directory, "baseline", "update", "--baseline", "known.yaml", "stale.json").
		demand(t, exitConforms, "0 added, 1 removed, 0 kept", "removed  resources.uri.validated")
	if entries := readRun(t, filepath.Join(directory, "known.json")).Baseline.Entries; len(entries) != 1 || entries[0].Place() != "known.yaml:2" {
		t.Errorf("%+v", entries)
	}
	onlyFiles(t, directory, "known-0.json", "known-1.json", "known-2.json", "known-merged.json", "known.json", "known.xml", "known.yaml",
		"run.json", "stale-0.json", "stale-1.json", "stale-2.json", "stale-merged.json", "stale.json")
}

// The config names a baseline, too, and one that is built in needs no file.
func TestBaselineOfTheConfig(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "mcpconform.yaml", "baseline: sdk:typescript@1.32\nrevision: 2025-11-25\nfilter: ping\n")
	mcpconformIn(t, directory, slices.Concat([]string{"server", "--json", "run.json"}, faulty())...).demand(t, exitConforms)
	if entries := readRun(t, filepath.Join(directory, "run.json")).Baseline.Entries; !slices.ContainsFunc(entries, func(one reports.Deviation) bool {
		return one.Requirement == "tools.unknown.refused"
	}) {
		t.Errorf("%+v", entries)
	}
}
