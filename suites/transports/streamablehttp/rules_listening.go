package streamablehttp

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// listeningRules are the rules about streams opened with GET.
func listeningRules() []rules.Rule {
	return []rules.Rule{
		{Text: "answers GET with text/event-stream or HTTP 405", Verifies: rules.Verifies("transports.http.get.answered"), Judge: answeredGets},
		{Text: "sends no response on a stream opened with GET", Verifies: rules.Verifies("transports.http.get.no-response"), Judge: unaskedResponses},
		{
			Text:     "sends no notifications/progress of a running request on a stream opened with GET",
			Verifies: rules.Verifies("transports.http.get.unrelated"),
			Judge:    unrelatedProgress,
		},
	}
}

// answeredGets leaves out what says nothing of GET: that the server has too
// much to do for the moment, that the session is over, that one stream is all that a client
// gets, that who asks is not let in, or asks at another version than was agreed or out of the session.
func answeredGets(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges.Of(conversation)
	for _, one := range all {
		if !one.Listens() || one.Deliberate() || one.Head == nil {
			continue
		}
		switch one.Status() {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusUnauthorized, http.StatusForbidden:
			continue
		case http.StatusBadRequest:
			if version := one.Request.HTTP.Header.Get(transport.VersionHeader); one.Session() == "" ||
				version != "" && version != conversation.Revision {
				continue
			}
		case http.StatusNotFound:
			if sessionOver(one, all) {
				continue
			}
		case http.StatusConflict:
			if slices.ContainsFunc(all, func(other *exchanges.Exchange) bool { return other.Listens() && other.OpenAt(one.Request) }) {
				continue
			}
		}
		reporter.Observe()
		if one.Status() == http.StatusMethodNotAllowed || one.Status() == http.StatusOK && one.Streams() {
			continue
		}
		reporter.ViolationAt(*one.Head, rules.Mismatch{
			Wanted: "an event stream, or HTTP 405 (Method Not Allowed)",
			Found:  fmt.Sprintf("HTTP %d of the content type %q", one.Status(), one.Head.HTTP.Header.Get("Content-Type")),
			Where:  "HTTP status",
		}, one.Explained()...)
	}
}

// sessionOver tells whether the session of an exchange may have ended before
// it: nothing that came later was accepted in it, or the client has ended it
// before it had the answer, and the one may have overtaken the other.
func sessionOver(one *exchanges.Exchange, all []*exchanges.Exchange) bool {
	return one.Session() != "" &&
		(one.Overtaken(all) || !slices.ContainsFunc(all, func(later *exchanges.Exchange) bool {
			return later.Method == http.MethodPost && later.Session() == one.Session() &&
				later.Request.Sequence > one.Request.Sequence && later.Accepted()
		}))
}

func unaskedResponses(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges.Of(conversation)
	gets := slices.DeleteFunc(slices.Clone(all), func(one *exchanges.Exchange) bool { return !one.Listens() || !one.Streams() })
	for _, one := range all {
		_, resumes := one.LastEventID()
		for _, message := range one.Said {
			switch {
			case message.Kind != jsonrpc.Response:
			case one.Root().Listens() && one.Streams():
				reporter.Observe()
				reporter.Violation(message, rules.Mismatch{
					Wanted: "the response on the stream of its request",
					Found:  "the response on " + one.Request.Stream + ", opened with GET",
				})
			case !resumes && slices.ContainsFunc(gets, func(get *exchanges.Exchange) bool { return get.OpenAt(message.Event) }):
				reporter.Observe() // it could have come there
			}
		}
	}
}

// unrelatedProgress judges progress of requests whose own stream is open, so
// that it could have gone there. That of a task is left out: it goes on when its
// request is answered, and which of two streams was first is not to be seen.
func unrelatedProgress(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges.Of(conversation)
	ownStream := func(request *rules.Message, at transcript.Event) *exchanges.Exchange {
		index := slices.IndexFunc(all, func(one *exchanges.Exchange) bool { return one.Sent == request && one.OpenAt(at) })
		if index < 0 {
			return nil
		}
		return all[index]
	}
	for _, one := range all {
		for _, message := range one.Said {
			request := askedFor(message, conversation)
			if request == nil || ofTask(message) || ownStream(request, message.Event) == nil {
				continue
			}
			listening := slices.ContainsFunc(all, func(get *exchanges.Exchange) bool { return get.Listens() && get.OpenAt(message.Event) })
			if listening {
				reporter.Observe()
			}
			if one.Root().Listens() {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "progress on the stream of its request, which is open",
					Found:  "progress on " + one.Request.Stream + ", opened with GET",
				})
			}
		}
	}
}

func ofTask(message *rules.Message) bool {
	_, related := message.Meta()[mcp.RelatedTask]
	return related
}

// resumptionRules are the rules about event ids and what they are good for.
func resumptionRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends events with ids that are unique in the session",
			Verifies: rules.Verifies("transports.http.events.unique"),
			Judge:    uniqueEvents,
		},
		{Text: "replays only messages of the resumed stream", Verifies: rules.Verifies("transports.http.resume.own-stream"), Judge: ownReplays},
	}
}

