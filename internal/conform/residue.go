package conform

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// leavesSomething tells whether after these events a server may be in another state than
// before, so that another check might find something else on the same connection. In
// doubt it does: something illegal was sent, a request was cancelled or not answered, the
// server has told of a change, or a session of the handshake era was told to remember.
func leavesSomething(events []transcript.Event, stateless bool) bool {
	touched := slices.ContainsFunc(events, func(event transcript.Event) bool {
		if event.Deliberate != "" || !event.IsContent() {
			return event.Deliberate != ""
		}
		message := jsonrpc.Parse(event.Raw)
		switch event.From {
		case protocol.Client:
			return message.Method == "notifications/cancelled" ||
				!stateless && slices.Contains(remembered, message.Method)
		case protocol.Server:
			return message.Kind == jsonrpc.Invalid || message.Kind == jsonrpc.Batch || isChange(message.Method)
		}
		return false
	})
	return touched || leavesOpen(events)
}

// leavesOpen tells whether a request of the server has no response yet.
func leavesOpen(events []transcript.Event) bool {
	open := map[jsonrpc.ID]bool{}
	for _, event := range events {
		if !event.IsContent() {
			continue
		}
		message := jsonrpc.Parse(event.Raw)
		switch {
		case event.From == protocol.Server && message.Kind == jsonrpc.Request:
			open[message.ID] = true
		case event.From == protocol.Client && message.Kind == jsonrpc.Response:
			delete(open, message.ID)
		}
	}
	return len(open) > 0
}

// remembered are the requests by which a client makes a session of the handshake era
// another one. What a tool does there, nobody knows.
var remembered = []string{
	"logging/setLevel",
	"resources/subscribe",
	"resources/unsubscribe",
	"tools/call",
	"tasks/cancel",
}

// isChange tells the notifications of a server that something is not what it was.
func isChange(method string) bool {
	return strings.HasSuffix(method, "/list_changed") || method == "notifications/resources/updated"
}
