package wire

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// directions are the rules of the stateless era about what messages have to do with
// (2026-07-28, basic/transports/stdio#receiving-messages).
func directions() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends notifications only while a request or a subscription is open",
			Requirements: []string{"transports.stdio.notifications"},
			Judge:        looseNotifications,
		},
	}
}

// looseNotifications judges notifications that come when no request is unanswered, nor
// was given up: that one may still be running is not the server's fault. A cancellation
// tells of a subscription that ends, before or after its response.
func looseNotifications(conversation *rules.Conversation, reporter *rules.Reporter) {
	spoken := negotiations(conversation)
	if conversation.Transport != protocol.Stdio {
		return
	}
	open := map[jsonrpc.ID]bool{}
	for _, said := range conversation.Messages {
		switch {
		case !said.FromTarget(conversation.Leg):
			if isRequest(said) {
				open[said.ID] = true
			}
		case isResponse(said):
			delete(open, said.ID)
		case said.Kind == jsonrpc.Notification && said.Method != "notifications/cancelled" && protocol.Has(spoken[said.Index], protocol.Subscriptions):
			reporter.Observe()
			if len(open) == 0 {
				reporter.Violation(said, rules.Mismatch{
					Wanted: "notifications about a request that is running, or of a subscription that is open",
					Found:  said.Method + " while there is none",
				})
			}
		}
	}
}

// relatedSubscriptions judges notifications that name a subscription.
func relatedSubscriptions(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges(conversation) {
		if !one.asks() || !one.streams() {
			continue
		}
		for _, said := range one.said {
			id, there := subscriptionID(said)
			if said.Kind != jsonrpc.Notification || !there {
				continue
			}
			reporter.Observe()
			if id != one.sent.ID {
				reporter.Violation(said, rules.Mismatch{
					Wanted: fmt.Sprintf("messages that relate to the request %s (%s)", one.sent.ID, one.sent.Method),
					Found:  fmt.Sprintf("%s of the subscription %s", said.Method, id),
					Where:  pointerTo([]string{"params", "_meta", mcp.MetaSubscription}),
				})
			}
		}
	}
}

// bufferingHeader tells proxies whether they may keep a response back until there is
// more of it.
const bufferingHeader = "X-Accel-Buffering"

func buffered(conversation *rules.Conversation, reporter *rules.Reporter) {
	if !conversation.Has(protocol.Unbuffered) {
		return
	}
	spoken := negotiations(conversation)
	for _, one := range exchanges(conversation) {
		if one.method != http.MethodPost || !one.streams() || !one.spoke(conversation.Revision, spoken) {
			continue
		}
		reporter.Observe()
		if value := one.head.HTTP.Header.Get(bufferingHeader); !strings.EqualFold(value, "no") {
			reporter.ViolationAt(*one.head, rules.Mismatch{
				Wanted: "the value no, as the response is an event stream", Found: fmt.Sprintf("%q", value), Where: "header " + bufferingHeader,
			}, one.explained()...)
		}
	}
}
