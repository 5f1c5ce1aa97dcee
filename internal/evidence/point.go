package evidence

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Point finds the requests that what a failed check judged belongs to. Where the check
// judged nothing that was recorded, it points at nothing.
func Point(outcome *check.Outcome, exchanges [][]transcript.Event) {
	if outcome.Ending != check.Failed {
		return
	}
	events := Events(exchanges)
	at := IndexOf(events, outcome.Judged)
	if at < 0 {
		outcome.Judged = transcript.Place{}
		return
	}
	if len(outcome.Mismatches) > 0 {
		at = answering(events, at, outcome.Mismatches[0].Where)
	}
	outcome.Judged = events[at].Place()
	for i := range outcome.Mismatches {
		mismatch := &outcome.Mismatches[i]
		if i > 0 && mismatch.Of != (transcript.Place{}) {
			at = IndexOf(events, mismatch.Of)
		}
		if at >= 0 {
			mismatch.About, mismatch.Code = aboutOf(events, at), Code(events[at])
		}
	}
}

// Code is the code of a JSON-RPC error; zero where the event is none.
func Code(event transcript.Event) int64 {
	if event.Kind != transcript.Message {
		return 0
	}
	refusal, _ := jsonrpc.Parse(event.Raw).Error()
	return refusal.Code
}

// answering returns the position of the answer to a request, where that has the place of
// the mismatch and the request has not: what came of an answer is judged by what was
// done with it.
func answering(events []transcript.Event, at int, place string) int {
	judged := events[at]
	if !strings.HasPrefix(place, "/") || judged.Kind != transcript.Message || has(judged, place) {
		return at
	}
	request := jsonrpc.Parse(judged.Raw)
	for position, event := range events[at+1:] {
		if event.Connection == judged.Connection && event.From != judged.From && has(event, place) {
			if answer := jsonrpc.Parse(event.Raw); answer.Kind == jsonrpc.Response && answer.ID == request.ID {
				return at + 1 + position
			}
		}
	}
	return at
}

// has tells whether a message has a place, or at least what it would stand in.
func has(event transcript.Event, place string) bool {
	if event.Kind != transcript.Message {
		return false
	}
	message := jsonrpc.Parse(event.Raw)
	return message.Object != nil && reaches(message.Object, jsontext.Pointer(place).Parent())
}

// reaches tells whether there is a value at a pointer.
func reaches(value any, pointer jsontext.Pointer) bool {
	for token := range pointer.Tokens() {
		switch inner := value.(type) {
		case map[string]any:
			member, there := inner[token]
			if !there {
				return false
			}
			value = member
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(inner) {
				return false
			}
			value = inner[index]
		default:
			return false
		}
	}
	return true
}

// aboutOf names the request that what was judged belongs to: the one that it answers,
// or itself; zero when it belongs to none.
func aboutOf(events []transcript.Event, judged int) rules.Subject {
	event := events[judged]
	var answer jsonrpc.Message
	if event.Kind == transcript.Message {
		if answer = jsonrpc.Parse(event.Raw); answer.Method != "" {
			return rules.SubjectOf(answer)
		}
	}
	for _, earlier := range slices.Backward(events[:judged]) {
		if earlier.Kind != transcript.Message || earlier.Connection != event.Connection || earlier.From == event.From {
			continue
		}
		request := jsonrpc.Parse(earlier.Raw)
		answered := answer.Kind == jsonrpc.Response && request.ID == answer.ID
		carried := event.Kind == transcript.Head && earlier.Stream == event.Stream
		if request.Kind == jsonrpc.Request && (answered || carried) {
			return rules.SubjectOf(request)
		}
	}
	return rules.Subject{}
}
