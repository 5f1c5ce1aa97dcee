package rules

import "fmt"

// Asked tells whether Shared was called for a fact about a conversation.
func Asked(conversation *Conversation, name string) (asked bool) {
	conversation.shared.Range(func(key, _ any) bool {
		asked = fmt.Sprint(key) == name
		return !asked
	})
	return asked
}
