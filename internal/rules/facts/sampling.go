package facts

import (
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// SamplingMethod asks the client for a message of its model.
const SamplingMethod = "sampling/createMessage"

// A Turn is one message of a conversation with a model.
type Turn struct {
	places.Place
	Role   string
	Blocks []places.Place // of its content, which may be one block or several
}

// Turns returns the messages of a sampling request.
func Turns(ask rules.Ask) []Turn {
	var all []Turn
	for _, message := range places.OfAsk(ask).Items("messages") {
		all = append(all, TurnAt(message))
	}
	return all
}

// TurnAt reads one message of a sampling request, or its result.
func TurnAt(message places.Place) Turn {
	role, _ := message.Member("role")
	one := Turn{Place: message, Role: role.Text(), Blocks: message.Items("content")}
	if content, _ := message.Member("content"); content.Object() != nil {
		one.Blocks = []places.Place{content}
	}
	return one
}

// Of returns the blocks of a type.
func (t Turn) Of(kind string) []places.Place {
	var kept []places.Place
	for _, block := range t.Blocks {
		if block.Object()["type"] == kind {
			kept = append(kept, block)
		}
	}
	return kept
}
