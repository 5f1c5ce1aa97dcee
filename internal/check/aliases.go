package check

import "github.com/mcpconform/mcpconform/internal/rules"

// What rules judge by is what checks talk of, too.
type (
	// Cell is a role at a revision over a transport.
	Cell = rules.Cell
	// Conversation is the transcript of one connection.
	Conversation = rules.Conversation
	// Message is one message of a conversation.
	Message = rules.Message
	// Subject is the request, or notification, that something belongs to.
	Subject = rules.Subject
	// Object is a JSON object that came from the target.
	Object = map[string]any
)

// Show writes a value for people, shortened.
func Show(value any) string { return rules.Show(value) }
