package main

import (
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/plan"
)

// A mistake in a declaration is the harness's own, told by each command that is about checks.
func TestDeclarationsAreLookedThrough(t *testing.T) {
	t.Parallel()
	wrong := &plan.DeclarationError{Problems: []check.Problem{
		{Place: check.Place{File: "suites/a/server.go", Line: 3}, Of: `check "a"`, Wrong: "verifies nothing"},
		{Place: check.Place{File: "suites/b/rules.go", Line: 4}, Of: `rule "b"`, Wrong: "verifies nothing"},
	}}
	if status := statusOf(wrong); status != exitHarness {
		t.Errorf("ends with status %d, wanted %d", status, exitHarness)
	}
	want := "suites/a/server.go:3: the check \"a\" verifies nothing\nsuites/b/rules.go:4: the rule \"b\" verifies nothing"
	if wrong.Error() != want {
		t.Errorf("told %q, wanted %q", wrong.Error(), want)
	}
	if err := plan.Sound(nil); statusOf(err) != exitHarness || !strings.Contains(err.Error(), "which no fault breaks") {
		t.Errorf("without faults told %v", err)
	}
	looks := map[string]bool{"mcpconform server": true, "mcpconform client": true, "mcpconform list": true, "mcpconform selftest": true}
	for _, command := range newRoot().Commands() {
		if looks[command.CommandPath()] && !usesChecks(command) {
			t.Errorf("%s looks through no declarations", command.CommandPath())
		}
		for _, below := range command.Commands() {
			if usesChecks(below) {
				t.Errorf("%s looks through declarations", below.CommandPath())
			}
		}
	}
}
