package clientrun

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
)

// look has a check look at a client of which there are recordings, in one of the scenarios,
// and returns how the check ended.
func look(t *testing.T, in *scenario.Scenario, judge func(*T), recordings ...*scenario.Recording) Outcome {
	t.Helper()
	runner := &Runner{Scope: scopetest.New(t, protocol.ClientRole, protocol.Stdio), Recordings: map[string]*scenario.Recording{}}
	for _, one := range recordings {
		runner.Recordings[one.Scenario] = one
	}
	declared := &Declaration{Scenario: in}
	runner.Know([]*Declaration{declared})
	check := New(t.Context(), runner.Cell, declared)
	runner.Begin(check)
	check.Run(func() { judge(check) })
	return check.Outcome
}
