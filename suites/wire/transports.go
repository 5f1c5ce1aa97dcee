package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// TransportRules are the rules of Streamable HTTP.
func TransportRules() []rules.Rule {
	return slices.Concat(responses(), streams(), listening(), resumption(), sessions(), posts(), mirrorRules())
}

// encoding are the rules of every transport.
func encoding() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "encodes its messages in UTF-8",
			Requirements: []string{"transports.utf8"},
			Judge:        every(func(*rules.Message) bool { return true }, otherEncoding),
		},
	}
}

func otherEncoding(said *rules.Message) rules.Mismatch {
	if utf8.Valid(said.Raw) {
		return rules.Mismatch{}
	}
	position := 0
	for position < len(said.Raw) {
		character, size := utf8.DecodeRune(said.Raw[position:])
		if character == utf8.RuneError && size == 1 {
			break
		}
		position += size
	}
	return rules.Mismatch{
		Wanted: "a message in UTF-8",
		Found:  fmt.Sprintf("the byte 0x%02X, which belongs to no character: %q", said.Raw[position], excerpt.Short(said.Raw)),
		Where:  fmt.Sprintf("byte %d", position),
	}
}

// responses are the rules about what an HTTP request is answered with.
func responses() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "answers notifications and responses that it accepts with HTTP 202 and no body",
			Requirements: []string{"transports.http.notification.accepted"},
			Judge:        acceptances,
		},
		{
			Text:         "answers notifications and responses that it rejects with an HTTP error status",
			Requirements: []string{"transports.http.notification.refused"},
			Judge:        refusals,
		},
		{
			Text:         "answers requests with text/event-stream or one JSON object as application/json",
			Requirements: []string{"transports.http.request.content-type"},
			Judge:        contentTypes,
		},
	}
}

// tells tells whether an exchange carries a message that gets no answer.
func tells(one *exchange) bool {
	return one.method == http.MethodPost && one.sent != nil && one.head != nil &&
		(one.sent.Kind == jsonrpc.Notification || one.sent.Kind == jsonrpc.Response)
}

func acceptances(conversation *rules.Conversation, reporter *rules.Reporter) {
	const wanted = "202 and no body"
	for _, one := range exchanges(conversation) {
		if !tells(one) || !one.accepted() || refusesInBody(one) {
			continue
		}
		reporter.Observe()
		switch {
		case one.status() != http.StatusAccepted:
			reporter.ViolationAt(*one.head, rules.Mismatch{Wanted: wanted, Found: fmt.Sprintf("HTTP %d", one.status()), Where: "HTTP status"}, one.explained()...)
		case len(one.events) > 0:
			reporter.ViolationAt(one.events[0], rules.Mismatch{Wanted: wanted, Found: "the body " + excerpt.Short(one.events[0].Raw)}, one.explained()...)
		}
	}
}

// refusesInBody tells whether what a response carries is an error.
func refusesInBody(one *exchange) bool {
	return slices.ContainsFunc(one.said, isRefusal)
}

func refusals(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges(conversation) {
		if !tells(one) || one.accepted() && !refusesInBody(one) {
			continue
		}
		reporter.Observe()
		if one.accepted() {
			reporter.ViolationAt(*one.head, rules.Mismatch{
				Wanted: "an HTTP error status, as the body is an error",
				Found:  fmt.Sprintf("HTTP %d", one.status()), Where: "HTTP status",
			}, one.explained()...)
		}
	}
}

func contentTypes(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges(conversation) {
		if !one.asks() || !one.accepted() {
			continue
		}
		reporter.Observe()
		switch one.mediaType() {
		case eventStreamType:
			if found := noEvents(one); found != "" {
				reporter.ViolationAt(one.events[0], rules.Mismatch{Wanted: "an event stream", Found: found}, one.explained()...)
			}
		case "application/json":
			if found := noObject(one); found != "" {
				reporter.ViolationAt(*one.head, rules.Mismatch{Wanted: "one JSON object", Found: found}, one.explained()...)
			}
		default:
			reporter.ViolationAt(*one.head, rules.Mismatch{
				Wanted: eventStreamType + " or application/json",
				Found:  fmt.Sprintf("HTTP %d of the content type %q", one.status(), one.head.HTTP.Header.Get("Content-Type")),
				Where:  "header Content-Type",
			}, one.explained()...)
		}
	}
}

