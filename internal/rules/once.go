package rules

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// longMessage is how long a message is in bytes that the rules judge but once: a list
// of thousands of tools, which most checks of tools are given.
const longMessage = 1 << 20

// Once lets long messages of a target be judged but once. It is safe for concurrent use.
type Once struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]bool
}

// LeaveOut returns events without the messages that are judged already: there, they
// are known to have been more, as where there was no room.
func (o *Once) LeaveOut(events []transcript.Event) []transcript.Event {
	fewer := events
	for i, event := range events {
		if !event.IsContent() || len(event.Raw) < longMessage || !o.has(event.Raw) {
			continue
		}
		if &fewer[0] == &events[0] {
			fewer = slices.Clone(events)
		}
		fewer[i] = event.Cut(MaxShown)
	}
	return fewer
}

func (o *Once) has(raw []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen) > 0 && o.seen[jsonrpc.Fingerprint(raw)]
}

// Add notes those of a conversation that was judged.
func (o *Once) Add(conversation *Conversation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, message := range conversation.Messages {
		if _, beyond := message.Beyond(); len(message.Raw) < longMessage || beyond {
			continue
		}
		if o.seen == nil {
			o.seen = map[[sha256.Size]byte]bool{}
		}
		o.seen[jsonrpc.Fingerprint(message.Raw)] = true
	}
}
