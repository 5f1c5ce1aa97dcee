package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

const (
	// maxSteps bounds an exchange in a report; transcripts have all of it.
	maxSteps = 60
	// maxStepText bounds one message in a report.
	maxStepText = 2000
)

// Shorten leaves of exchanges what a report shows; transcripts have all of it.
func Shorten(exchanges [][]transcript.Event, outcome check.Outcome) [][]transcript.Event {
	shorter := make([][]transcript.Event, len(exchanges))
	for i, events := range exchanges {
		shorter[i] = slices.Clone(leaveOut(events, outcome.Judged))
		for j := range shorter[i] {
			shorter[i][j] = rules.Excerpt(shorter[i][j], maxStepText, Places(outcome)...)
		}
	}
	return shorter
}

// Places are where the mismatches of a check are.
func Places(outcome check.Outcome) []string {
	var places []string
	for _, mismatch := range outcome.Mismatches {
		places = append(places, mismatch.Where)
	}
	return places
}

// budgetOfMiddle is how many steps the judged event takes with those beside it, and
// what is said of the gaps.
const budgetOfMiddle = 5

// leaveOut takes the middle out of a long exchange, but not the event that was
// judged, nor those beside it, and says so.
func leaveOut(events []transcript.Event, judged transcript.Place) []transcript.Event {
	if len(events) <= maxSteps {
		return events
	}
	at := IndexOf(events, judged)
	shown := make([]transcript.Event, 0, maxSteps)
	left := 0
	for position, event := range events {
		middle := position >= maxSteps/3 && position < len(events)-(maxSteps*2/3-budgetOfMiddle)
		if middle && (at < 0 || position < at-1 || position > at+1) {
			left++
			continue
		}
		if left > 0 {
			shown = append(shown, transcript.Event{
				At:         event.At,
				Connection: event.Connection,
				Sequence:   -1, // it is nowhere
				Kind:       transcript.Remark,
				Note:       fmt.Sprintf("%d events are left out here", left),
			})
			left = 0
		}
		shown = append(shown, event)
	}
	return shown
}

// rawText is what an event carried, shortened around what the pointers name.
func rawText(event transcript.Event, where []string) string {
	text := string(event.Raw)
	if short, whole := excerpt.Bytes(text, maxStepText, where...); whole {
		text = short
	}
	size := max(event.Size, len(event.Raw))
	if len(text) > maxStepText {
		text = strings.ToValidUTF8(text[:maxStepText], "") + "…"
	}
	if size > len(event.Raw) || len(text) < len(event.Raw) {
		text += fmt.Sprintf(" (%d bytes)", size)
	}
	return text
}