// noObject says what a body is that should be a JSON object; "" when it is one
// or is not known.
func noObject(one *exchange) string {
	switch {
	case len(one.events) == 0 && one.endedByServer():
		return "no body"
	case len(one.said) == 0 || one.said[0].Object != nil || hasFlaw(one.said[0], jsonrpc.TooComplex) || !one.endedByServer():
		return ""
	}
	return excerpt.Short(one.said[0].Raw)
}

// noEvents says what a body is that should be an event stream and ends without
// one field of an event; "" when it has some, or nothing but comments.
func noEvents(one *exchange) string {
	isOther := func(event transcript.Event) bool { return onlyComments(event) && len(event.SSE.Comments) == 0 }
	if len(one.events) == 0 || !one.endedByServer() || slices.ContainsFunc(one.events, func(event transcript.Event) bool { return !isOther(event) }) {
		return ""
	}
	return excerpt.Short(one.events[0].Raw)
}

// streams are the rules about event streams that answer a request.
func streams() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends an event with an id and empty data first on an SSE stream that uses event ids",
			Requirements: []string{"transports.http.stream.primed"},
			Judge:        primings,
		},
		{
			Text:         "eventually sends the response on the SSE stream of its request",
			Requirements: []string{"transports.http.stream.response"},
			Judge:        broughtResponses,
		},
		{
			Text:         "keeps the stream of a request open until the response",
			Requirements: []string{"transports.http.stream.kept"},
			Judge:        keptStreams,
		},
		{
			Text:         "sends an SSE retry field before it closes the connection of an unfinished stream",
			Requirements: []string{"transports.http.stream.retry.sent"},
			Judge:        retries,
		},
		{
			Text:         "sends notifications/progress on the SSE stream of a request only for that request",
			Requirements: []string{"transports.http.stream.related"},
			Judge:        relatedProgress,
		},
		{
			Text:         "sends notifications of a subscription only on the SSE stream of that subscription",
			Requirements: []string{"transports.http.stream.of-subscription"},
			Judge:        relatedSubscriptions,
		},
		{
			Text:         "sends the header X-Accel-Buffering: no with event streams",
			Requirements: []string{"transports.http.stream.unbuffered"},
			Judge:        buffered,
		},
		{
			Text:         "sends each message on only one SSE stream",
			Requirements: []string{"transports.http.streams.once"},
			Judge:        broadcasts,
		},
	}
}

// primings judges the first event of streams that have ids. A client cannot
// come back to others, so that there is nothing to ready it for.
func primings(conversation *rules.Conversation, reporter *rules.Reporter) {
	spoken := negotiations(conversation)
	for _, one := range exchanges(conversation) {
		events := slices.DeleteFunc(slices.Clone(one.events), onlyComments)
		if !one.asks() || !one.streams() || !slices.ContainsFunc(events, hasID) || !one.spoke(conversation.Revision, spoken) {
			continue
		}
		reporter.Observe()
		if first := events[0]; first.Kind != transcript.Block || !first.SSE.HasData || eventID(first) == "" {
			reporter.ViolationAt(first, rules.Mismatch{
				Wanted: "an event with an id and an empty data field at first", Found: describeEvent(first),
			}, one.explained()...)
		}
	}
}

func hasID(event transcript.Event) bool { return eventID(event) != "" }

// onlyComments tells whether a block is no event, as clients see it.
func onlyComments(event transcript.Event) bool {
	return event.Kind == transcript.Block && event.SSE != nil &&
		event.SSE.ID == nil && !event.SSE.HasData && event.SSE.Retry == nil && event.SSE.Name == ""
}

func describeEvent(event transcript.Event) string {
	id := "without an id"
	if eventID(event) != "" {
		id = fmt.Sprintf("with the id %q", eventID(event))
	}
	if event.Kind == transcript.Message {
		return "an event " + id + " and the data " + excerpt.Short(event.Raw)
	}
	if event.SSE != nil && event.SSE.HasData {
		return "an event " + id + " and empty data"
	}
	return "an event " + id + " and no data field"
}

