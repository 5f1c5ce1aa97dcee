package facts

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// A Withdrawal is a cancellation of the target with the request of the target
// that it names, nil if there was none.
type Withdrawal struct {
	*rules.Message
	ID      jsonrpc.ID
	Request *rules.Message
}

// Withdrawals returns the cancellations of the target, in their order.
func Withdrawals(conversation *rules.Conversation) []Withdrawal {
	return rules.Shared(conversation, "withdrawals", readWithdrawals)
}

func readWithdrawals(conversation *rules.Conversation) []Withdrawal {
	var all []Withdrawal
	requests := map[jsonrpc.ID]*rules.Message{}
	for _, message := range rules.Originals(conversation) {
		switch {
		case rules.IsRequest(message):
			requests[message.ID] = message
		case message.Method == "notifications/cancelled":
			if named, there := message.ParamsObject()["requestId"]; there {
				id := jsonrpc.IDOf(named)
				all = append(all, Withdrawal{message, id, requests[id]})
			}
		}
	}
	for i, one := range all {
		if one.Request == nil && !protocol.Over(conversation.Transport).InOrder() {
			all[i].Request = requests[one.ID]
		}
	}
	return all
}

// CancelledMethod takes a request back.
const CancelledMethod = "notifications/cancelled"
