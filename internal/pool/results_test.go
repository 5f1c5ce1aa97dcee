package pool

import (
	"cmp"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/worker"
)

// noted are results that are noted down.
type noted struct {
	pace       scope.Pace // of the target
	checked    []worker.Checked
	notices    []string
	gone       bool   // the target, as a check has found
	overloaded string // why the machine cannot carry the cell; "" where it can
}

// Permit lets every check run.
func (n *noted) Permit(int) worker.Permission { return worker.Permission{Run: true} }

// Begin notes nothing.
func (n *noted) Begin(string) {}

// Checked notes what a check has found.
func (n *noted) Checked(found worker.Checked) { n.checked = append(n.checked, found) }

// Connection notes nothing.
func (n *noted) Connection(int, scope.Connection, *worker.Exit) {}

// Drawn notes nothing.
func (n *noted) Drawn(int, worker.Drawn) {}

// Failed notes nothing.
func (n *noted) Failed(error) {}

// Notice notes a line.
func (n *noted) Notice(text string) { n.notices = append(n.notices, text) }

// Pace is that of the target.
func (n *noted) Pace(int) scope.Pace { return n.pace }

// Failing names a check that has failed for a requirement.
func (n *noted) Failing(_ int, requirement string) string {
	for _, one := range n.checked {
		if one.Outcome.Ending == check.Failed && one.Requirements[0] == requirement {
			return one.Text
		}
	}
	return ""
}

// End notes that the target is gone.
func (n *noted) End(worker.Checked) { n.gone = true }

// Overload notes why the machine cannot carry the cell, as it was said first.
func (n *noted) Overload(_ int, why string) { n.overloaded = cmp.Or(n.overloaded, why) }

// Ended tells whether the cell has ended.
func (n *noted) Ended(int) (why string, ended bool) {
	switch {
	case n.gone:
		return "the target went away", true
	case n.overloaded != "":
		return Overloaded, true
	}
	return "", false
}

// broken counts what breaks a requirement: that a check has failed, or that a request was left
// without a reply.
func (n *noted) broken() int {
	count := 0
	for _, one := range n.checked {
		if one.Outcome.Ending == check.Failed || one.Outcome.NoReply != nil {
			count++
		}
	}
	return count
}

// unhurried hands out the checks of a cell on which nothing was checked yet, and notes what is found.
func unhurried(t *testing.T, pace scope.Pace) (*coordinator, *noted) {
	t.Helper()
	const lanes = 3
	results := &noted{pace: pace}
	return newCoordinator(Job{
		Plan: worker.Plan{Cells: []worker.Cell{{
			Cell:  check.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.Stdio},
			Reply: 5 * time.Second,
		}}},
		Lanes: lanes, Checks: make([]plan.Declared, lanes),
	}, results), results
}