// cancelled tells whether the client gave up the request of an exchange.
func (e *exchange) cancelled(conversation *rules.Conversation) bool {
	return slices.ContainsFunc(conversation.ByPeer(), func(said *rules.Message) bool {
		return said.Method == "notifications/cancelled" && jsonrpc.IDOf(said.ParamsObject()["requestId"]) == e.sent.ID
	})
}

// endedInPeace tells whether the server ended a response of its own accord:
// the client was not about to end the session.
func (e *exchange) endedInPeace(all []*exchange) bool {
	return e.endedByServer() && !slices.ContainsFunc(all, func(other *exchange) bool {
		return other.method == http.MethodDelete && other.request.Sequence < e.end.Sequence
	})
}

// family returns the streams that are parts of one: itself, and what resumed
// it.
func (e *exchange) family(all []*exchange) []*exchange {
	return slices.DeleteFunc(slices.Clone(all), func(other *exchange) bool { return other.root() != e })
}

func (e *exchange) answeredIn(family []*exchange) bool {
	return slices.ContainsFunc(family, func(other *exchange) bool { return e.answer(other.said) != nil })
}

func broughtResponses(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, spoken := exchanges(conversation), negotiations(conversation)
	for _, one := range all {
		if !one.asks() || !one.streams() || one.cancelled(conversation) || !one.spoke(conversation.Revision, spoken) ||
			one.sent.Method == "subscriptions/listen" { // whose end has sentences of its own
			continue
		}
		family := one.family(all)
		last := family[len(family)-1]
		ended := !slices.ContainsFunc(family, func(other *exchange) bool { return !other.endedInPeace(all) })
		switch {
		case one.answeredIn(family):
			reporter.Observe()
		case ended && conversation.Complete && !waits(last, conversation):
			reporter.Observe()
			reporter.ViolationAt(*last.end, rules.Mismatch{
				Wanted: "the response to " + one.sent.Method + " before the stream ends",
				Found:  "the end of the stream, which nothing followed",
			}, one.explained()...)
		}
	}
}

// waits tells whether the server may wait for the client to resume a stream:
// it closed the connection after an event with an id, as it may where there is polling, and
// nobody came.
func waits(last *exchange, conversation *rules.Conversation) bool {
	return conversation.Has(protocol.Polling) && slices.ContainsFunc(last.events, hasID)
}

func keptStreams(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, spoken := exchanges(conversation), negotiations(conversation)
	for _, one := range all {
		if !one.asks() || !one.streams() || !one.endedInPeace(all) || one.cancelled(conversation) ||
			!conversation.Complete || !one.spoke(conversation.Revision, spoken) {
			continue
		}
		reporter.Observe()
		if one.answer(one.said) == nil {
			reporter.ViolationAt(*one.end, rules.Mismatch{
				Wanted: "the stream to stay open until the response to " + one.sent.Method, Found: "its end before the response",
			}, one.explained()...)
		}
	}
}

// retries judges streams that the server closed and that turned out not to
// have ended: the response was missing, or more came when they were resumed.
func retries(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, spoken := exchanges(conversation), negotiations(conversation)
	for _, one := range all {
		if !one.streams() || !one.endedInPeace(all) || !closedEarly(one, conversation, all) || !one.spoke(conversation.Revision, spoken) {
			continue
		}
		reporter.Observe()
		if !slices.ContainsFunc(one.events, func(event transcript.Event) bool { return event.SSE != nil && event.SSE.Retry != nil }) {
			reporter.ViolationAt(*one.end, rules.Mismatch{
				Wanted: "an event with a retry field before the connection closes", Found: "none on " + one.request.Stream,
			}, one.explained()...)
		}
	}
}

func closedEarly(one *exchange, conversation *rules.Conversation, all []*exchange) bool {
	if root := one.root(); root.asks() {
		soFar := slices.DeleteFunc(root.family(all), func(other *exchange) bool { return other.request.Sequence > one.request.Sequence })
		return slices.ContainsFunc(one.events, hasID) && conversation.Complete && !root.answeredIn(soFar) && !root.cancelled(conversation)
	}
	return slices.ContainsFunc(all, func(later *exchange) bool {
		return later.resumes == one && later.streams() && len(later.said) > 0 && !replays(later, one)
	})
}

