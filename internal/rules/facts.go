package rules

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Facts are what a conversation is judged by beside its own events: with both, it can
// be judged again.
type Facts struct {
	Incomplete                             bool `json:",omitzero"` // there were more events
	ClientCapabilities, ServerCapabilities Object
	Tools                                  []Object `json:",omitempty"` // those of them that were called
}

// Facts returns those of the conversation.
func (c *Conversation) Facts() Facts {
	called := map[any]bool{}
	for _, message := range c.Messages {
		if name, named := message.ParamsObject()["name"].(string); named && message.Kind == jsonrpc.Request &&
			message.Method == "tools/call" {
			called[name] = true
		}
	}
	listed := slices.DeleteFunc(slices.Clone(c.Tools), func(tool Object) bool {
		name, _ := tool["name"].(string)
		return !called[name]
	})
	return Facts{
		Incomplete:         !c.Complete,
		ClientCapabilities: c.ClientCapabilities,
		ServerCapabilities: c.ServerCapabilities,
		Tools:              listed,
	}
}

// Recall gives a conversation that was read again the facts of the first time. What
// stands in its own events stays.
func (c *Conversation) Recall(facts Facts) {
	c.Complete = c.Complete && !facts.Incomplete
	if c.ClientCapabilities == nil {
		c.ClientCapabilities = facts.ClientCapabilities
	}
	if c.ServerCapabilities == nil {
		c.ServerCapabilities = facts.ServerCapabilities
	}
	c.Tools = facts.Tools
}
