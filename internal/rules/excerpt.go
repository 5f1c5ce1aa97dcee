package rules

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Excerpt returns the event with at most so many bytes of Raw, in memory of its own.
// Of JSON stays what the pointers name; anything else is cut.
func Excerpt(event transcript.Event, most int, where ...string) transcript.Event {
	if len(event.Raw) <= most {
		return event
	}
	short, whole := excerpt.Bytes(string(event.Raw), most, where...)
	if !whole || len(short) > most {
		return event.Cut(most)
	}
	event.Size = max(event.Size, len(event.Raw))
	event.Raw = bytes.Clone([]byte(short))
	return event
}

// Subject is the request, or notification, that something belongs to.
type Subject struct {
	Method string
	Name   string // what it is called among others: "tools/call of search with id 5"
}

// SubjectOf names a request, or a notification, by its method, by what it is about, and
// by its id.
func SubjectOf(message jsonrpc.Message) Subject {
	text := message.Method
	params, _ := message.Params().(map[string]any)
	name, _ := params["name"].(string)
	uri, _ := params["uri"].(string)
	if of := cmp.Or(name, uri); of != "" && len(of) <= longestName {
		text += " of " + of
	}
	if message.Kind == jsonrpc.Request {
		text += fmt.Sprintf(" with id %s", message.ID)
	}
	return Subject{message.Method, text}
}

// longestName is as much as a name of a tool or URI may have, in bytes, to be told in a
// line among other things.
const longestName = 80

// subject names what a message belongs to: the request that it answers, or itself.
func (s *Message) subject() Subject {
	if s.Request != nil {
		s = s.Request
	}
	if s.Method == "" {
		return Subject{}
	}
	return SubjectOf(s.Message)
}

// LeadingMessages is how many messages before the judged one are shown when no
// request of its own explains it.
const LeadingMessages = 4

// excerpt returns the messages that explain one: the request that it answers,
// or else what was said just before.
func (c *Conversation) excerpt(said *Message) []transcript.Event {
	if said.Request != nil {
		return []transcript.Event{said.Request.Event, said.Event}
	}
	var shown []transcript.Event
	for _, earlier := range c.Messages[max(0, said.Index-LeadingMessages) : said.Index+1] {
		shown = append(shown, earlier.Event)
	}
	return shown
}
