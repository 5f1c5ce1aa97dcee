package cancellation

import (
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of the page about cancellation:
// basic/utilities/cancellation, and from 2026-07-28 on basic/patterns/cancellation.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends notifications/cancelled only for requests of its own",
			Verifies: rules.Verifies("cancellation.own-requests"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    foreignCancellations,
		},
		{
			Text:     "sends notifications/cancelled only for requests whose response it has not received",
			Verifies: rules.Verifies("cancellation.in-progress"),
			Judge:    lateCancellations,
		},
		{
			Text:     "never sends notifications/cancelled for initialize",
			Verifies: rules.Verifies("cancellation.not-initialize"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    rules.OfClient(cancelledInitializations),
		},
		{
			Text:     "cancels tasks with tasks/cancel, not with notifications/cancelled",
			Verifies: rules.Verifies("cancellation.not-tasks"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    taskCancellations,
		},
		{
			Text:     "sends notifications/cancelled only for subscriptions/listen",
			Verifies: rules.Verifies("cancellation.by-server.subscriptions"),
			Judge:    otherCancellations,
		},
	}
}

func foreignCancellations(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, cancelled := range facts.Withdrawals(conversation) {
		if cancelled.Request == nil && mayBeLost(conversation, cancelled.Message) {
			continue
		}
		reporter.Observe()
		if cancelled.Request == nil && conversation.Complete {
			reporter.Violation(cancelled.Message, rules.Mismatch{
				Wanted: "the id of a request that it has sent",
				Found:  cancelled.ID.String(),
				Where:  "/params/requestId",
			})
		}
	}
}

// mayBeLost tells whether the request that a cancellation names may have been sent over HTTP
// and be missing in the transcript: the POST of a client that cancels at once may arrive after
// the notification, or never, and a request that a server sends while no GET is open is lost,
// whereas a GET that is opened later brings the notification.
func mayBeLost(conversation *rules.Conversation, cancellation *rules.Message) bool {
	if protocol.Over(conversation.Transport).InOrder() {
		return false
	}
	return conversation.Role == protocol.ClientRole ||
		slices.ContainsFunc(exchanges.Of(conversation), func(one *exchanges.Exchange) bool {
			return one.Method == http.MethodGet && slices.Contains(one.Said, cancellation)
		})
}

func cancelledInitializations(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, cancelled := range facts.Withdrawals(conversation) {
		reporter.Observe()
		if cancelled.Request != nil && cancelled.Request.Method == "initialize" {
			reporter.Violation(cancelled.Message, rules.Mismatch{
				Wanted: "a request other than initialize",
				Found:  cancelled.ID.String() + ", which is initialize",
				Where:  "/params/requestId",
			})
		}
	}
}

// lateCancellations accuses only over stdio, where messages arrive in the
// order in which they are sent, and only when the target has shown that it handled
// something that was sent after the answer to its own request, and not at once: that may
// overtake the answer in a target that handles messages side by side, or carries each on by
// itself. What has become a task has a rule of its own.
func lateCancellations(conversation *rules.Conversation, reporter *rules.Reporter) {
	if !protocol.Over(conversation.Transport).InOrder() {
		return
	}
	latest := 0 // index up to which the target has handled what its peer said
	withdrawn := map[*rules.Message]facts.Withdrawal{}
	for _, cancelled := range facts.Withdrawals(conversation) {
		withdrawn[cancelled.Message] = cancelled
	}
	for _, message := range conversation.ByTarget() {
		latest = max(latest, handled(conversation, message))
		cancelled := withdrawn[message]
		if cancelled.Request == nil || cancelled.Request.Method == "initialize" || becameTask(cancelled.Request) {
			continue
		}
		reporter.Observe()
		if answers := cancelled.Request.Answers; len(answers) > 0 && answers[0].Index < latest {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "a request that is still in progress",
				Found:  cancelled.ID.String() + ", which was answered before",
				Where:  "/params/requestId",
			})
		}
	}
}

// handled returns the index up to which the target has handled what its peer said, as a
// message of it shows: that before which it had spoken when it was asked what it answers. A
// cursor it can only have of a page itself.
func handled(conversation *rules.Conversation, message *rules.Message) int {
	read := lastRead(conversation, message)
	if !rules.IsResponse(message) {
		return read
	}
	for _, earlier := range slices.Backward(conversation.Messages[:read]) {
		if earlier.FromTarget(conversation.Cell) {
			return earlier.Index
		}
	}
	return 0
}

// lastRead returns the index of the message of the peer that the target must have
// read to say something: the request that it answers, or the page whose cursor it
// sends.
func lastRead(conversation *rules.Conversation, message *rules.Message) int {
	if rules.IsResponse(message) && message.Request != nil {
		return message.Request.Index
	}
	cursor, asked := message.ParamsObject()["cursor"].(string)
	if !asked || cursor == "" {
		return 0
	}
	for _, earlier := range slices.Backward(conversation.Messages[:message.Index]) {
		if next, _ := facts.NextCursor(earlier); !earlier.FromTarget(conversation.Cell) && next.Value == cursor {
			return earlier.Index
		}
	}
	return 0
}

// becameTask tells whether a request was answered by a task, of either era.
func becameTask(request *rules.Message) bool {
	return tasks.OfRequest(request) != "" || len(request.Answers) > 0 && tasks.IsOfExtension(request.Answers[0])
}

func taskCancellations(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, cancelled := range facts.Withdrawals(conversation) {
		if cancelled.Request == nil || !tasks.AskedFor(cancelled.Request) {
			continue
		}
		reporter.Observe()
		if tasks.OfRequest(cancelled.Request) != "" && cancelled.Request.Answers[0].Index < cancelled.Index {
			reporter.Violation(cancelled.Message, rules.Mismatch{
				Wanted: "tasks/cancel for a request that became a task",
				Found:  "notifications/cancelled",
				Where:  "/method",
			})
		}
	}
}

// otherCancellations judges a server, which may cancel requests of its client if
// they are subscriptions.
func otherCancellations(conversation *rules.Conversation, reporter *rules.Reporter) {
	spoken := facts.Negotiations(conversation)
	subscribed := map[jsonrpc.ID]bool{}
	for _, message := range conversation.Messages {
		switch {
		case !message.FromTarget(conversation.Cell):
			subscribed[message.ID] = subscribed[message.ID] || rules.IsRequest(message) && message.Method == facts.ListenMethod
		case rules.IsMessage(message) && !protocol.Has(spoken[message.Index], protocol.ServerRequests):
			reporter.Observe()
			id := jsonrpc.IDOf(message.ParamsObject()["requestId"])
			if message.Method == facts.CancelledMethod && !subscribed[id] && conversation.Complete {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "the id of a subscription",
					Found:  rules.ShowMember(message.ParamsObject(), "requestId"),
					Where:  "/params/requestId",
				})
			}
		}
	}
}
