package ping

import (
	"fmt"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
)

// Rules are the rules of the page basic/utilities/ping.
func Rules() []rules.Rule {
	return []rules.Rule{
		{Text: "answers every ping with an empty result", Verifies: rules.Verifies("ping.answered"), Judge: filledPongs},
		{
			Text:     "sends ping without params",
			Verifies: rules.Verifies("ping.no-parameters"),
			Judge:    rules.Every(isPing, parameters),
		},
		{
			Text:     "does not flood its peer with ping requests",
			Verifies: rules.Verifies("ping.not-excessive"),
			Judge:    excessivePings,
		},
	}
}

func isPing(said *rules.Message) bool { return rules.IsRequest(said) && said.Method == "ping" }

// filledPongs judges the answers to pings of a session that is established;
// before, with an HTTP error, and where the ping was cancelled, a refusal is in
// order.
func filledPongs(conversation *rules.Conversation, reporter *rules.Reporter) {
	handshake := facts.HandshakeOf(conversation)
	refused := rules.RefusedStreams(conversation)
	cancelled := map[jsonrpc.ID]bool{}
	for _, said := range conversation.Messages {
		if named, there := said.ParamsObject()["requestId"]; there && said.Method == "notifications/cancelled" &&
			!said.FromTarget(conversation.Leg) {
			cancelled[jsonrpc.IDOf(named)] = true
		}
		if !rules.IsResponse(said) || said.Request == nil || said.Request.Method != "ping" ||
			!said.FromTarget(conversation.Leg) {
			continue
		}
		if refused[said.Event.Stream] || cancelled[said.ID] {
			continue
		}
		if handshake == nil || said.Request.Index < handshake.Index || said.Request.Event.Deliberate != "" {
			continue
		}
		reporter.Observe()
		result := said.ResultObject()
		_, meta := result["_meta"]
		if rules.IsRefusal(said) || result == nil || len(result) > 1 || len(result) == 1 && !meta {
			reporter.Violation(said, rules.Mismatch{Wanted: "an empty result", Found: excerpt.Short(said.Raw)})
		}
	}
}

func parameters(said *rules.Message) rules.Mismatch {
	for name := range said.ParamsObject() {
		if name != "_meta" {
			return rules.Mismatch{Wanted: "no parameters", Found: rules.Show(said.Params()), Where: "/params"}
		}
	}
	return rules.Mismatch{}
}

// mostPings is how many pings in one second nobody can need.
const mostPings = 20

func excessivePings(conversation *rules.Conversation, reporter *rules.Reporter) {
	pings := conversation.Requests("ping")
	for range pings {
		reporter.Observe()
	}
	if last := rules.Flood(pings, mostPings); last != nil {
		reporter.Violation(last, rules.Mismatch{
			Wanted: "pings at a moderate pace", Found: fmt.Sprintf("more than %d within a second", mostPings),
		})
	}
}
