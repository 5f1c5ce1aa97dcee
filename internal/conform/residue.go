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
	open := map[jsonrpc.ID]bool{} // requests of the server
	for _, event := range events {
		if event.Deliberate != "" {
			return true
		}
		if !event.IsContent() {
			continue
		}
		message := jsonrpc.Parse(event.Raw)
		switch {
		case event.From == protocol.Client && (message.Method == "notifications/cancelled" || !stateless && slices.Contains(remembered, message.Method)):
			return true
		case event.From == protocol.Server && (message.Kind == jsonrpc.Invalid || message.Kind == jsonrpc.Batch || isChange(message.Method)):
			return true
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