// uniqueEvents compares the events of streams that resume none: those replay
// events with the ids that they had.
func uniqueEvents(conversation *rules.Conversation, reporter *rules.Reporter) {
	type known struct {
		one     *exchanges.Exchange
		message bool
	}
	used := map[string]known{}
	for _, one := range exchanges.Of(conversation) {
		if _, resumes := one.LastEventID(); resumes {
			continue
		}
		for _, event := range one.Events {
			id := exchanges.EventID(event)
			if id == "" {
				continue
			}
			if len(used) > 0 { // one alone is always unique
				reporter.Observe()
			}
			name := one.Session() + " " + id
			earlier, there := used[name]
			message := event.Kind == transcript.Message
			// An event without a message may point at the last one that had one.
			if there && (earlier.one != one || earlier.message && message) {
				reporter.ViolationAt(event, rules.Mismatch{
					Wanted: "ids that no other event of the session has",
					Found:  fmt.Sprintf("the id %q on %s and on %s", id, earlier.one.Request.Stream, one.Request.Stream),
				}, one.Explained()...)
			}
			used[name] = known{one, message || there && earlier.message}
		}
	}
}

// ownReplays judges what a stream brings that resumes a known one.
func ownReplays(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges.Of(conversation)
	for _, one := range all {
		root := one.Root()
		if one.Resumes == nil || !one.Streams() {
			continue
		}
		for _, message := range one.Said {
			reporter.Observe()
			if foreign := foreignTo(root, message, one, all); foreign != "" {
				reporter.Violation(message, rules.Mismatch{Wanted: "only messages of " + root.Request.Stream + ", which is resumed", Found: foreign})
			}
		}
	}
}

// foreignTo says where a message on a resumed stream belongs instead; "" when
// nothing shows that it belongs elsewhere.
func foreignTo(root *exchanges.Exchange, message *rules.Message, one *exchanges.Exchange, all []*exchanges.Exchange) string {
	if message.Kind == jsonrpc.Response && message.Request != nil {
		if root.Sent == message.Request {
			return ""
		}
		return fmt.Sprintf("the response to the request %s (%s), which %s carried", message.ID, message.Request.Method, message.Request.Event.Stream)
	}
	id := exchanges.EventID(message.Event)
	for _, other := range all {
		if other.Root() == root || other == one || other.Session() != one.Session() ||
			other.Request.Sequence > message.Event.Sequence {
			continue
		}
		for _, earlier := range other.Said {
			sameEvent := id != "" && exchanges.EventID(earlier.Event) == id
			sameRequest := message.Kind == jsonrpc.Request
			if (sameEvent || sameRequest) && bytes.Equal(earlier.Raw, message.Raw) &&
				earlier.Event.Sequence < message.Event.Sequence {
				return "a message that was sent on " + other.Request.Stream
			}
		}
	}
	return ""
}

// sessionRules are the rules about session ids.
func sessionRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends Mcp-Session-Id with visible ASCII characters only",
			Verifies: rules.Verifies("transports.http.session.characters"),
			Judge:    visibleSessions,
		},
		{
			Text:     "returns no Mcp-Session-Id for a request of this protocol version",
			Verifies: rules.Verifies("transports.http.sessions.none"),
			Judge:    assignedSessions,
		},
	}
}

func visibleSessions(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges.Of(conversation) {
		head, _ := one.Response()
		for _, id := range head.Header.Values(exchanges.SessionHeader) {
			reporter.Observe()
			if !isVisibleASCII(id) {
				reporter.ViolationAt(*one.Head, rules.Mismatch{
					Wanted: "a session id of characters from 0x21 to 0x7E",
					Found:  fmt.Sprintf("%+q", id),
					Where:  "header " + exchanges.SessionHeader,
				}, one.Explained()...)
			}
		}
	}
}

// assignedSessions judges the answers to requests of the stateless era, by their version
// header. An id that the request has may be repeated, which is for a check to judge.
func assignedSessions(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges.Of(conversation) {
		version := one.Request.HTTP.Header.Get(transport.VersionHeader)
		head, there := one.Response()
		if !there || !protocol.Has(version, protocol.PerRequestMeta) || one.Deliberate() ||
			one.Request.HTTP.Header.Get(exchanges.SessionHeader) != "" {
			continue
		}
		reporter.Observe()
		if id := head.Header.Get(exchanges.SessionHeader); id != "" {
			reporter.ViolationAt(*one.Head, rules.Mismatch{
				Wanted: "no session id, as there are no sessions at " + version,
				Found:  fmt.Sprintf("%q", id),
				Where:  "header " + exchanges.SessionHeader,
			}, one.Explained()...)
		}
	}
}

// isVisibleASCII tells whether a text has visible ASCII characters, and no
// others.
func isVisibleASCII(text string) bool {
	for _, character := range []byte(text) {
		if character < 0x21 || character > 0x7E {
			return false
		}
	}
	return text != ""
}
