package progress

import (
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
)

// sendings tell in which order the target sent its messages: those of a stream in
// that of the transcript. Over HTTP each message of a client has a request of its
// own, and that it sent one after another is known when the one was answered before
// the other began.
type sendings struct {
	byRequest       bool
	begun, answered map[string]int // by stream: sequence of the heads
}

func sendingOrder(conversation *rules.Conversation) sendings {
	order := sendings{
		byRequest: !protocol.Over(conversation.Transport).InOrder() && conversation.Role == protocol.ClientRole,
		begun:     map[string]int{}, answered: map[string]int{},
	}
	if !order.byRequest {
		return order
	}
	for _, one := range exchanges.Of(conversation) {
		order.begun[one.Request.Stream] = one.Request.Sequence
		if one.Head != nil {
			order.answered[one.Request.Stream] = one.Head.Sequence
		}
	}
	return order
}

// lane is what messages have in common whose order may be known.
func (s sendings) lane(message *rules.Message) string {
	if s.byRequest {
		return ""
	}
	return message.Event.Stream
}

// before tells whether it is known that one message was sent before another.
func (s sendings) before(earlier, later *rules.Message) bool {
	if !s.byRequest {
		return earlier.Event.Stream == later.Event.Stream && earlier.Index < later.Index
	}
	answered, known := s.answered[earlier.Event.Stream]
	return known && answered < s.begun[later.Event.Stream]
}
