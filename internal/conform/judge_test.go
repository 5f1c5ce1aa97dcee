package conform

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestStandingRules(t *testing.T) {
	t.Parallel()
	environment := environment(t, protocol.Stdio)
	environment.Rules = []rules.Rule{
		{Text: "stands", Requirements: []string{"ping.answered"}},
		{Text: "stood", Requirements: []string{"ping.gone"}},
		{Text: "over protocol.HTTP", Requirements: []string{"ping.status"}},
		{Text: "in part", Requirements: []string{"ping.gone", "ping.later"}},
	}
	standing, elsewhere := environment.StandingRules()
	if len(standing) != 2 || standing[0].Text != "stands" || standing[1].Text != "in part" {
		t.Errorf("standing are %v", standing)
	}
	for _, rule := range environment.Rules {
		if found := Stands(environment.RuleLabels(rule)); found != (rule.Text != "stood") {
			t.Errorf("%s: stands %t", rule.Text, found)
		}
	}
	want := map[string]string{"ping.status": "applies to the http and sse transport only"}
	if difference := cmp.Diff(want, elsewhere); difference != "" {
		t.Error(difference)
	}
}

// What a connection negotiated decides which rules judge it, and where that counts.
func TestRulesOfWhatWasNegotiated(t *testing.T) {
	t.Parallel()
	environment := environment(t, protocol.Stdio)
	seen := func(_ *Conversation, reporter *rules.Reporter) { reporter.Observe() }
	environment.Rules = []rules.Rule{
		{Text: "stood", Requirements: []string{"ping.gone"}, Judge: seen},
		{Text: "stands", Requirements: []string{"ping.later"}, Judge: seen},
	}
	var recorded []Connection
	environment.Record = func(connection Connection) { recorded = append(recorded, connection) }
	for version, wanted := range map[string]string{"2024-11-05": "stood", "2025-06-18": "stands"} {
		log := transcript.NewLog("connection")
		for _, event := range said(`>{"id":1,"method":"initialize"}`, `<{"id":1,"result":{"protocolVersion":"`+version+`"}}`) {
			log.Append(event)
		}
		environment.judge(log)
		found := recorded[len(recorded)-1]
		standing := environment.rulesAt(found.Leg)
		if found.Leg.Revision != version || len(found.Findings) != 1 || found.Findings[0].Rule != standing[0].ID() || standing[0].Text != wanted {
			t.Errorf("at %s: %+v", version, found)
		}
	}
}
