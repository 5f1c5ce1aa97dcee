package session

import (
	"strings"
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
)

// Every kind that is ruled out gates: no tool is called for it, and the reason says
// who ruled it out.
func TestNeverGates(t *testing.T) {
	t.Parallel()
	environment := environment(t, protocol.Stdio)
	environment.Provocations = map[string]Provocation{}
	needs := func(kind string) *Declaration {
		return &Declaration{Requirements: []string{"ping.answered"}, Provocations: []string{kind}}
	}
	for _, kind := range provoke.Kinds() {
		environment.Provocations[kind] = Provocation{Tool: "say"}
		environment.Never = provoke.Never{}
		if outcome := environment.gate(needs(kind)); outcome.Ending == Skipped && strings.Contains(outcome.Reason, "never") {
			t.Errorf("%s: %+v", kind, outcome)
		}
		environment.Never = provoke.Never{Names: []string{kind}, By: "mcpconform.yaml"}
		outcome := environment.gate(needs(kind))
		if _, there := environment.provocation(kind); there || outcome.Ending != Skipped || outcome.Reason != "never "+kind+", by mcpconform.yaml" {
			t.Errorf("%s: %v, %+v", kind, there, outcome)
		}
		environment.Role = protocol.ClientRole
		if word := environment.never(needs(kind)); word != "" {
			t.Errorf("of a client: %s", word)
		}
		environment.Role = protocol.ServerRole
	}
}
