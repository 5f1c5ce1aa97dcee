package rules

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// What is judged is what there is room to decode, and nothing is said of the rest.
func TestConversationsHaveRoom(t *testing.T) {
	t.Parallel()
	cell := Cell{Role: protocol.ServerRole, Revision: "2025-06-18", Transport: protocol.Stdio}
	log := transcript.NewLogIn(transcript.NewMemoryBudget(20<<10), "c1")
	for range 20 {
		log.Keep(transcript.Event{Kind: transcript.Message, From: protocol.Server, Raw: []byte(`{"jsonrpc":"2.0","method":"m","params":{"a":{"b":{}}}}`)})
	}
	conversation := ReadConversation(cell, log.Events(), true, log)
	read := 0
	for _, message := range conversation.Messages {
		if message.Object != nil {
			read++
		} else if _, beyond := message.Beyond(); !beyond {
			t.Errorf("a message is not read for another reason: %v", message.Flaws)
		}
	}
	if conversation.Complete || read == 0 || read == 20 {
		t.Errorf("%d messages are read, complete %t", read, conversation.Complete)
	}
	if whole := NewConversation(cell, log.Events(), true); !whole.Complete || len(whole.Messages) != 20 {
		t.Errorf("%d messages are read where there is room for all", len(whole.Messages))
	}
}
