package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
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
	if outcome.Judged == nil && len(outcome.Mismatches) > 0 {
		at = judgedOf(events, outcome.Mismatches[0], protocol.Party(role))
	}
	if at < 0 {
		outcome.Judged = nil
		return
	}
	if len(outcome.Mismatches) > 0 {
		at = answering(events, at, outcome.Mismatches[0].Where)
	}
	outcome.About = aboutOf(events, at)
	judged := events[at]
	judged.Raw = nil // it stands among the others
	outcome.Judged = &judged
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

// judgedOf returns the position of what the target sent that a mismatch is about: the
// last that reads as what was found, or else the last that has the place where it was
// found. It is -1 when there is none.
func judgedOf(events []transcript.Event, mismatch rules.Mismatch, target protocol.Party) int {
	for _, is := range []func(transcript.Event) bool{
		func(event transcript.Event) bool { return reads(event, mismatch.Found) },
		func(event transcript.Event) bool {
			return strings.HasPrefix(mismatch.Where, "/") && has(event, mismatch.Where)
		},
	} {
		for position, event := range slices.Backward(events) {
			if event.From == target && is(event) {
				return position
			}
		}
	}
	return -1
}

// leastShown is how long a text must be, in bytes, to be recognised: {} is anything.
const leastShown = 4

// reads tells whether a text shows an event, in the words in which checks show what
// they found.
func reads(event transcript.Event, found string) bool {
	if event.Kind == transcript.Head && event.HTTP != nil && event.HTTP.Status != 0 {
		return strings.HasPrefix(found, fmt.Sprintf("HTTP %d", event.HTTP.Status))
	}
	if !event.IsContent() {
		return false
	}
	message := jsonrpc.Parse(event.Raw)
	texts := []string{
		conform.Reply{Received: scripted.Received{Message: message}}.Describe(),
		rules.Show(message.Object),
	}
	if result, there := message.Result(); there {
		texts = append(texts, rules.Show(result))
	}
	return slices.ContainsFunc(
		texts,
		func(text string) bool { return len(text) >= leastShown && strings.Contains(found, text) },
	)
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
