package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// posts are the rules about the HTTP requests that a client makes, in whichever era.
func posts() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends each message as a separate POST to the MCP endpoint",
			Requirements: []string{"transports.http.post.each"},
			Judge:        ofClient(strayPosts),
		},
		{
			Text:         "sends Accept with application/json and text/event-stream in each POST",
			Requirements: []string{"transports.http.post.accept"},
			Judge:        accepting(http.MethodPost, "application/json", eventStreamType),
		},
		{
			Text:         "sends Accept with text/event-stream in each GET",
			Requirements: []string{"transports.http.get.accept"},
			Judge:        accepting(http.MethodGet, eventStreamType),
		},
		{
			Text:         "sends MCP-Protocol-Version with every request after initialize",
			Requirements: []string{"transports.http.version.sent", "lifecycle.version.header"},
			Judge: everyLaterRequest(transport.VersionHeader, func(given []string, _ agreement) (wanted string) {
				if len(given) == 0 {
					return "the protocol version in every request after initialize"
				}
				return ""
			}),
		},
		{
			Text:         "sends the negotiated version in MCP-Protocol-Version",
			Requirements: []string{"transports.http.version.negotiated"},
			Judge: everyLaterRequest(transport.VersionHeader, func(given []string, agreed agreement) (wanted string) {
				if len(given) > 0 && !isOnly(given, agreed.version) {
					return agreed.version + ", which was negotiated"
				}
				return ""
			}),
		},
		{
			Text:         "sends Mcp-Session-Id with every request after initialize",
			Requirements: []string{"transports.http.session.sent"},
			Judge: everyLaterRequest(sessionHeader, func(given []string, agreed agreement) (wanted string) {
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

// endpoint returns the exchanges with the MCP endpoint of the server: that to which the
// client sends its first message. Others may ask for anything, such as what the server
// tells about authorization.
func endpoint(conversation *rules.Conversation) []*exchange {
	all := exchanges(conversation)
	var kept []*exchange
	path, known := "", false
	for _, one := range all {
		if one.sent == nil && !known {
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
func pathOf(one *exchange) string {
	address, err := url.Parse(one.request.HTTP.URL)
	if err != nil {
		return one.request.HTTP.URL
	}
	return address.Path
}

// strayPosts judges messages in other requests than a POST, beside others, or for
// another address. The HTTP+SSE transport of older revisions has two addresses.
func strayPosts(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Transport != protocol.HTTP {
		return
	}
	carriers := map[string]*exchange{}
	first := (*exchange)(nil)
	older := false
	for _, one := range exchanges(conversation) {
		carriers[one.request.Stream] = one
		if first == nil && one.sent != nil {
			first = one
		}
		for _, event := range one.events {
			older = older || event.SSE != nil && event.SSE.Name == "endpoint"
		}
	}
	carried := map[string]bool{}
	for _, said := range conversation.ByTarget() {
		one := carriers[said.Event.Stream]
		if one == nil {
			continue
		}
		reporter.Observe()
		const wanted = "each message in a POST of its own to the endpoint"
		switch {
		case one.method != http.MethodPost:
			reporter.Violation(said, rules.Mismatch{Wanted: wanted, Found: "one in the body of " + one.method, Where: "HTTP method"})
		case carried[said.Event.Stream]:
			reporter.Violation(said, rules.Mismatch{Wanted: wanted, Found: "a second one in " + said.Event.Stream})
		case !older && pathOf(one) != pathOf(first):
			reporter.Violation(said, rules.Mismatch{
				Wanted: wanted + ", " + pathOf(first), Found: "one for " + pathOf(one), Where: "HTTP path",
			})
		}
		carried[said.Event.Stream] = true
	}
}

// accepting judges the Accept header of requests of a method: it lists the types.
func accepting(method string, types ...string) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range endpoint(conversation) {
			if one.method != method {
				continue
			}
			reporter.Observe()
			given := strings.Join(one.request.HTTP.Header.Values("Accept"), ", ")
			for _, wanted := range types {
				if !acceptLists(given, wanted) {
					reporter.ViolationAt(one.request, rules.Mismatch{
						Wanted: strings.Join(types, " and "), Found: fmt.Sprintf("%q in %s", given, one.name()), Where: "header Accept",
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
		if mediaType(strings.TrimSpace(part)) == wanted {
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
// none.
func agreementOf(conversation *rules.Conversation) (agreed agreement, there bool) {
	answer := handshakeOf(conversation)
	if answer == nil || conversation.Transport != protocol.HTTP {
		return agreement{}, false
	}
	agreed.since = answer.Event.Sequence
	agreed.version, _ = answer.ResultObject()["protocolVersion"].(string)
	for _, one := range exchanges(conversation) {
		switch {
		case one.sent == answer.Request:
			agreed.session = one.session()
		case one.sent != nil && one.sent.Method == "notifications/initialized" && one.request.Sequence > agreed.since:
			agreed.since = one.request.Sequence
			return agreed, true
		}
	}
	return agreed, true
}

// everyLaterRequest judges a header of the HTTP requests that follow a handshake. What
// comes before the client says that it is initialized may have been on its way before
// it knew of the answer, as a ping may; one that asks for another session or era belongs
// to that.
func everyLaterRequest(name string, wrong func(given []string, agreed agreement) (wanted string)) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		agreed, there := agreementOf(conversation)
		if !there || !protocol.Has(agreed.version, protocol.VersionHeader) || name == sessionHeader && agreed.session == "" {
			return
		}
		for _, one := range endpoint(conversation) {
			if one.request.Sequence < agreed.since || beginsAnew(one) || !slices.Contains(methodsOfSessions, one.method) {
				continue
			}
			reporter.Observe()
			given := one.request.HTTP.Header.Values(name)
			if wanted := wrong(given, agreed); wanted != "" {
				reporter.ViolationAt(one.request, rules.Mismatch{
					Wanted: wanted, Found: headerShown(given) + " in " + one.name(), Where: "header " + name,
				})
			}
		}
	})
}

// methodsOfSessions are those of the requests that belong to one; a browser asks by
// others before.
var methodsOfSessions = []string{http.MethodPost, http.MethodGet, http.MethodDelete}

// beginsAnew tells whether an exchange stands outside of a session.
func beginsAnew(one *exchange) bool {
	return one.sent != nil && (one.sent.Method == "initialize" || one.sent.Method == "ping" || probes(one.sent))
}

func headerShown(given []string) string {
	if len(given) == 0 {
		return "no such header"
	}
	return fmt.Sprintf("%q", strings.Join(given, ", "))
}

// name tells people which request an exchange is: the POST of tools/list.
func (e *exchange) name() string {
	switch {
	case e.sent == nil:
		return "the " + e.method
	case isResponse(e.sent):
		return "the " + e.method + " of a response"
	}
	return "the " + e.method + " of " + e.sent.Method
}
