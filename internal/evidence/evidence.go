// Package evidence is about the events that show what a check or a rule found: which of them was
// judged, what a report shows of them, and what they tell of the target. It judges nothing.
package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Events are those of all exchanges, in the order in which they came.
func Events(exchanges [][]transcript.Event) []transcript.Event {
	return slices.SortedStableFunc(slices.Values(slices.Concat(exchanges...)), func(a, b transcript.Event) int {
		return a.At.Compare(b.At)
	})
}

// IndexOf returns the position of what was judged; -1 when it is not there.
func IndexOf(events []transcript.Event, judged transcript.Place) int {
	return slices.IndexFunc(events, func(event transcript.Event) bool { return event.Place() == judged })
}

// Shows tells whether the target said or did anything.
func Shows(exchanges [][]transcript.Event, role string) bool {
	return slices.ContainsFunc(exchanges, func(events []transcript.Event) bool {
		return slices.ContainsFunc(events, func(event transcript.Event) bool {
			return string(event.From) == role || event.Kind == transcript.Exit
		})
	})
}

// Unheard tells whether a server was asked something and answered nothing but
// initialize, or whether a client never came.
func Unheard(exchanges [][]transcript.Event, role string) bool {
	if role == protocol.ClientRole {
		return len(exchanges) == 0
	}
	asked := false
	for _, events := range exchanges {
		open := map[jsonrpc.ID]bool{}
		for _, event := range events {
			if event.Kind != transcript.Message {
				continue
			}
			message := jsonrpc.Parse(event.Raw)
			switch {
			case event.From == protocol.Client && message.Kind == jsonrpc.Request:
				asked = true
				open[message.ID] = message.Method != "initialize"
			case event.From == protocol.Server && message.Kind == jsonrpc.Response && open[message.ID]:
				return false
			}
		}
	}
	return asked
}

// LastOf returns the position of the last message or head of a party; -1 for none.
func LastOf(events []transcript.Event, party string) int {
	for position, event := range slices.Backward(events) {
		if string(event.From) == party && (event.IsContent() || event.Kind == transcript.Head) {
			return position
		}
	}
	return -1
}

// LastRequest names the last request that the harness made: its method, and what it is
// about; "" for none.
func LastRequest(events []transcript.Event) string {
	for _, event := range slices.Backward(events) {
		if event.Kind != transcript.Message || event.From != protocol.Client {
			continue
		}
		message := jsonrpc.Parse(event.Raw)
		if message.Kind != jsonrpc.Request {
			continue
		}
		params, _ := message.Params().(map[string]any)
		name, _ := params["name"].(string)
		uri, _ := params["uri"].(string)
		return strings.TrimSpace(message.Method + " " + cmp.Or(name, uri))
	}
	return ""
}

// Exit says how the process of the target ended meanwhile; "" when it did not.
func Exit(events []transcript.Event) string {
	for _, event := range slices.Backward(events) {
		if event.Kind == transcript.Exit {
			return event.Note
		}
	}
	return ""
}

// Stderr returns what the target wrote to standard error meanwhile.
func Stderr(events []transcript.Event) string {
	var lines []string
	for _, event := range events {
		if event.Kind == transcript.Stderr {
			lines = append(lines, strings.TrimRight(string(event.Raw), "\n"))
		}
	}
	return excerpt.LastLines(strings.Join(lines, "\n"))
}