// replays tells whether all that a resumed stream brought had been sent before
// its connection was closed.
func replays(later, one *exchange) bool {
	return !slices.ContainsFunc(later.said, func(said *rules.Message) bool {
		return !slices.ContainsFunc(one.said, func(earlier *rules.Message) bool { return bytes.Equal(earlier.Raw, said.Raw) })
	})
}

// askedFor finds the request of the peer that a progress notification of the
// target is about; nil when it is none, or the token is not unique.
func askedFor(said *rules.Message, conversation *rules.Conversation) *rules.Message {
	if said.Method != "notifications/progress" {
		return nil
	}
	token, there := said.ParamsObject()["progressToken"]
	if !there {
		return nil
	}
	var found *rules.Message
	for _, request := range conversation.Messages[:said.Index] {
		asked, asks := progressToken(request)
		if request.FromTarget(conversation.Leg) || !asks || jsonrpc.IDOf(asked) != jsonrpc.IDOf(token) {
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
	all := exchanges(conversation)
	for _, one := range all {
		root := one.root()
		if !root.asks() || !one.streams() || strings.HasPrefix(root.sent.Method, "tasks/") {
			continue // what belongs to a task relates to the request that began it, too
		}
		for _, said := range one.said {
			request := askedFor(said, conversation)
			if request == nil || one != root && foreignTo(root, said, one, all) != "" {
				continue // what is replayed wrongly has a rule of its own
			}
			reporter.Observe()
			if request != root.sent {
				reporter.Violation(said, rules.Mismatch{
					Wanted: fmt.Sprintf("messages that relate to the request %s (%s)", root.sent.ID, root.sent.Method),
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
		on      *exchange
	}
	before := map[string]sent{}
	given := tokensGiven(conversation)
	all := exchanges(conversation)
	for _, one := range all {
		if one.root() != one || !one.streams() {
			continue // what is resumed may be delivered again
		}
		if _, resumes := one.lastEventID(); resumes {
			continue
		}
		for _, said := range one.said {
			name := identity(said, one, given)
			if name == "" {
				continue
			}
			if slices.ContainsFunc(all, func(other *exchange) bool { return other != one && other.openAt(said.Event) }) {
				reporter.Observe()
			}
			if earlier := before[name]; earlier.on != nil && earlier.on != one && earlier.on.openAt(said.Event) && !answeredBy(earlier.message, said.Event) {
				reporter.Violation(said, rules.Mismatch{
					Wanted: "each message on one stream",
					Found:  fmt.Sprintf("the same message on %s and on %s", earlier.on.request.Stream, one.request.Stream),
				})
			}
			before[name] = sent{said, one}
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
	for _, said := range conversation.ByPeer() {
		if token, there := progressToken(said); there {
			given[jsonrpc.IDOf(token)]++
		}
	}
	return given
}

func identity(said *rules.Message, one *exchange, given map[jsonrpc.ID]int) string {
	switch {
	case said.Kind == jsonrpc.Request && (said.ID.IsString() || said.ID.IsInteger()), said.Kind == jsonrpc.Response && !isAnonymous(said):
		return one.session() + " " + string(said.Raw)
	case said.Method == "notifications/progress":
		if given[jsonrpc.IDOf(said.ParamsObject()["progressToken"])] > 1 {
			return "" // it may be the progress of either request
		}
		return one.session() + " " + string(said.Raw)
	}
	return ""
}

// listening are the rules about streams opened with GET.
func listening() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "answers GET with text/event-stream or HTTP 405",
			Requirements: []string{"transports.http.get.answered"},
			Judge:        answeredGets,
		},
		{
			Text:         "sends no response on a stream opened with GET",
			Requirements: []string{"transports.http.get.no-response"},
			Judge:        unaskedResponses,
		},
		{
			Text:         "sends no notifications/progress of a running request on a stream opened with GET",
			Requirements: []string{"transports.http.get.unrelated"},
			Judge:        unrelatedProgress,
		},
	}
}

// answeredGets leaves out what says nothing of GET: that the server has too
// much to do for the moment, that the session is over, or that one stream is
// all that a client gets.
func answeredGets(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges(conversation)
	for _, one := range all {
		if !one.standing() || one.deliberate() || one.head == nil {
			continue
		}
		switch one.status() {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			continue
		case http.StatusNotFound:
			if sessionOver(one, all) {
				continue
			}
		case http.StatusConflict:
			if slices.ContainsFunc(all, func(other *exchange) bool { return other.standing() && other.openAt(one.request) }) {
				continue
			}
		}
		reporter.Observe()
		if one.status() == http.StatusMethodNotAllowed || one.status() == http.StatusOK && one.streams() {
			continue
		}
		reporter.ViolationAt(*one.head, rules.Mismatch{
			Wanted: "an event stream, or HTTP 405 (Method Not Allowed)",
			Found:  fmt.Sprintf("HTTP %d of the content type %q", one.status(), one.head.HTTP.Header.Get("Content-Type")),
			Where:  "HTTP status",
		}, one.explained()...)
	}
}

// sessionOver tells whether the session of an exchange may have ended before
// it: nothing that came later was accepted in it, or the client has ended it
// before it had the answer, and the one may have overtaken the other.
func sessionOver(one *exchange, all []*exchange) bool {
	return one.session() != "" && (one.overtaken(all) || !slices.ContainsFunc(all, func(later *exchange) bool {
		return later.method == http.MethodPost && later.session() == one.session() &&
			later.request.Sequence > one.request.Sequence && later.accepted()
	}))
}

// overtaken tells whether the client ended the session before it had the head of
// the answer.
func (e *exchange) overtaken(all []*exchange) bool {
	return slices.ContainsFunc(all, func(other *exchange) bool {
		return other.method == http.MethodDelete && other.session() == e.session() && other.request.Sequence < e.head.Sequence
	})
}

func unaskedResponses(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges(conversation)
	gets := slices.DeleteFunc(slices.Clone(all), func(one *exchange) bool { return !one.standing() || !one.streams() })
	for _, one := range all {
		_, resumes := one.lastEventID()
		for _, said := range one.said {
			switch {
			case said.Kind != jsonrpc.Response:
			case one.root().standing() && one.streams():
				reporter.Observe()
				reporter.Violation(said, rules.Mismatch{
					Wanted: "the response on the stream of its request", Found: "the response on " + one.request.Stream + ", opened with GET",
				})
			case !resumes && slices.ContainsFunc(gets, func(get *exchange) bool { return get.openAt(said.Event) }):
				reporter.Observe() // it could have come there
			}
		}
	}
}

// unrelatedProgress judges progress of requests whose own stream is open, so
// that it could have gone there. That of a task is left out: it goes on when its
// request is answered, and which of two streams was first is not to be seen.
func unrelatedProgress(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges(conversation)
	ownStream := func(request *rules.Message, at transcript.Event) *exchange {
		index := slices.IndexFunc(all, func(one *exchange) bool { return one.sent == request && one.openAt(at) })
		if index < 0 {
			return nil
		}
		return all[index]
	}
	for _, one := range all {
		for _, said := range one.said {
			request := askedFor(said, conversation)
			if request == nil || ofTask(said) || ownStream(request, said.Event) == nil {
				continue
			}
			listening := slices.ContainsFunc(all, func(get *exchange) bool { return get.standing() && get.openAt(said.Event) })
			if listening {
				reporter.Observe()
			}
			if one.root().standing() {
				reporter.Violation(said, rules.Mismatch{
					Wanted: "progress on the stream of its request, which is open",
					Found:  "progress on " + one.request.Stream + ", opened with GET",
				})
			}
		}
	}
}

func ofTask(said *rules.Message) bool {
	_, related := said.Meta()[mcp.RelatedTask]
	return related
}

// resumption are the rules about event ids and what they are good for.
func resumption() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends events with ids that are unique in the session",
			Requirements: []string{"transports.http.events.unique"},
			Judge:        uniqueEvents,
		},
		{
			Text:         "replays only messages of the resumed stream",
			Requirements: []string{"transports.http.resume.own-stream"},
			Judge:        ownReplays,
		},
	}
}

// uniqueEvents compares the events of streams that resume none: those replay
// events with the ids that they had.
func uniqueEvents(conversation *rules.Conversation, reporter *rules.Reporter) {
	type known struct {
		one     *exchange
		message bool
	}
	used := map[string]known{}
	for _, one := range exchanges(conversation) {
		if _, resumes := one.lastEventID(); resumes {
			continue
		}
		for _, event := range one.events {
			id := eventID(event)
			if id == "" {
				continue
			}
			if len(used) > 0 { // one alone is always unique
				reporter.Observe()
			}
			name := one.session() + " " + id
			earlier, there := used[name]
			message := event.Kind == transcript.Message
			// An event without a message may point at the last one that had one.
			if there && (earlier.one != one || earlier.message && message) {
				reporter.ViolationAt(event, rules.Mismatch{
					Wanted: "ids that no other event of the session has",
					Found:  fmt.Sprintf("the id %q on %s and on %s", id, earlier.one.request.Stream, one.request.Stream),
				}, one.explained()...)
			}
			used[name] = known{one, message || there && earlier.message}
		}
	}
}

// ownReplays judges what a stream brings that resumes a known one.
func ownReplays(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := exchanges(conversation)
	for _, one := range all {
		root := one.root()
		if one.resumes == nil || !one.streams() {
			continue
		}
		for _, said := range one.said {
			reporter.Observe()
			if foreign := foreignTo(root, said, one, all); foreign != "" {
				reporter.Violation(said, rules.Mismatch{
					Wanted: "only messages of " + root.request.Stream + ", which is resumed", Found: foreign,
				})
			}
		}
	}
}

// foreignTo says where a message on a resumed stream belongs instead; "" when
// nothing shows that it belongs elsewhere.
func foreignTo(root *exchange, said *rules.Message, one *exchange, all []*exchange) string {
	if said.Kind == jsonrpc.Response && said.Request != nil {
		if root.sent == said.Request {
			return ""
		}
		return fmt.Sprintf("the response to the request %s (%s), which %s carried", said.ID, said.Request.Method, said.Request.Event.Stream)
	}
	id := eventID(said.Event)
	for _, other := range all {
		if other.root() == root || other == one || other.session() != one.session() || other.request.Sequence > said.Event.Sequence {
			continue
		}
		for _, earlier := range other.said {
			sameEvent := id != "" && eventID(earlier.Event) == id
			sameRequest := said.Kind == jsonrpc.Request
			if (sameEvent || sameRequest) && bytes.Equal(earlier.Raw, said.Raw) && earlier.Event.Sequence < said.Event.Sequence {
				return "a message that was sent on " + other.request.Stream
			}
		}
	}
	return ""
}

// sessions are the rules about session ids.
func sessions() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends Mcp-Session-Id with visible ASCII characters only",
			Requirements: []string{"transports.http.session.characters"},
			Judge:        visibleSessions,
		},
		{
			Text:         "returns no Mcp-Session-Id for a request of this protocol version",
			Requirements: []string{"transports.http.sessions.none"},
			Judge:        assignedSessions,
		},
	}
}

