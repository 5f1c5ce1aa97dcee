package facts

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// ListenMethod opens a subscription.
const ListenMethod = "subscriptions/listen"

// SubscriptionID returns the id of the subscription that a message names.
func SubscriptionID(said *rules.Message) (id jsonrpc.ID, there bool) {
	value, there := said.Meta()[mcp.MetaSubscription]
	return jsonrpc.IDOf(value), there
}
