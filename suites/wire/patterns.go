package wire

import (
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// PatternRules are the rules of the page basic/patterns/index.
func PatternRules() []conform.Rule {
	return []conform.Rule{
		{
			Text:         "sends no requests of its own",
			Requirements: []string{"patterns.requests.none", "transports.stdio.no-requests", "transports.http.stream.no-requests"},
			Judge:        requestsOfServer,
		},
	}
}

// requestsOfServer leaves out what a client of the handshake era has begun on the same
// connection.
func requestsOfServer(conversation *conform.Conversation, sight *conform.Sight) {
	spoken := negotiations(conversation)
	for _, said := range conversation.ByTarget() {
		if !isMessage(said) || !scripted.Stateless(spoken[said.Index]) {
			continue
		}
		sight.Saw()
		if isRequest(said) {
			sight.Break(said, conform.Mismatch{
				Wanted: "responses and notifications only; what is asked of the client is in inputRequests",
				Found:  "a request of " + conform.Show(said.Method), Where: "/method",
			})
		}
	}
}
