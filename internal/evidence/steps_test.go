package evidence

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// The headers on which a verdict may turn come before those that every request has.
func TestWhatARequestTurnsOnComesFirst(t *testing.T) {
	t.Parallel()
	sent := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}, "Origin": {"http://stranger.invalid"}, "Host": {"stranger.invalid"}}
	const want = ", Host: stranger.invalid, Origin: http://stranger.invalid, Accept: application/json, Content-Type: application/json"
	if got := headerText(sent, requestHeaders); got != want {
		t.Error(got)
	}
}

// as leaves a text as it is.
func as(text string) string { return text }

// Wherever the judged step stands, it is shown, and what is left out is told.
func TestStepsOfALongExchange(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	var events []transcript.Event
	for i := range 3 * maxSteps {
		events = append(events, transcript.Event{
			Kind: transcript.Message, From: protocol.Server, Sequence: i, At: begun.Add(time.Duration(i) * time.Second), Raw: []byte("{}"),
		})
	}
	for _, judged := range []int{0, 1, maxSteps / 3, maxSteps, 2 * maxSteps, len(events) - 2, len(events) - 1} {
		steps := Steps(events, judged, as)
		if len(steps) > maxSteps {
			t.Errorf("%d: %d steps", judged, len(steps))
		}
		marked := slices.IndexFunc(steps, func(step reports.Step) bool { return step.Marked })
		if marked < 0 || steps[marked].At != reports.Seconds(judged) {
			t.Errorf("%d: step %d is marked", judged, marked)
		}
		if last := steps[len(steps)-1].At; last != reports.Seconds(len(events)-1) {
			t.Errorf("%d: the last step is at %v s", judged, last)
		}
		left, messages := 0, 0
		for _, step := range steps {
			if step.Kind == reports.StepMessage {
				messages++
				continue
			}
			var count int
			if _, err := fmt.Sscanf(step.Text, "%d events are left out here", &count); err != nil || step.Kind != reports.StepNote {
				t.Errorf("%d: %+v", judged, step)
			}
			left += count
		}
		if left+messages != len(events) {
			t.Errorf("%d: %d are shown and %d left out, of %d", judged, messages, left, len(events))
		}
	}
}

func TestWhatNobodySentIsToldByTheHarness(t *testing.T) {
	t.Parallel()
	steps := Steps([]transcript.Event{{Kind: transcript.Failure, Note: "the server has closed it"}, {Kind: transcript.Message, From: protocol.Server}}, -1, as)
	if steps[0].From != reports.Harness || steps[0].To != "" {
		t.Errorf("a failure of the transport is from %q to %q", steps[0].From, steps[0].To)
	}
	if steps[1].From != string(protocol.Server) || steps[1].To != string(protocol.Client) {
		t.Errorf("a message is from %q to %q", steps[1].From, steps[1].To)
	}
}

func TestStepText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		event transcript.Event
		want  string
	}{
		{transcript.Event{Kind: transcript.Head, HTTP: &transcript.HTTP{
			Method: "POST", URL: "http://host/mcp", Header: map[string][]string{"Accept": {"text/event-stream"}, "X-Other": {"1"}},
		}}, "POST http://host/mcp, Accept: text/event-stream"},
		{transcript.Event{Kind: transcript.Head, HTTP: &transcript.HTTP{
			Status: 404, Header: map[string][]string{"Content-Type": {"text/plain"}},
		}}, "HTTP 404, Content-Type: text/plain"},
		{transcript.Event{Kind: transcript.Message, Raw: []byte("not JSON"), Deliberate: "is not JSON"}, "not JSON (illegal on purpose: is not JSON)"},
		{transcript.Event{Kind: transcript.Exit, Note: "exited with status 1"}, "exited with status 1"},
	} {
		if text := stepText(test.event, nil); text != test.want {
			t.Errorf("%q, not %q", text, test.want)
		}
	}
	long := stepText(transcript.Event{Kind: transcript.Message, Raw: []byte(strings.Repeat("é", maxStepText))}, nil)
	if !strings.HasSuffix(long, "… (4000 bytes)") || len(long) > maxStepText+20 {
		t.Errorf("%d bytes, ending in %q", len(long), long[len(long)-20:])
	}
}
