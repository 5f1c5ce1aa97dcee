package stdio

import (
	"fmt"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/lines"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of stdio.
func Rules() []rules.Rule { return append(lineRules(), notificationRules()...) }

// notificationRules are the rules of the stateless era about what messages have to do with
// (2026-07-28, basic/transports/stdio#receiving-messages).
func notificationRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends notifications only while a request or a subscription is open",
			Verifies: rules.Verifies("transports.stdio.notifications"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    looseNotifications,
		},
	}
}

// looseNotifications judges notifications that come when no request is unanswered, nor
// was given up: that one may still be running is not the server's fault. A cancellation
// tells of a subscription that ends, before or after its response; and that one is
// acknowledged after its end is for the page of subscriptions to judge.
func looseNotifications(conversation *rules.Conversation, reporter *rules.Reporter) {
	spoken := facts.Negotiations(conversation)
	if conversation.Transport != protocol.Stdio {
		return
	}
	open, listened := map[jsonrpc.ID]bool{}, map[jsonrpc.ID]bool{}
	for _, message := range conversation.Messages {
		switch {
		case !message.FromTarget(conversation.Cell):
			if rules.IsRequest(message) {
				open[message.ID], listened[message.ID] = true, message.Method == facts.ListenMethod
			}
		case rules.IsResponse(message):
			delete(open, message.ID)
		case message.Method == facts.AcknowledgedMethod && acknowledges(message, listened):
		case message.Kind == jsonrpc.Notification && message.Method != "notifications/cancelled" && protocol.Has(spoken[message.Index], protocol.Subscriptions):
			reporter.Observe()
			if len(open) == 0 {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "notifications for a request in progress, or on an open subscription",
					Found:  message.Method + " while there is none",
				})
			}
		}
	}
}

func acknowledges(message *rules.Message, listened map[jsonrpc.ID]bool) bool {
	id, named := facts.SubscriptionID(message)
	return named && listened[id]
}

// lineRules are about what is written on standard output and input.
func lineRules() []rules.Rule {
	return []rules.Rule{
		{Text: "sends messages without embedded newlines over stdio", Verifies: rules.Verifies("transports.stdio.newlines"), Needs: []transcript.Lack{transcript.RawBytes}, Judge: embeddedNewlines},
		{
			Text:     "writes only MCP messages to its peer over stdio",
			Verifies: rules.Verifies("transports.stdio.stdout", "transports.stdio.stdin"),
			Needs:    []transcript.Lack{transcript.RawBytes},
			Judge:    otherOutput,
		},
	}
}

func embeddedNewlines(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Transport != protocol.Stdio {
		return
	}
	messages := conversation.ByTarget()
	parts := lines.Spread(messages)
	for index, one := range messages {
		reporter.Observe()
		if parts[index] > 0 {
			reporter.Violation(one, rules.Mismatch{
				Wanted: "a message on one line",
				Found:  fmt.Sprintf("one on %d lines, the first of which is %s", parts[index], excerpt.Short(one.Raw)),
			})
		} else if count := lines.ObjectsIn(one); count > 1 {
			reporter.Violation(one, rules.Mismatch{
				Wanted: "a newline after each message",
				Found:  fmt.Sprintf("%d messages on one line: %s", count, excerpt.Short(one.Raw)),
			})
		}
	}
}

// otherOutput judges lines that were never meant for messages. What is meant for
// one, and is none, has rules of its own.
func otherOutput(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Transport != protocol.Stdio {
		return
	}
	messages := conversation.ByTarget()
	parts := lines.Spread(messages)
	for index := 0; index < len(messages); index++ {
		if parts[index] > 0 {
			index += parts[index] - 1 // messages, though on several lines
			continue
		}
		reporter.Observe()
		if one := messages[index]; !lines.MeantAsMessage(one) {
			reporter.Violation(one, rules.Mismatch{Wanted: "an MCP message", Found: fmt.Sprintf("the line %q", excerpt.Short(one.Raw))})
		}
	}
}