func visibleSessions(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges(conversation) {
		if one.head == nil || one.head.HTTP == nil {
			continue
		}
		for _, id := range one.head.HTTP.Header.Values(sessionHeader) {
			reporter.Observe()
			if !isVisibleASCII(id) {
				reporter.ViolationAt(*one.head, rules.Mismatch{
					Wanted: "a session id of characters from 0x21 to 0x7E", Found: fmt.Sprintf("%+q", id), Where: "header " + sessionHeader,
				}, one.explained()...)
			}
		}
	}
}

// assignedSessions judges the answers to requests of the stateless era, by their version
// header. An id that the request has may be repeated, which is for a check to judge.
func assignedSessions(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges(conversation) {
		version := one.request.HTTP.Header.Get(transport.VersionHeader)
		if one.head == nil || one.head.HTTP == nil || !protocol.Has(version, protocol.PerRequestMeta) || one.deliberate() || one.request.HTTP.Header.Get(sessionHeader) != "" {
			continue
		}
		reporter.Observe()
		if id := one.head.HTTP.Header.Get(sessionHeader); id != "" {
			reporter.ViolationAt(*one.head, rules.Mismatch{
				Wanted: "no session id, as there are no sessions at " + version, Found: fmt.Sprintf("%q", id), Where: "header " + sessionHeader,
			}, one.explained()...)
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
