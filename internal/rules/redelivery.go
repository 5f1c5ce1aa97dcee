package rules

import (
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Originals returns the target's messages without those that it delivered a
// second time.
func Originals(conversation *Conversation) []*Message {
	return Shared(conversation, "originals", readOriginals)
}

func readOriginals(conversation *Conversation) []*Message {
	repeated := Redelivered(conversation)
	return slices.DeleteFunc(
		slices.Clone(conversation.ByTarget()),
		func(message *Message) bool { return repeated[message] },
	)
}

// Redelivered returns the messages that the target sent again because the
// client came back for them with Last-Event-ID.
func Redelivered(conversation *Conversation) map[*Message]bool {
	return Shared(conversation, "redelivered", readRedelivered)
}

func readRedelivered(conversation *Conversation) map[*Message]bool {
	resumed := resumedStreams(conversation)
	if len(resumed) == 0 {
		return nil
	}
	repeated, delivered := map[*Message]bool{}, map[jsonrpc.ID]bool{}
	for _, sent := range conversation.ByTarget() {
		message := jsonrpc.IDOf(sent.Object) // however it is spelled the second time
		if resumed[sent.Event.Stream] && delivered[message] {
			repeated[sent] = true
		}
		delivered[message] = true
	}
	return repeated
}

func resumedStreams(conversation *Conversation) map[string]bool {
	resumed := map[string]bool{}
	for _, event := range conversation.Events {
		if event.IsRequestHead() && event.HTTP.Header.Get("Last-Event-Id") != "" {
			resumed[event.Stream] = true
		}
	}
	return resumed
}

// RefusedStreams are the HTTP exchanges that were answered with an error
// status. Over stdio there are none.
func RefusedStreams(conversation *Conversation) map[string]bool {
	return Shared(conversation, "refusedStreams", readRefusedStreams)
}

func readRefusedStreams(conversation *Conversation) map[string]bool {
	refused := map[string]bool{}
	for _, event := range conversation.Events {
		if event.IsResponseHead() && event.HTTP.Status >= http.StatusBadRequest {
			refused[event.Stream] = true
		}
	}
	return refused
}
