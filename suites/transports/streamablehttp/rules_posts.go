package streamablehttp

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// postRules are the rules about the HTTP requests that a client makes, in whichever era.
func postRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends each message as a separate POST to the MCP endpoint",
			Verifies: rules.Verifies("transports.http.post.each"),
			Judge:    rules.OfClient(strayPosts),
		},
		{
			Text:     "posts one message, or a batch of requests and notifications, or one of responses",
			Verifies: rules.Verifies("transports.http.post.batches"),
			Judge:    rules.OfClient(postedBatches),
		},
		{
			Text:     "sends Accept with application/json and text/event-stream in each POST",
			Verifies: rules.Verifies("transports.http.post.accept"),
			Judge:    accepting(http.MethodPost, "application/json", exchanges.EventStreamType),
		},
		{
			Text:     "sends Accept with text/event-stream in each GET",
			Verifies: rules.Verifies("transports.http.get.accept"),
			Judge:    accepting(http.MethodGet, exchanges.EventStreamType),
		},
		{
			Text:     "sends MCP-Protocol-Version with every request after initialize",
			Verifies: rules.Verifies("transports.http.version.sent", "lifecycle.version.header"),
			Needs:    []transcript.Lack{transcript.Whole},
			Judge: everyLaterRequest(transport.VersionHeader, func(given []string, _ agreement) (wanted string) {
				if len(given) == 0 {
					return "the protocol version in every request after initialize"
				}
				return ""
			}),
		},
		{
			Text:     "sends the negotiated version in MCP-Protocol-Version",
			Verifies: rules.Verifies("transports.http.version.negotiated"),
			Needs:    []transcript.Lack{transcript.Whole},
			Judge: everyLaterRequest(transport.VersionHeader, func(given []string, agreed agreement) (wanted string) {
				if len(given) > 0 && !isOnly(given, agreed.version) {
					return agreed.version + ", which was negotiated"
				}
				return ""
			}),
		},
		{
			Text:     "sends Mcp-Session-Id with every request after initialize",
			Verifies: rules.Verifies("transports.http.session.sent"),
			Judge: everyLaterRequest(exchanges.SessionHeader, func(given []string, agreed agreement) (wanted string) {
				if agreed.session != "" && !isOnly(given, agreed.session) {
					return "the id of the session, " + agreed.session
				}
				return ""
			}),
		},
	}
}

// isOnly tells whether a header has one value and no other.
func isOnly(given []string, value string) bool { return len(given) == 1 && given[0] == value }

// endpointOf returns the exchanges with the MCP endpoint of the server: that to which the
// client sends its first message. Others may ask for anything, such as what the server
// tells about authorization.
func endpointOf(conversation *rules.Conversation) []*exchanges.Exchange {
	all := exchanges.Of(conversation)
	var kept []*exchanges.Exchange
	path, known := "", false
	for _, one := range all {
		if one.Sent == nil && !known {
			continue
		}
		if !known {
			path, known = pathOf(one), true
		}
		if pathOf(one) == path {
			kept = append(kept, one)
		}
	}
	return kept
}

// pathOf is the path of a request's URL.
func pathOf(one *exchanges.Exchange) string {
	address, err := url.Parse(one.Request.HTTP.URL)
	if err != nil {
		return one.Request.HTTP.URL
	}
	return address.Path
}

// strayPosts judges messages in other requests than a POST, beside others, or for
// another address. The HTTP+SSE transport of older revisions has two addresses.
func strayPosts(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Transport != protocol.HTTP {
		return
	}
	carriers := map[string]*exchanges.Exchange{}
	first := (*exchanges.Exchange)(nil)
	older := false
	for _, one := range exchanges.Of(conversation) {
		carriers[one.Request.Stream] = one
		if first == nil && one.Sent != nil {
			first = one
		}
		for _, event := range one.Events {
			older = older || event.SSE != nil && event.SSE.Name == "endpoint"
		}
	}
	carried := map[string]bool{}
	for _, message := range conversation.ByTarget() {
		one := carriers[message.Event.Stream]
		if one == nil || message.Batch != nil { // which is a message to HTTP
			continue
		}
		reporter.Observe()
		const wanted = "each message in a POST of its own to the endpoint"
		switch {
		case one.Method != http.MethodPost:
			reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: "one in the body of " + one.Method, Where: "HTTP method"})
		case carried[message.Event.Stream]:
			reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: "a second one in " + message.Event.Stream})
		case !older && pathOf(one) != pathOf(first):
			reporter.Violation(message, rules.Mismatch{Wanted: wanted + ", " + pathOf(first), Found: "one for " + pathOf(one), Where: "HTTP path"})
		}
		carried[message.Event.Stream] = true
	}
}

