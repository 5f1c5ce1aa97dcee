package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
)

// A target that speaks one revision alone is judged at that one. The others, which a client
// leaves as the specification says, are not spoken, and nothing fails there.
func TestTargetsOfOneRevision(t *testing.T) {
	wholePrograms(t)
	t.Parallel()
	const looked = "lifecycle.version || lifecycle.errors.version || versioning || discover || base.schema || transports.http.older"
	place := 0
	for _, revision := range protocol.Released() {
		for _, role := range []string{protocol.ServerRole, protocol.ClientRole} {
			for _, transport := range []string{protocol.Stdio, protocol.HTTP} {
				if place++; !chosen(place-1, oneCrossingOf) {
					continue
				}
				t.Run(strings.Join([]string{role, revision, transport}, " "), func(t *testing.T) {
					t.Parallel()
					directory := t.TempDir()
					arguments := []string{role, "-q", "--revision", "all", "--filter", looked, "--json", "run.json"}
					switch {
					case role == protocol.ClientRole:
						arguments = append(arguments, "--transport", transport, "--", os.Args[0], "reference", "client", "--only", revision)
					case transport == protocol.HTTP:
						arguments = append(arguments, "--url", listening(t, "reference", "server", "--revision", revision))
					default:
						arguments = append(arguments, "--", os.Args[0], "reference", "server", "--stdio", "--revision", revision)
					}

					mcpconformIn(t, directory, arguments...).demand(t, 0, "at "+revision)

					judgedAlone(t, readRun(t, filepath.Join(directory, "run.json")), revision)
				})
			}
		}
	}
}

// judgedAlone demands that what passed in a run was at one revision, and that nothing failed,
// warned or remained open.
func judgedAlone(t *testing.T, run *reports.Run, revision string) {
	t.Helper()
	passed := 0
	for _, cell := range run.Cells {
		if cell.Spoken != (cell.Revision == revision) || !cell.Spoken && !strings.Contains(cell.Note, "not spoken") {
			t.Errorf("%s is spoken: %t, %q", cell.Revision, cell.Spoken, cell.Note)
		}
		for _, result := range cell.Results {
			if slices.Contains([]reports.Verdict{reports.Failed, reports.Warned, reports.Inconclusive}, result.Verdict) {
				t.Errorf("%s %s at %s: %+v", result.Text, result.Verdict, cell.Revision, result.Failures)
			}
			if result.Verdict == reports.Passed {
				passed++
			}
		}
	}
	if passed == 0 {
		t.Error("nothing passed")
	}
}
