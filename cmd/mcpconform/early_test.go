//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestRelaysBeginEarly starts a relay, a reaper and what tells the version, which are over before the packages that
// take long are prepared.
func TestRelaysBeginEarly(t *testing.T) {
	t.Parallel()
	trace := []string{"GODEBUG=inittrace=1"}
	const late = "init github.com/santhosh-tekuri/jsonschema/v6 "
	if whole := begin(t, t.TempDir(), trace, "list", "--help").wait(); !strings.Contains(whole.stderr, late) {
		t.Errorf("no other command tells of %q:\n%s", late, whole)
	}
	relay := begin(t, t.TempDir(), trace, "relay", "/nowhere").wait()
	relay.demand(t, exitHarness, "mcpconform: the harness that started this client is gone: dial unix /nowhere: ")
	misused := begin(t, t.TempDir(), nil, "relay").wait()
	misused.demand(t, exitUsage, "mcpconform: relay takes the path of a socket")
	misused.oneLine(t)
	reaper := begin(t, t.TempDir(), trace, "reaper").wait()
	reaper.demand(t, exitConforms, "init os ")
	told := begin(t, t.TempDir(), trace, "--version").wait()
	told.demand(t, exitConforms, "init os ")
	for _, one := range []outcome{relay, reaper, told} {
		if strings.Contains(one.stderr, late) {
			t.Errorf("%q is prepared:\n%s", late, one)
		}
	}
}

// TestReferencesBeginEarly starts references, which serve before the packages of checks are prepared, and shows what
// only the whole program knows of them.
func TestReferencesBeginEarly(t *testing.T) {
	t.Parallel()
	trace := []string{"GODEBUG=inittrace=1"}
	const late = "init github.com/mcpconform/mcpconform/suites/"
	for _, arguments := range [][]string{
		{"reference", "server", "--help"}, {"reference", "client", "--help"}, {"reference", "server", "--stdoi"},
	} {
		if whole := begin(t, t.TempDir(), trace, arguments...).wait(); !strings.Contains(whole.stderr, late) {
			t.Errorf("%q does not begin as the whole program:\n%s", arguments, whole)
		}
	}
	server := begin(t, t.TempDir(), trace, "reference", "server", "--stdio").wait() // its input has ended
	server.demand(t, exitConforms, "init os ")
	client := begin(t, t.TempDir(), trace, "reference", "client", "http://127.0.0.1:1/mcp").wait()
	client.demand(t, exitDoesNot, "mcpconform: ")
	for _, one := range []outcome{server, client} {
		if strings.Contains(one.stderr, late) {
			t.Errorf("%q is prepared:\n%s", late, one)
		}
	}
}
