// Package places finds values in messages, with the JSON pointer to each: what a report
// shows of a message that breaks a rule.
package places

import (
	"fmt"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// OfAsk are the params of what the target asks its client.
func OfAsk(ask rules.Ask) Place { return Place{ask.Where, ask.Params} }

// A Place is a value in a message, and the JSON pointer to it.
type Place struct {
	Pointer string
	Value   any
}

// Member returns a member of the object at a place; there is false when it has
// none.
func (p Place) Member(name string) (member Place, there bool) {
	object, _ := p.Value.(map[string]any)
	value, there := object[name]
	return Place{p.Pointer + "/" + name, value}, there
}

// Object returns the object at a place, or nil.
func (p Place) Object() rules.Object {
	object, _ := p.Value.(map[string]any)
	return object
}

// Text returns the string at a place, or "".
func (p Place) Text() string {
	text, _ := p.Value.(string)
	return text
}

// Items returns the elements of the array that is a member of an object.
func (p Place) Items(name string) []Place {
	member, _ := p.Member(name)
	list, _ := member.Value.([]any)
	items := make([]Place, len(list))
	for i, item := range list {
		items[i] = Place{fmt.Sprintf("%s/%d", member.Pointer, i), item}
	}
	return items
}

// ResultOf is the result of a response.
func ResultOf(message *rules.Message) Place {
	result, _ := message.Result()
	return Place{"/result", result}
}

// Found is a place in a message.
type Found struct {
	Place
	Said *rules.Message
}

// Within returns the members of a name that some of the places have.
func Within(all []Found, name string) []Found {
	var members []Found
	for _, one := range all {
		if member, there := one.Member(name); there {
			members = append(members, Found{member, one.Said})
		}
	}
	return members
}

// OfType returns the content blocks of one of the types.
func OfType(blocks []Found, types ...string) []Found {
	var kept []Found
	for _, block := range blocks {
		for _, name := range types {
			if block.Object()["type"] == name {
				kept = append(kept, block)
			}
		}
	}
	return kept
}

// ParamsOf are the params of a request or notification.
func ParamsOf(message *rules.Message) Place { return Place{"/params", message.Params()} }
