package evidence

import (
	"fmt"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// Steps turns events into an exchange; the one at the judged position is
// marked, and what the pointers name stays of it.
func Steps(events []transcript.Event, judged int, redact func(string) string, where ...string) []reports.Step {
	var marked transcript.Place
	if judged >= 0 {
		marked = events[judged].Place()
	}
	shown, answering := leaveOut(events, marked), answerers(events)
	steps := make([]reports.Step, 0, len(shown))
	for _, event := range shown {
		from, to := ends(event, answering)
		steps = append(steps, reports.Step{
			At:   reports.SecondsOf(event.At.Sub(events[0].At)),
			From: from, To: to,
			Kind: stepKind(event), Text: redact(stepText(event, where)),
			Deliberate: event.Deliberate != "", Marked: judged >= 0 && event.Place() == marked,
		})
	}
	return steps
}

// lane is one exchange on one connection.
type lane struct{ connection, stream string }

// answerers tells who answered on each lane.
func answerers(events []transcript.Event) map[lane]protocol.Party {
	answering := map[lane]protocol.Party{}
	for _, event := range events {
		if event.From != "" && event.From != protocol.Client {
			answering[lane{event.Connection, event.Stream}] = event.From
		}
	}
	return answering
}

// ends says between whom an event took place; what neither of them sent, such
// as a failure of the transport, the harness tells.
func ends(event transcript.Event, answering map[lane]protocol.Party) (from, to string) {
	if event.From == "" {
		return reports.Harness, ""
	}
	if by := answering[lane{event.Connection, event.Stream}]; event.From == protocol.Client &&
		by == protocol.AuthorizationServer {
		return string(event.From), string(by)
	}
	return string(event.From), string(event.From.Other())
}

var stepKinds = map[transcript.Kind]string{
	transcript.Message: reports.StepMessage, transcript.Body: reports.StepBody, transcript.Block: reports.StepEvent,
	transcript.End: reports.StepClose, transcript.Close: reports.StepClose, transcript.Open: reports.StepOpen,
	transcript.Stderr: reports.StepStderr, transcript.Exit: reports.StepExit,
	transcript.Signal: reports.StepNote, transcript.Remark: reports.StepNote, transcript.Failure: reports.StepNote,
}

func stepKind(event transcript.Event) string {
	if event.Kind != transcript.Head {
		return stepKinds[event.Kind]
	}
	if event.HTTP != nil && event.HTTP.Status != 0 {
		return reports.StepResponse
	}
	return reports.StepRequest
}

func stepText(event transcript.Event, where []string) string {
	text := event.Note
	switch {
	case event.HTTP != nil && event.HTTP.Status != 0:
		text = fmt.Sprintf("HTTP %d%s", event.HTTP.Status, headerText(event.HTTP.Header, responseHeaders))
	case event.HTTP != nil:
		text = event.HTTP.Method + " " + event.HTTP.URL + headerText(event.HTTP.Header, requestHeaders)
	case len(event.Raw) > 0:
		text = rawText(event, where)
	}
	switch {
	case event.Deliberate != "":
		text += " (illegal on purpose: " + event.Deliberate + ")"
	case event.Breaks != "":
		text += " (breaks " + event.Breaks + ")"
	}
	return text
}

// Headers that say something about the protocol; a report need not show more.
var (
	// Those that are seldom sent come first, as a verdict may turn on them, and the end may
	// be cut.
	requestHeaders = []string{
		"Host",
		"Origin",
		"Mcp-Session-Id",
		"Mcp-Protocol-Version",
		"Last-Event-Id",
		"Authorization",
		"Accept",
		"Content-Type",
	}
	responseHeaders = []string{"Content-Type", "Mcp-Session-Id", "Location", "Www-Authenticate", "Allow", "Retry-After"}
)

func headerText(header map[string][]string, shown []string) string {
	var text strings.Builder
	for _, name := range shown {
		for _, value := range header[name] {
			fmt.Fprintf(&text, ", %s: %s", name, value)
		}
	}
	return text.String()
}
