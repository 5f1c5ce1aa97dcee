package ping

import (
	"fmt"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of the page basic/utilities/ping.
func Rules() []rules.Rule {
	return []rules.Rule{
		{Text: "answers every ping with an empty result", Verifies: rules.Verifies("ping.answered"), Needs: []transcript.Lack{transcript.HTTPHead}, Judge: filledPongs},
		{Text: "sends ping without params", Verifies: rules.Verifies("ping.no-parameters"), Judge: rules.Every(isPing, parameters)},
		{Text: "does not flood its peer with ping requests", Verifies: rules.Verifies("ping.not-excessive"), Needs: []transcript.Lack{transcript.Times}, Judge: excessivePings},
	}
}

func isPing(message *rules.Message) bool { return rules.IsRequest(message) && message.Method == "ping" }

// filledPongs judges the answers to pings of a session that is established;
// before, with an HTTP error, and where the ping was cancelled, a refusal is in
// order.
func filledPongs(conversation *rules.Conversation, reporter *rules.Reporter) {
	handshake := facts.HandshakeOf(conversation)
	refused := rules.RefusedStreams(conversation)
	cancelled := map[jsonrpc.ID]bool{}
	for _, message := range conversation.Messages {
		if named, there := message.ParamsObject()["requestId"]; there && message.Method == "notifications/cancelled" &&
			!message.FromTarget(conversation.Cell) {
			cancelled[jsonrpc.IDOf(named)] = true
		}
		if !rules.IsResponse(message) || message.Request == nil || message.Request.Method != "ping" ||
			!message.FromTarget(conversation.Cell) {
			continue
		}
		if refused[message.Event.Stream] || cancelled[message.ID] {
			continue
		}
		if handshake == nil || message.Request.Index < handshake.Index || message.Request.Event.IsIllegal() {
			continue
		}
		reporter.Observe()
		result := message.ResultObject()
		_, meta := result["_meta"]
		if rules.IsRefusal(message) || result == nil || len(result) > 1 || len(result) == 1 && !meta {
			reporter.Violation(message, rules.Mismatch{Wanted: "an empty result", Found: excerpt.Short(message.Raw)})
		}
	}
}

func parameters(message *rules.Message) rules.Mismatch {
	for name := range message.ParamsObject() {
		if name != "_meta" {
			return rules.Mismatch{Wanted: "no parameters", Found: rules.Show(message.Params()), Where: "/params"}
		}
	}
	return rules.Mismatch{}
}

// mostPings is how many pings in one second are more than any peer needs.
const mostPings = 20

func excessivePings(conversation *rules.Conversation, reporter *rules.Reporter) {
	pings := conversation.Requests("ping")
	for range pings {
		reporter.Observe()
	}
	if last := rules.Flood(pings, mostPings); last != nil {
		reporter.Violation(last, rules.Mismatch{Wanted: "pings at a moderate pace", Found: fmt.Sprintf("more than %d within a second", mostPings)})
	}
}
