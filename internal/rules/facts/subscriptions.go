package facts

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

const (
	// ListenMethod opens a subscription.
	ListenMethod = "subscriptions/listen"
	// AcknowledgedMethod is the first that a server sends on it.
	AcknowledgedMethod = "notifications/subscriptions/acknowledged"
)

// SubscriptionID returns the id of the subscription that a message names.
func SubscriptionID(message *rules.Message) (id jsonrpc.ID, there bool) {
	value, there := message.Meta()[mcp.MetaSubscription]
	return jsonrpc.IDOf(value), there
}
