package httpsse

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Rules are those of the section HTTP with SSE.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends its messages on the stream, in events named message",
			Verifies: rules.Verifies("transports.sse.messages"),
			Role:     protocol.ServerRole,
			Judge:    overSSE(rules.Every(isSaid, misplaced)),
		},
		{
			Text:     "posts its messages to the endpoint that the server has named",
			Verifies: rules.Verifies("transports.sse.post"),
			Role:     protocol.ClientRole,
			Judge:    overSSE(posted),
		},
	}
}

func overSSE(judge rules.Judge) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		if conversation.Transport == protocol.SSE {
			judge(conversation, reporter)
		}
	}
}

// posted judges where a client sends what it says after the endpoint event. A server may name
// several endpoints, and either is fine then.
func posted(conversation *rules.Conversation, reporter *rules.Reporter) {
	carriers := map[string]*exchanges.Exchange{}
	var named []endpoint
	for _, one := range exchanges.Of(conversation) {
		carriers[one.Request.Stream] = one
		for _, event := range one.Events {
			if event.SSE != nil && event.SSE.Name == transport.EndpointEvent {
				if at, isClear := endpointOf(event, one.Request); isClear {
					named = append(named, at)
				}
			}
		}
	}
	for _, message := range conversation.ByTarget() {
		one := carriers[message.Event.Stream]
		known := slices.DeleteFunc(slices.Clone(named), func(at endpoint) bool { return one == nil || at.since > one.Request.Sequence })
		if len(known) == 0 || message.Batch != nil {
			continue
		}
		reporter.Observe()
		at, err := url.Parse(one.Request.HTTP.URL)
		wanted := "a POST to " + shown(known[0].url, at) + ", which the endpoint event named"
		switch {
		case one.Method != http.MethodPost:
			reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: "a " + one.Method, Where: "HTTP method"})
		case err != nil:
			reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: "one to " + one.Request.HTTP.URL, Where: "URL"})
		case !slices.ContainsFunc(known, func(known endpoint) bool { return sameResource(known.url, at) }):
			reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: "one to " + shown(at, known[0].url), Where: "URL"})
		}
	}
}

// shown is a URL, without the origin where another one has the same: each run has its own.
func shown(one, other *url.URL) string {
	if other != nil && one.Host == other.Host {
		return one.RequestURI()
	}
	return one.String()
}

// An endpoint is where a server wants messages.
type endpoint struct {
	url   *url.URL
	since int // sequence of the event that names it
}

// endpointOf reads an endpoint event of a stream. It is clear which endpoint that names when its
// data is a URI, or a path of the origin, as real servers write it: what is relative to the stream
// is no URI, strictly, and not judged by a MUST.
func endpointOf(event transcript.Event, stream transcript.Event) (named endpoint, isClear bool) {
	base, err := url.Parse(stream.HTTP.URL)
	if err != nil {
		return endpoint{}, false
	}
	block, err := transport.NewEventReader(bytes.NewReader(append(slices.Clip(event.Raw), "\n\n"...)), len(event.Raw)+2).Next()
	if err != nil {
		return endpoint{}, false
	}
	text := string(block.Data)
	reference, err := url.Parse(text)
	if err != nil || !reference.IsAbs() && !strings.HasPrefix(text, "/") {
		return endpoint{}, false
	}
	at := base.ResolveReference(reference)
	at.Fragment, at.RawFragment = "", ""
	return endpoint{at, event.Sequence}, at.Host != ""
}

// sameResource compares two URLs as a server does: escapes make no difference, and the scheme
// of what came through a proxy is not known.
func sameResource(a, b *url.URL) bool {
	path := func(of *url.URL) string {
		if of.Path == "" {
			return "/"
		}
		return of.Path
	}
	return strings.EqualFold(a.Host, b.Host) && path(a) == path(b) &&
		(a.RawQuery == b.RawQuery || maps.EqualFunc(a.Query(), b.Query(), slices.Equal))
}

// isSaid tells whether a message is one of the protocol: an error in the body of an HTTP
// response that answers no request only says more than its status does.
func isSaid(message *rules.Message) bool {
	return message.Kind != jsonrpc.Invalid && (message.Event.SSE != nil || message.Request != nil)
}

// misplaced finds a message that stands in the body of an HTTP response, or in an event that
// a client of the page does not look at. An event without a name is one named message.
func misplaced(message *rules.Message) rules.Mismatch {
	switch sse := message.Event.SSE; {
	case sse == nil:
		return rules.Mismatch{
			Wanted: "an event of the stream",
			Found:  "the body of a response to a POST: " + excerpt.Short(message.Raw),
		}
	case sse.Name != "" && sse.Name != "message":
		return rules.Mismatch{Wanted: `the name "message", or none`, Found: strconv.Quote(sse.Name)}
	}
	return rules.Mismatch{}
}
