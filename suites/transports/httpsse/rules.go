package httpsse

import (
	"strconv"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// Rules are those of the section HTTP with SSE.
func Rules() []rules.Rule {
	return []rules.Rule{{
		Text:     "sends its messages on the stream, in events named message",
		Verifies: rules.Verifies("transports.sse.messages"),
		Role:     protocol.ServerRole,
		Judge:    overSSE(rules.Every(isSaid, misplaced)),
	}}
}

func overSSE(judge rules.Judge) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		if conversation.Transport == protocol.SSE {
			judge(conversation, reporter)
		}
	}
}

// isSaid tells whether a message is one of the protocol: an error in the body of an HTTP
// response that answers no request only says more than its status does.
func isSaid(message *rules.Message) bool {
	return message.Kind != jsonrpc.Invalid && (message.Event.SSE != nil || message.Request != nil)
}

// misplaced finds a message that stands in the body of an HTTP response, or in an event that
// a client of the page does not look at. An event without a name is one named message.
func misplaced(message *rules.Message) rules.Mismatch {
	switch sse := message.Event.SSE; {
	case sse == nil:
		return rules.Mismatch{
			Wanted: "an event of the stream",
			Found:  "the body of a response to a POST: " + excerpt.Short(message.Raw),
		}
	case sse.Name != "" && sse.Name != "message":
		return rules.Mismatch{Wanted: `the name "message", or none`, Found: strconv.Quote(sse.Name)}
	}
	return rules.Mismatch{}
}
