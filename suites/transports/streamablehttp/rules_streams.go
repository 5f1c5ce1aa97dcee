package streamablehttp

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// relatedSubscriptions judges notifications that name a subscription.
func relatedSubscriptions(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges.Of(conversation) {
		if !one.Asks() || !one.Streams() {
			continue
		}
		for _, message := range one.Said {
			id, there := facts.SubscriptionID(message)
			if message.Kind != jsonrpc.Notification || !there {
				continue
			}
			reporter.Observe()
			if id != one.Sent.ID {
				reporter.Violation(message, rules.Mismatch{
					Wanted: fmt.Sprintf("messages that relate to the request %s (%s)", one.Sent.ID, one.Sent.Method),
					Found:  fmt.Sprintf("%s of the subscription %s", message.Method, id),
					Where:  jsonrpc.Pointer("params", "_meta", mcp.MetaSubscription),
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
	spoken := facts.Negotiations(conversation)
	for _, one := range exchanges.Of(conversation) {
		if one.Method != http.MethodPost || !one.Streams() || !one.Spoke(conversation.Revision, spoken) {
			continue
		}
		reporter.Observe()
		if value := one.Head.HTTP.Header.Get(bufferingHeader); !strings.EqualFold(value, "no") {
			reporter.ViolationAt(*one.Head, rules.Mismatch{
				Wanted: "the value no, as the response is an event stream",
				Found:  fmt.Sprintf("%q", value),
				Where:  "header " + bufferingHeader,
			}, one.Explained()...)
		}
	}
}

// streamRules are the rules about event streams that answer a request.
func streamRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends an event with an id and empty data first on an SSE stream that uses event ids",
			Verifies: rules.Verifies("transports.http.stream.primed"),
			Needs:    []transcript.Lack{transcript.Whole},
			Judge:    primings,
		},
		{
			Text:     "eventually sends the response on the SSE stream of its request",
			Verifies: rules.Verifies("transports.http.stream.response"),
			Judge:    broughtResponses,
		},
		{Text: "keeps the stream of a request open until the response", Verifies: rules.Verifies("transports.http.stream.kept"), Judge: keptStreams},
		{
			Text:     "sends an SSE retry field before it closes the connection of an unfinished stream",
			Verifies: rules.Verifies("transports.http.stream.retry.sent"),
			Judge:    retries,
		},
		{
			Text:     "sends notifications/progress on the SSE stream of a request only for that request",
			Verifies: rules.Verifies("transports.http.stream.related"),
			Judge:    relatedProgress,
		},
		{
			Text:     "sends notifications of a subscription only on the SSE stream of that subscription",
			Verifies: rules.Verifies("transports.http.stream.of-subscription"),
			Judge:    relatedSubscriptions,
		},
		{
			Text:     "sends the header X-Accel-Buffering: no with event streams",
			Verifies: rules.Verifies("transports.http.stream.unbuffered"),
			Judge:    buffered,
		},
		{Text: "sends each message on only one SSE stream", Verifies: rules.Verifies("transports.http.streams.once"), Judge: broadcasts},
	}
}

// primings judges the first event of streams that have ids. A client cannot
// come back to others, so that there is nothing to ready it for. Of a client that asks
// for another revision the server does not know yet that it reads such an event.
func primings(conversation *rules.Conversation, reporter *rules.Reporter) {
	spoken := facts.Negotiations(conversation)
	for _, one := range exchanges.Of(conversation) {
		events := slices.DeleteFunc(slices.Clone(one.Events), onlyComments)
		if !one.Asks() || !one.Streams() || !slices.ContainsFunc(events, hasID) ||
			!one.Spoke(conversation.Revision, spoken) || opensOtherwise(one.Sent, conversation.Revision) {
			continue
		}
		reporter.Observe()
		if first := events[0]; first.Kind != transcript.Block || !first.SSE.HasData || exchanges.EventID(first) == "" {
			reporter.ViolationAt(first, rules.Mismatch{
				Wanted: "an event with an id and an empty data field at first", Found: describeEvent(first),
			}, one.Explained()...)
		}
	}
}

// opensOtherwise tells whether a message asks for another revision than one.
func opensOtherwise(sent *rules.Message, revision string) bool {
	if sent.Method != "initialize" {
		return false
	}
	return mcp.Value(sent.Object, "params", "protocolVersion") != revision
}

func hasID(event transcript.Event) bool { return exchanges.EventID(event) != "" }

// onlyComments tells whether a block is no event, as clients see it.
func onlyComments(event transcript.Event) bool {
	return event.Kind == transcript.Block && event.SSE != nil &&
		event.SSE.ID == nil && !event.SSE.HasData && event.SSE.Retry == nil && event.SSE.Name == ""
}

func describeEvent(event transcript.Event) string {
	id := "without an id"
	if exchanges.EventID(event) != "" {
		id = fmt.Sprintf("with the id %q", exchanges.EventID(event))
	}
	if event.Kind == transcript.Message {
		return "an event " + id + " and the data " + excerpt.Short(event.Raw)
	}
	if event.SSE != nil && event.SSE.HasData {
		return "an event " + id + " and empty data"
	}
	return "an event " + id + " and no data field"
}

func broughtResponses(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, spoken := exchanges.Of(conversation), facts.Negotiations(conversation)
	for _, one := range all {
		if !one.Asks() || !one.Streams() || one.Cancelled(conversation) || !one.Spoke(conversation.Revision, spoken) ||
			one.Sent.Method == "subscriptions/listen" { // whose end has sentences of its own
			continue
		}
		family := one.Family(all)
		last := family[len(family)-1]
		ended := !slices.ContainsFunc(family, func(other *exchanges.Exchange) bool { return !other.EndedInPeace(all) })
		switch {
		case one.AnsweredIn(family):
			reporter.Observe()
		case slices.ContainsFunc(family, (*exchanges.Exchange).Misnamed):
		case ended && conversation.Complete && !waits(last, conversation):
			reporter.Observe()
			reporter.ViolationAt(*last.End, rules.Mismatch{
				Wanted: "the response to " + one.Sent.Method + " before the stream ends",
				Found:  "the end of the stream, which was not resumed",
			}, one.Explained()...)
		}
	}
}

// waits tells whether the server may wait for the client to resume a stream: it closed the
// connection after an event with an id, as it may at revisions with polling, and the client has
// not resumed.
func waits(last *exchanges.Exchange, conversation *rules.Conversation) bool {
	return conversation.Has(protocol.Polling) && slices.ContainsFunc(last.Events, hasID)
}

func keptStreams(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, spoken := exchanges.Of(conversation), facts.Negotiations(conversation)
	for _, one := range all {
		if !one.Asks() || !one.Streams() || !one.EndedInPeace(all) || one.Cancelled(conversation) ||
			!conversation.Complete || !one.Spoke(conversation.Revision, spoken) ||
			one.Misnamed() {
			continue
		}
		reporter.Observe()
		if one.Answer(one.Said) == nil {
			reporter.ViolationAt(*one.End, rules.Mismatch{
				Wanted: "that the stream stays open until the response to " + one.Sent.Method,
				Found:  "the end of the stream before the response",
			}, one.Explained()...)
		}
	}
}

// retries judges streams that the server closed and that turned out not to
// have ended: the response was missing, or more came when they were resumed.
func retries(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, spoken := exchanges.Of(conversation), facts.Negotiations(conversation)
	for _, one := range all {
		if !one.Streams() || !one.EndedInPeace(all) || !closedEarly(one, conversation, all) ||
			!one.Spoke(conversation.Revision, spoken) {
			continue
		}
		reporter.Observe()
		if !slices.ContainsFunc(one.Events, func(event transcript.Event) bool { return event.SSE != nil && event.SSE.Retry != nil }) {
			reporter.ViolationAt(*one.End, rules.Mismatch{
				Wanted: "an event with a retry field before the connection closes",
				Found:  "none on " + one.Request.Stream,
			}, one.Explained()...)
		}
	}
}

func closedEarly(one *exchanges.Exchange, conversation *rules.Conversation, all []*exchanges.Exchange) bool {
	if root := one.Root(); root.Asks() {
		soFar := slices.DeleteFunc(root.Family(all), func(other *exchanges.Exchange) bool { return other.Request.Sequence > one.Request.Sequence })
		return slices.ContainsFunc(one.Events, hasID) && conversation.Complete && !root.AnsweredIn(soFar) &&
			!root.Cancelled(conversation)
	}
	return slices.ContainsFunc(all, func(later *exchanges.Exchange) bool {
		return later.Resumes == one && later.Streams() && len(later.Said) > 0 && !replays(later, one)
	})
}

// replays tells whether all that a resumed stream brought had been sent before
// its connection was closed.
func replays(later, one *exchanges.Exchange) bool {
	return !slices.ContainsFunc(later.Said, func(message *rules.Message) bool {
		return !slices.ContainsFunc(one.Said, func(earlier *rules.Message) bool { return bytes.Equal(earlier.Raw, message.Raw) })
	})
}

// askedFor finds the request of the peer that a progress notification of the
// target is about; nil when it is none, or the token is not unique.
func askedFor(message *rules.Message, conversation *rules.Conversation) *rules.Message {
	if message.Method != "notifications/progress" {
		return nil
	}
	token, there := message.ParamsObject()["progressToken"]
	if !there {
		return nil
	}
	var found *rules.Message
	for _, request := range conversation.Messages[:message.Index] {
		asked, asks := rules.ProgressToken(request)
		if request.FromTarget(conversation.Cell) || !asks || jsonrpc.IDOf(asked) != jsonrpc.IDOf(token) {
			continue
		}
		if found != nil {
			return nil
		}
		found = request
	}
	return found
}

func relatedProgress(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges.Of(conversation)
	for _, one := range all {
		root := one.Root()
		if !root.Asks() || !one.Streams() || strings.HasPrefix(root.Sent.Method, "tasks/") {
			continue // what belongs to a task relates to the request that began it, too
		}
		for _, message := range one.Said {
			request := askedFor(message, conversation)
			if request == nil || one != root && foreignTo(root, message, one, all) != "" {
				continue // what is replayed wrongly has a rule of its own
			}
			reporter.Observe()
			if request != root.Sent {
				reporter.Violation(message, rules.Mismatch{
					Wanted: fmt.Sprintf("messages that relate to the request %s (%s)", root.Sent.ID, root.Sent.Method),
					Found:  fmt.Sprintf("progress of the request %s (%s)", request.ID, request.Method),
				})
			}
		}
	}
}

// broadcasts judges messages that say which they are: responses and requests
// by their id, progress by its value and a token that one request gave. Others
// may be sent again with the same words; so may a request whose id is none, or was
// answered before it was used again.
func broadcasts(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Transport != protocol.HTTP {
		return
	}
	type sent struct {
		message *rules.Message
		on      *exchanges.Exchange
	}
	before := map[string]sent{}
	given := tokensGiven(conversation)
	all := exchanges.Of(conversation)
	for _, one := range all {
		if one.Root() != one || !one.Streams() {
			continue // what is resumed may be delivered again
		}
		if _, resumes := one.LastEventID(); resumes {
			continue
		}
		for _, message := range one.Said {
			name := identity(message, one, given)
			if name == "" {
				continue
			}
			if slices.ContainsFunc(all, func(other *exchanges.Exchange) bool { return other != one && other.OpenAt(message.Event) }) {
				reporter.Observe()
			}
			if earlier := before[name]; earlier.on != nil && earlier.on != one && earlier.on.OpenAt(message.Event) &&
				!answeredBy(earlier.message, message.Event) {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "each message on one stream",
					Found:  fmt.Sprintf("the same message on %s and on %s", earlier.on.Request.Stream, one.Request.Stream),
				})
			}
			before[name] = sent{message, one}
		}
	}
}

// answeredBy tells whether a request had its answer before an event.
func answeredBy(request *rules.Message, event transcript.Event) bool {
	return slices.ContainsFunc(request.Answers, func(answer *rules.Message) bool { return answer.Event.Sequence < event.Sequence })
}

// tokensGiven counts the requests that gave each progress token.
func tokensGiven(conversation *rules.Conversation) map[jsonrpc.ID]int {
	given := map[jsonrpc.ID]int{}
	for _, message := range conversation.ByPeer() {
		if token, there := rules.ProgressToken(message); there {
			given[jsonrpc.IDOf(token)]++
		}
	}
	return given
}

func identity(message *rules.Message, one *exchanges.Exchange, given map[jsonrpc.ID]int) string {
	switch {
	case message.Kind == jsonrpc.Request && (message.ID.IsString() || message.ID.IsInteger()),
		message.Kind == jsonrpc.Response && !facts.IsAnonymous(message):
		return one.Session() + " " + string(message.Raw)
	case message.Method == "notifications/progress":
		if given[jsonrpc.IDOf(message.ParamsObject()["progressToken"])] > 1 {
			return "" // it may be the progress of either request
		}
		return one.Session() + " " + string(message.Raw)
	}
	return ""
}
