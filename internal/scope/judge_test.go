package scope_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestApplicableRules(t *testing.T) {
	t.Parallel()
	there := scopetest.New(t, protocol.ServerRole, protocol.Stdio)
	there.Rules = []rules.Rule{
		{Text: "stands", Verifies: rules.Verifies("ping.answered")},
		{Text: "stood", Verifies: rules.Verifies("ping.gone")},
		{Text: "over protocol.HTTP", Verifies: rules.Verifies("ping.status")},
		{Text: "in part", Verifies: rules.Verifies("ping.gone", "ping.later")},
	}
	applicable, otherTransport := there.ApplicableRules()
	if len(applicable) != 2 || applicable[0].Text != "stands" || applicable[1].Text != "in part" {
		t.Errorf("applicable are %v", applicable)
	}
	for _, rule := range there.Rules {
		if found := there.AppliesRule(rule); found != (rule.Text != "stood") {
			t.Errorf("%s: stands %t", rule.Text, found)
		}
	}
	want := map[string]string{"ping.status": "applies to the http and sse transport only"}
	if difference := cmp.Diff(want, otherTransport); difference != "" {
		t.Error(difference)
	}
}

// What a connection negotiated decides which rules judge it, and where that counts.
func TestRulesOfWhatWasNegotiated(t *testing.T) {
	t.Parallel()
	there := scopetest.New(t, protocol.ServerRole, protocol.Stdio)
	seen := func(_ *rules.Conversation, reporter *rules.Reporter) { reporter.Observe() }
	there.Rules = []rules.Rule{
		{Text: "stood", Verifies: rules.Verifies("ping.gone"), Judge: seen},
		{Text: "stands", Verifies: rules.Verifies("ping.later"), Judge: seen},
	}
	var recorded []scope.Connection
	there.Record = func(connection scope.Connection) { recorded = append(recorded, connection) }
	for version, wanted := range map[string]string{"2024-11-05": "stood", "2025-06-18": "stands"} {
		log := transcript.NewLog("connection")
		for _, event := range scopetest.Said(`>{"id":1,"method":"initialize"}`, `<{"id":1,"result":{"protocolVersion":"`+version+`"}}`) {
			log.Append(event)
		}
		there.Judge(log)
		found := recorded[len(recorded)-1]
		applicable := there.RulesAt(found.Cell)
		if found.Cell.Revision != version || len(found.Findings) != 1 || found.Findings[0].Rule != applicable[0].ID() || applicable[0].Text != wanted {
			t.Errorf("at %s: %+v", version, found)
		}
	}
}
