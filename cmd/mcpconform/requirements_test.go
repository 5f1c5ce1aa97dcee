//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// Each published set is still what the catalogue has, and covered by checks. One that is
// not is mended in the catalogue: a set never changes.
func TestPublishedSetsHold(t *testing.T) {
	t.Parallel()
	requirements, checked, err := declaredByRole()
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int{}
	for _, set := range publishedSets() {
		numbers[set.Revision]++
		if set.Number != numbers[set.Revision] {
			t.Errorf("%s is number %d of its revision", set.Name(), numbers[set.Revision])
		}
		for _, role := range protocol.Roles() {
			if set.Count(role) == 0 && len(requirements.Applies(set.Revision, "", role)) > 0 {
				t.Errorf("%s has nothing of a %s", set.Name(), role)
			}
		}
		for _, line := range set.Differences(requirements, checked) {
			t.Error(line)
		}
	}
	for _, revision := range protocol.Released() {
		if numbers[revision] == 0 {
			t.Errorf("%s has no set", revision)
		}
	}
}

// Every report names the set that a target was judged by.
func TestRunWithRequirements(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const set = "2025-11-25@1"
	directory := t.TempDir()
	target := []string{"--filter", "ping", "--", os.Args[0], "reference", "server", "--stdio", "--fault", "ping-unknown"}
	found := mcpconformIn(t, directory, slices.Concat([]string{
		"server", "--requirements", set, "--json", "run.json", "--junit", "run.xml", "--html", "run.html",
		"--markdown", "run.md", "--badge", "run.svg",
	}, target)...)
	found.demand(t, exitDoesNot, "judged by the requirements "+set, "not conform to "+set,
		"rerun   mcpconform server --requirements "+set)
	for file, want := range map[string]string{
		"run.json": `"requirements": "` + set + `"`,
		"run.xml":  `<property name="requirements" value="` + set + `"`,
		"run.html": "<dt>requirements</dt><dd>" + set,
		"run.md":   "not conform to " + set,
		"run.svg":  "MCP " + set,
	} {
		text, err := os.ReadFile(filepath.Join(directory, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %s", file, want)
		}
	}
	for _, cell := range readRun(t, filepath.Join(directory, "run.json")).Cells {
		if cell.Revision != "2025-11-25" {
			t.Errorf("%s was checked", cell.Name())
		}
	}
}

func TestRequirementsAndRevision(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "revision.yaml", "revision: 2025-06-18\n")
	writeFile(t, directory, "set.yaml", "requirements: 2025-11-25@1\n")
	writeFile(t, directory, "both.yaml", "requirements: 2025-11-25@1\nrevision: 2025-06-18\n")
	target := []string{"-q", "--filter", "ping", "--", os.Args[0], "reference", "server", "--stdio"}
	for _, test := range []struct {
		flags  []string
		status int
		says   string
	}{
		{[]string{"--requirements", "2025-11-25@1", "--revision", "2025-06-18"}, exitUsage, "--requirements 2025-11-25@1 and --revision 2025-06-18 exclude each other: the set is one of 2025-11-25"},
		{[]string{"--requirements", "2025-11-25@1", "--revision", "all"}, exitUsage, "exclude each other"},
		{[]string{"--requirements", "2025-11-25@1", "--revision", "2025-11-25"}, exitConforms, "at 2025-11-25@1"},
		{[]string{"--requirements", "2025-11-25@1", "--config", "revision.yaml"}, exitConforms, "at 2025-11-25@1"},
		{[]string{"--config", "set.yaml"}, exitConforms, "at 2025-11-25@1"},
		{[]string{"--config", "set.yaml", "--revision", "2025-06-18"}, exitUsage, "exclude each other"},
		{[]string{"--config", "both.yaml"}, exitUsage, "exclude each other"},
		{[]string{"--requirements", "2025-11-25"}, exitUsage, `--requirements "2025-11-25" is unknown, did you mean "2025-11-25@1"?`},
		{[]string{"--requirements", "2025-11-25@1", "--explore", "1"}, exitUsage, "--explore goes beyond"},
	} {
		found := mcpconformIn(t, directory, slices.Concat([]string{"server"}, test.flags, target)...)
		found.demand(t, test.status, test.says)
		if test.status == exitUsage {
			found.oneLine(t)
		}
	}
	mcpconformIn(t, directory, "serve", "--config", "set.yaml", "--revision", "2025-06-18").demand(t, exitUsage, "exclude each other")
	mcpconformIn(t, directory, "server", "--requirements", "2025-11-25@1", "--filter", "discover", "--", os.Args[0], "reference", "server", "--stdio").
		demand(t, exitUsage, "--filter")
}

// The next set of a revision is written where something is new, and nowhere else.
func TestFreeze(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	mcpconformIn(t, directory, "requirements", "freeze", "2025-11-52").
		demand(t, exitUsage, `the revision "2025-11-52" is unknown, did you mean "2025-11-25"?`)
	mcpconformIn(t, directory, "requirements", "freeze").demand(t, exitUsage, "freeze takes one revision")
	// A set beside them that has less.
	writeFile(t, directory, "2025-11-25@5.yaml", "revision: 2025-11-25\nnumber: 5\nrequirements: []\n")
	mcpconformIn(t, directory, "requirements", "freeze", "2025-11-25").demand(t, exitConforms, "2025-11-25@6.yaml: ")
	mcpconformIn(t, directory, "requirements", "freeze", "2025-11-25").
		demand(t, exitConforms, "2025-11-25@6 has the same requirements: nothing is written")
	mcpconform(t, "requirements").demand(t, exitConforms, "2025-11-25@1  ", " of servers, ")
}

// sums are those of the published sets. A published set never changes: a new one gets the
// next number.
var sums = map[string]string{
	"2025-03-26@1.yaml": "35f573810b22f12fcd5cdefa9ca46e1102f27db1d8e4adc444f152f88b7bfa24",
	"2024-11-05@1.yaml": "b9aceadab834f49650ec2f397044e537ab5d5a578f74ab2aba4cb6f0e19199a8",
	"2025-06-18@1.yaml": "321d896976340c88679d9dfe2cf9012e3b68fd644f02bf4b2c7840caf22aeacb",
	"2025-11-25@1.yaml": "b472b1155a31368ed7f8820f4d01e8eb9d76976b2669bca56cc041f303a07fbc",
	"2026-07-28@1.yaml": "3b1355b0388958e7bb30957f9d1267188213f14697bda549e077638554917b63",
}

func TestPublishedSetsNeverChange(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(repository, "fixtures", "requirements", "*.yaml"))
	if err != nil || len(paths) != len(sums) {
		t.Fatalf("found the sets %v: %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); sum != sums[filepath.Base(path)] {
			t.Errorf("%s has changed: its sum is %s", filepath.Base(path), sum)
		}
	}
}
