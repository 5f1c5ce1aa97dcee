package session

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// leaves tells whether after these events a server may be in another state than before, so
// that another check might find something else on the same connection, and whether a request
// of the server has no response yet. In doubt it is: something illegal was sent, a request
// was cancelled or not answered, the server has told of a change, or a session of the
// handshake era was told to remember.
func leaves(events []transcript.Event, stateless bool) (something, open bool) {
	asked := map[jsonrpc.ID]bool{}
	for _, event := range events {
		something = something || event.Deliberate != ""
		if !event.IsContent() {
			continue
		}
		message := jsonrpc.Parse(event.Raw)
		switch {
		case event.From == protocol.Client && message.Kind == jsonrpc.Response:
			delete(asked, message.ID)
		case event.From == protocol.Client:
			something = something || message.Method == "notifications/cancelled" ||
				!stateless && slices.Contains(remembered, message.Method)
		case event.From == protocol.Server && message.Kind == jsonrpc.Request:
			asked[message.ID] = true
		case event.From == protocol.Server:
			something = something || message.Kind == jsonrpc.Invalid || message.Kind == jsonrpc.Batch ||
				isChange(message.Method)
		}
	}
	open = len(asked) > 0
	return something || open, open
}

// remembered are the requests by which a client changes the state of a session of the
// handshake era. What the call of a tool changes is unknown.
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
