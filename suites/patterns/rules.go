// Package patterns has the rules of the page basic/patterns: which side sends what.
package patterns

import (
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
)

// Rules are the rules of the page basic/patterns/index.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends no JSON-RPC requests",
			Verifies: rules.Verifies("patterns.requests.none", "transports.stdio.no-requests", "transports.http.stream.no-requests"),
			Judge:    requestsOfServer,
		},
		{
			Text:     "sends no JSON-RPC responses",
			Verifies: rules.Verifies("patterns.responses.none", "transports.stdio.no-responses", "transports.http.post.body"),
			Judge:    rules.OfClient(responsesOfClient),
		},
	}
}

// responsesOfClient leaves what can only be meant for a notification to the rule
// about these, and what is said in a handshake to the other era. What cannot be read may
// be refused (JSON-RPC 2.0, section 5): that is no answer to a request.
func responsesOfClient(conversation *rules.Conversation, reporter *rules.Reporter) {
	spoken, before := facts.Negotiations(conversation), facts.PriorOf(conversation)
	for _, message := range conversation.ByTarget() {
		if !rules.IsMessage(message) || protocol.Has(spoken[message.Index], protocol.ServerRequests) ||
			facts.IsAnonymous(message) && (before.OnlyNotifications(message) || before.Illegal(message)) {
			continue
		}
		if rules.IsRefusal(message) && message.Request == nil && before.Illegal(message) {
			continue
		}
		reporter.Observe()
		if rules.IsResponse(message) {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "only requests and notifications; inputRequests are answered in inputResponses",
				Found:  "a response: " + excerpt.Short(message.Raw),
			})
		}
	}
}

// requestsOfServer leaves out what a client of the handshake era has begun on the same
// connection.
func requestsOfServer(conversation *rules.Conversation, reporter *rules.Reporter) {
	spoken := facts.Negotiations(conversation)
	for _, message := range conversation.ByTarget() {
		if !rules.IsMessage(message) || protocol.Has(spoken[message.Index], protocol.ServerRequests) {
			continue
		}
		reporter.Observe()
		if rules.IsRequest(message) {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "only responses and notifications; requests to the client belong in inputRequests",
				Found:  "a request of " + rules.Show(message.Method), Where: "/method",
			})
		}
	}
}
