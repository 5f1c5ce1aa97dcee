package facts

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// IsAnonymous tells whether a response has no id, or null for one.
func IsAnonymous(message *rules.Message) bool {
	return message.ID == jsonrpc.NoID || message.ID == jsonrpc.NullID
}

// Prior knows from when on the peer had said what may provoke a response: the
// index of the first message of a kind.
type Prior struct {
	lane         func(*rules.Message) string
	deliberate   int // something illegal
	notification map[string]int
	request      map[string]int // that may still be answered
	unread       map[string]int // what may be refused without an id
}

// PriorOf reads what the peer said. Over HTTP the response of a server belongs to
// the exchange that it comes in; any other to any request that has no other.
func PriorOf(conversation *rules.Conversation) Prior {
	byExchange := protocol.Over(conversation.Transport).Exchanges() && conversation.Role == protocol.ServerRole
	p := Prior{
		deliberate:   len(conversation.Messages),
		notification: map[string]int{},
		request:      map[string]int{},
		unread:       map[string]int{},
	}
	p.lane = func(message *rules.Message) string {
		if byExchange {
			return message.Event.Stream
		}
		return ""
	}
	first := func(kind map[string]int, message *rules.Message) {
		if _, earlier := kind[p.lane(message)]; !earlier {
			kind[p.lane(message)] = message.Index
		}
	}
	for _, message := range conversation.ByPeer() {
		if message.Event.IsIllegal() {
			p.deliberate = min(p.deliberate, message.Index)
		}
		switch {
		case message.Kind == jsonrpc.Notification:
			first(p.notification, message)
		case rules.IsRequest(message) && (byExchange || len(message.Answers) == 0):
			first(p.request, message)
		case isNoMessage(message):
			first(p.unread, message)
		}
	}
	return p
}

// isNoMessage tells of what JSON-RPC has refused without an id: what is no message, a batch in a
// batch, and an empty one.
func isNoMessage(message *rules.Message) bool {
	nested := message.Batch != nil || len(jsonrpc.Elements(message.Raw, 1)) == 0
	return message.Kind == jsonrpc.Invalid || message.Kind == jsonrpc.Batch && nested
}

// Illegal tells whether something illegal was sent on purpose before: a
// response may then be about that.
func (p Prior) Illegal(response *rules.Message) bool { return p.deliberate < response.Index }

// OnlyNotifications tells whether notifications were sent before, and nothing that a response
// could be about.
func (p Prior) OnlyNotifications(response *rules.Message) bool {
	return p.came(p.notification, response) && !p.came(p.request, response) && !p.Unread(response)
}

// Unread tells whether something was sent before that may be refused without an id.
func (p Prior) Unread(response *rules.Message) bool { return p.came(p.unread, response) }

func (p Prior) came(kind map[string]int, response *rules.Message) bool {
	index, some := kind[p.lane(response)]
	return some && index < response.Index
}