// accepting judges the Accept header of requests of a method: it lists the types.
func accepting(method string, types ...string) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range endpointOf(conversation) {
			if one.Method != method {
				continue
			}
			reporter.Observe()
			given := strings.Join(one.Request.HTTP.Header.Values("Accept"), ", ")
			for _, wanted := range types {
				if !acceptLists(given, wanted) {
					reporter.ViolationAt(one.Request, rules.Mismatch{
						Wanted: strings.Join(types, " and "),
						Found:  fmt.Sprintf("%q in %s", given, one.Name()),
						Where:  "header Accept",
					})
					break
				}
			}
		}
	})
}

// acceptLists tells whether an Accept header names a media type (RFC 9110, section 12.5.1).
func acceptLists(accept, wanted string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		if exchanges.MediaType(strings.TrimSpace(part)) == wanted {
			return true
		}
	}
	return false
}

// An agreement is what a client and a server came to by initialize.
type agreement struct {
	since            int // sequence of the event from which on the client knows of it
	version, session string
}

// agreementOf returns that of a conversation over HTTP; there is false when there is
// none, or when the client does nothing but leave: it may not have read the answer.
func agreementOf(conversation *rules.Conversation) (agreed agreement, there bool) {
	answer := facts.HandshakeOf(conversation)
	if answer == nil || conversation.Transport != protocol.HTTP {
		return agreement{}, false
	}
	agreed.since = answer.Event.Sequence
	agreed.version, _ = answer.ResultObject()["protocolVersion"].(string)
	for _, one := range exchanges.Of(conversation) {
		switch {
		case one.Sent == answer.Request:
			agreed.session = one.Session()
		case one.Sent != nil && one.Sent.Method == "notifications/initialized" && one.Request.Sequence > agreed.since:
			agreed.since = one.Request.Sequence
			return agreed, true
		case one.Method == http.MethodPost && one.Request.Sequence > agreed.since &&
			!answersEarlier(conversation, one, answer.Event.Sequence):
			there = true // it went on; an answer to an earlier ping does not show that
		}
	}
	return agreed, there
}

// everyLaterRequest judges a header of the HTTP requests that follow a handshake. What
// comes before the client says that it is initialized may have been on its way before
// it knew of the answer, as a ping may; one that asks for another session or era belongs
// to that.
func everyLaterRequest(name string, wrong func(given []string, agreed agreement) (wanted string)) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		agreed, there := agreementOf(conversation)
		if !there || !protocol.Has(agreed.version, protocol.VersionHeader) ||
			name == exchanges.SessionHeader && agreed.session == "" {
			return
		}
		for _, one := range endpointOf(conversation) {
			if one.Request.Sequence < agreed.since || beginsAnew(one) || answersEarlier(conversation, one, agreed.since) ||
				!slices.Contains(methodsOfSessions, one.Method) {
				continue
			}
			reporter.Observe()
			given := one.Request.HTTP.Header.Values(name)
			if wanted := wrong(given, agreed); wanted != "" {
				reporter.ViolationAt(one.Request, rules.Mismatch{
					Wanted: wanted, Found: exchanges.HeaderShown(given) + " in " + one.Name(), Where: "header " + name,
				})
			}
		}
	})
}

// methodsOfSessions are those of the requests that belong to one; a browser asks by
// others before.
var methodsOfSessions = []string{http.MethodPost, http.MethodGet, http.MethodDelete}

// answersEarlier tells whether an exchange brings the answer to what the server asked
// before a moment, as it may by a ping before it answers initialize. So may a response under the
// id of no request, where such a question has no answer.
func answersEarlier(conversation *rules.Conversation, one *exchanges.Exchange, since int) bool {
	switch {
	case one.Sent == nil || !rules.IsResponse(one.Sent):
		return false
	case one.Sent.Request != nil:
		return one.Sent.Request.Event.Sequence < since
	}
	return slices.ContainsFunc(conversation.ByPeer(), func(message *rules.Message) bool {
		return message.Kind == jsonrpc.Request && message.Event.Sequence < since && len(message.Answers) == 0
	})
}

// beginsAnew tells whether an exchange stands outside of a session.
func beginsAnew(one *exchanges.Exchange) bool {
	return one.Sent != nil && (one.Sent.Method == "initialize" || one.Sent.Method == "ping" || facts.Probes(one.Sent))
}

// postedBatches judges each POST of a client.
func postedBatches(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges.Of(conversation) {
		if one.Method != http.MethodPost || one.Sent == nil || one.Sent.Kind == jsonrpc.Invalid {
			continue
		}
		reporter.Observe()
		if one.Sent.Kind != jsonrpc.Batch {
			continue
		}
		responses, others := 0, 0
		for _, message := range conversation.ByTarget() {
			if message.Batch == one.Sent && rules.IsResponse(message) {
				responses++
			} else if message.Batch == one.Sent {
				others++
			}
		}
		found := ""
		switch {
		case responses+others == 0:
			found = "an empty array"
		case responses > 0 && others > 0:
			found = fmt.Sprintf("an array with %d responses and %d other messages", responses, others)
		}
		if found != "" {
			reporter.Violation(one.Sent, rules.Mismatch{
				Wanted: "an array of one or more requests and notifications, or of one or more responses", Found: found,
			})
		}
	}
}
