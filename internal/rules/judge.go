package rules

import (
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Judge is what a rule does with a conversation.
type Judge = func(*Conversation, *Reporter)

// Every makes the judge of a rule about single messages of the target: which
// of them could break it, and what is wrong with such a message. A zero
// Mismatch means that nothing is.
func Every(concerned func(*Message) bool, wrong func(*Message) Mismatch) Judge {
	return func(conversation *Conversation, reporter *Reporter) {
		for _, message := range conversation.ByTarget() {
			if !concerned(message) {
				continue
			}
			reporter.Observe()
			if mismatch := wrong(message); mismatch != (Mismatch{}) {
				reporter.Violation(message, mismatch)
			}
		}
	}
}

// OfClient makes a rule judge clients alone.
func OfClient(judged Judge) Judge {
	return func(conversation *Conversation, reporter *Reporter) {
		if conversation.Role == protocol.ClientRole {
			judged(conversation, reporter)
		}
	}
}

// Flood finds the first message at which more than most of them came within
// one second; nil when there is none.
func Flood(messages []*Message, most int) *Message {
	for last := most; last < len(messages); last++ {
		if messages[last].Event.At.Sub(messages[last-most].Event.At) < time.Second {
			return messages[last]
		}
	}
	return nil
}
