//go:build linux

package main

import "testing"

// TestRevisionNew refuses in a line what it cannot make a revision of; internal/nextrevision
// writes one.
func TestRevisionNew(t *testing.T) {
	t.Parallel()
	for says, arguments := range map[string][]string{
		". is not a checkout of mcpconform":                {"new", "2999-12-31", "--from", "2026-07-28"},
		`"2027" is not the date of a revision`:             {"new", "2027"},
		"new takes one date: mcpconform revision new":      {"new"},
		"mcpconform revision --help shows what there is":   {},
		`unknown command "nwe"; known are new`:             {"nwe"},
		"2026-07-28 is a revision already":                 {"new", "2026-07-28", "--dir", repository},
		"2026-01-01 is older than --from 2026-07-28":       {"new", "2026-01-01", "--dir", repository},
		"--from 2025-11-25 is not the newest revision of ": {"new", "2999-12-31", "--from", "2025-11-25", "--dir", repository},
	} {
		found := mcpconformIn(t, ".", append([]string{"revision"}, arguments...)...)
		found.demand(t, exitUsage, says)
		found.oneLine(t)
	}
}
