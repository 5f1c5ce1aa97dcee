package streamablehttp

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// responseRules are the rules about what an HTTP request is answered with.
func responseRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "answers notifications and responses that it accepts with HTTP 202 and no body",
			Verifies: rules.Verifies("transports.http.notification.accepted"),
			Judge:    acceptances,
		},
		{
			Text:     "answers notifications and responses that it rejects with an HTTP error status",
			Verifies: rules.Verifies("transports.http.notification.refused"),
			Judge:    refusals,
		},
		{
			Text:     "answers requests with text/event-stream or one JSON object as application/json",
			Verifies: rules.Verifies("transports.http.request.content-type"),
			Needs:    []transcript.Lack{transcript.Whole},
			Judge:    contentTypes,
		},
	}
}

// tells tells whether an exchange carries a message that gets no answer. One whose method
// is no string is no notification: JSON-RPC 2.0 answers it with an error.
func tells(one *exchanges.Exchange) bool {
	return one.Method == http.MethodPost && one.Sent != nil && one.Head != nil &&
		(one.Sent.Kind == jsonrpc.Notification && one.Sent.Method != "" || one.Sent.Kind == jsonrpc.Response)
}

func acceptances(conversation *rules.Conversation, reporter *rules.Reporter) {
	const wanted = "202 and no body"
	for _, one := range exchanges.Of(conversation) {
		if !tells(one) || !one.Accepted() || refusesInBody(one) {
			continue
		}
		reporter.Observe()
		switch {
		case one.Status() != http.StatusAccepted:
			reporter.ViolationAt(
				*one.Head,
				rules.Mismatch{Wanted: wanted, Found: fmt.Sprintf("HTTP %d", one.Status()), Where: "HTTP status"},
				one.Whole()...)
		case len(one.Events) > 0:
			reporter.ViolationAt(
				one.Events[0],
				rules.Mismatch{Wanted: wanted, Found: "the body " + excerpt.Short(one.Events[0].Raw)},
				one.Explained()...)
		}
	}
}

// refusesInBody tells whether what a response carries is an error.
func refusesInBody(one *exchanges.Exchange) bool {
	return slices.ContainsFunc(one.Said, rules.IsRefusal)
}

func refusals(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges.Of(conversation) {
		if !tells(one) || one.Accepted() && !refusesInBody(one) {
			continue
		}
		reporter.Observe()
		if one.Accepted() {
			reporter.ViolationAt(*one.Head, rules.Mismatch{
				Wanted: "an HTTP error status, as the body is an error",
				Found:  fmt.Sprintf("HTTP %d", one.Status()), Where: "HTTP status",
			}, one.Whole()...)
		}
	}
}

func contentTypes(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range exchanges.Of(conversation) {
		if !one.Asks() || !one.Accepted() {
			continue
		}
		reporter.Observe()
		switch one.MediaType() {
		case exchanges.EventStreamType:
			if found := noEvents(one); found != "" {
				reporter.ViolationAt(one.Events[0], rules.Mismatch{Wanted: "an event stream", Found: found}, one.Explained()...)
			}
		case "application/json":
			if found := noObject(one); found != "" {
				reporter.ViolationAt(*one.Head, rules.Mismatch{Wanted: "one JSON object", Found: found}, one.Explained()...)
			}
		default:
			reporter.ViolationAt(*one.Head, rules.Mismatch{
				Wanted: exchanges.EventStreamType + " or application/json",
				Found:  fmt.Sprintf("HTTP %d of the content type %q", one.Status(), one.Head.HTTP.Header.Get("Content-Type")),
				Where:  "header Content-Type",
			}, one.Explained()...)
		}
	}
}

// noObject says what a body is that should be a JSON object; "" when it is one
// or is not known.
func noObject(one *exchanges.Exchange) string {
	switch {
	case len(one.Events) == 0 && one.EndedByServer():
		return "no body"
	case len(one.Said) == 0 || one.Said[0].Object != nil || rules.HasFlaw(one.Said[0], jsonrpc.TooComplex) || !one.EndedByServer():
		return ""
	}
	return excerpt.Short(one.Said[0].Raw)
}

// noEvents says what a body is that should be an event stream and ends without
// one field of an event; "" when it has some, or nothing but comments.
func noEvents(one *exchanges.Exchange) string {
	isOther := func(event transcript.Event) bool { return onlyComments(event) && len(event.SSE.Comments) == 0 }
	if len(one.Events) == 0 || !one.EndedByServer() ||
		slices.ContainsFunc(one.Events, func(event transcript.Event) bool { return !isOther(event) }) {
		return ""
	}
	return excerpt.Short(one.Events[0].Raw)
}
