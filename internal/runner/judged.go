package runner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// point finds what a failed check judged, where the check does not say, and the request
// that it belongs to. Where nothing is sure, it points at nothing.
func point(outcome *conform.Outcome, exchanges [][]transcript.Event, role string) {
	if outcome.Ending != conform.Failed {
		return
	}
	events := eventsOf(exchanges)
	at := judgedIn(events, outcome.Judged)
	if outcome.Judged == nil {
		at = judgedOf(events, places(*outcome), transcript.Party(role))
	}
	if at < 0 {
		outcome.Judged = nil
		return
	}
	outcome.About = aboutOf(events, at)
	judged := events[at]
	judged.Raw = nil // it stands among the others
	outcome.Judged = &judged
}

// judgedOf returns the position of what the target sent that was judged: the last that
// has all the places of the mismatches; without any places, the answer to the last
// that the harness asked. It is -1 when there is none.
func judgedOf(events []transcript.Event, where []string, target transcript.Party) int {
	var pointers []string
	head := false
	for _, place := range where {
		switch {
		case strings.HasPrefix(place, "/"):
			pointers = append(pointers, place)
		case place != "":
			head = true // the status, or a header
		}
	}
	asked := jsonrpc.NoID // the last request of the harness
	for position, event := range slices.Backward(events) {
		switch {
		case event.From != target && event.Kind == transcript.Message && asked == jsonrpc.NoID:
			if request := jsonrpc.Parse(event.Raw); request.Kind == jsonrpc.Request {
				asked = request.ID
			}
		case event.From != target:
		case head && event.Kind == transcript.Head, !head && len(pointers) > 0 && event.Kind == transcript.Message && has(event, pointers):
			return position
		}
	}
	if head || len(pointers) > 0 {
		return -1
	}
	for position, event := range slices.Backward(events) {
		if event.From == target && event.Kind == transcript.Message && asked != jsonrpc.NoID {
			if answer := jsonrpc.Parse(event.Raw); answer.Kind == jsonrpc.Response && answer.ID == asked {
				return position
			}
		}
	}
	return -1
}

// has tells whether a message has all places, or at least what they would stand in.
func has(event transcript.Event, pointers []string) bool {
	message := jsonrpc.Parse(event.Raw)
	return message.Object != nil && !slices.ContainsFunc(pointers, func(pointer string) bool {
		return !reaches(message.Object, jsontext.Pointer(pointer).Parent())
	})
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
func aboutOf(events []transcript.Event, judged int) conform.Subject {
	event := events[judged]
	var answer jsonrpc.Message
	if event.Kind == transcript.Message {
		if answer = jsonrpc.Parse(event.Raw); answer.Method != "" {
			return conform.SubjectOf(answer)
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
			return conform.SubjectOf(request)
		}
	}
	return conform.Subject{}
}
