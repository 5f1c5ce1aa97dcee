package scope_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	cell := scopetest.New(t, protocol.ServerRole, protocol.Stdio)
	for name, test := range map[string]struct {
		got, want []string
	}{
		"what it verifies": {
			cell.Labels(&Declaration{Requirements: []string{"ping.later", "ping.answered"}}),
			[]string{"ping.later", "ping.answered", "basic", "basic∕utilities", "basic∕utilities∕ping", "ping", "SHOULD", "2025-06-18", "stdio", "MUST"},
		},
		"what it needs": {
			cell.Labels(&Declaration{
				Capabilities: []string{"tools"}, Extensions: []string{"tasks"}, Provocations: []string{"slow"}, Tokens: []oauth.Kind{oauth.Good},
				Transports: []string{protocol.Stdio}, Scenario: &scenario.Scenario{Name: "plain"}, Together: "tasks", Alone: true,
			}),
			[]string{"needs:tools", "extended-by:tasks", "provoked-by:slow", "token:" + string(oauth.Good), "over:stdio", "in:plain", "together:tasks", "alone"},
		},
		"a rule": {
			cell.RuleLabels(rules.Rule{Verifies: rules.Verifies("ping.status")}),
			[]string{"ping.status", "basic", "basic∕utilities", "basic∕utilities∕ping", "ping", "MUST", "MUST NOT", "2025-06-18", "stdio"},
		},
	} {
		if difference := cmp.Diff(test.want, test.got); difference != "" {
			t.Errorf("%s: %s", name, difference)
		}
	}
}
