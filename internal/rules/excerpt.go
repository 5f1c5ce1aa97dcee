package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Excerpt returns the event with at most so many bytes of Raw, in memory of its own, and
// with no longer texts beside than a person reads. Of JSON stays what the pointers name;
// anything else is cut.
func Excerpt(event transcript.Event, most int, where ...string) transcript.Event {
	event = shortHead(event)
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

// maxHeaders bounds the headers that are kept of a head, and maxTexts what is kept of what
// an event stream says beside its data.
const (
	maxHeaders = 64
	maxTexts   = 16
)

// shortHead shortens what an event has beside Raw.
func shortHead(event transcript.Event) transcript.Event {
	event.Note = excerpt.Text(event.Note)
	if head := event.HTTP; head != nil {
		event.HTTP = &transcript.HTTP{
			Method: excerpt.Text(
				head.Method,
			),
			URL:    excerpt.Text(head.URL),
			Status: head.Status,
			Header: shortHeaders(head.Header),
		}
	}
	if beside := event.SSE; beside != nil {
		short := *beside
		if beside.ID != nil {
			id := excerpt.Text(*beside.ID)
			short.ID = &id
		}
		short.Name = excerpt.Text(beside.Name)
		short.Comments, short.Flaws = shortTexts(beside.Comments), shortTexts(beside.Flaws)
		event.SSE = &short
	}
	return event
}

// shortHeaders shortens headers so that all together are not much longer than a text.
func shortHeaders(headers http.Header) http.Header {
	left, count := excerpt.LongestText, maxHeaders
	short := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			if count == 0 || left <= 0 {
				return short
			}
			value = excerpt.Text(value)
			left, count = left-len(name)-len(value), count-1
			short[name] = append(short[name], value)
		}
	}
	return short
}

func shortTexts(texts []string) []string {
	var short []string
	for _, text := range texts[:min(len(texts), maxTexts)] {
		short = append(short, excerpt.Text(text))
	}
	return short
}

// Subject is the request, or notification, that something belongs to.
type Subject struct {
	Method string
	Item   string `json:",omitempty"` // the name or URI of what it is about
	Name   string // what it is called among others: "tools/call of search with id 5"
}

// short returns the subject with no longer texts than a report has.
func (s Subject) short() Subject {
	return Subject{excerpt.Text(s.Method), excerpt.Text(s.Item), excerpt.Text(s.Name)}
}

// SubjectOf names a request, or a notification, by its method, by what it is about, and
// by its id.
func SubjectOf(message jsonrpc.Message) Subject {
	text := message.Method
	params, _ := message.Params().(map[string]any)
	name, _ := params["name"].(string)
	uri, _ := params["uri"].(string)
	item := cmp.Or(name, uri)
	if item != "" && len(item) <= longestName {
		text += " of " + item
	}
	switch {
	case message.Kind != jsonrpc.Request:
	case strings.HasPrefix(message.Method, "notifications/"):
		text += fmt.Sprintf(" (a request, as it has the id %s)", message.ID)
	default:
		text += fmt.Sprintf(" with id %s", message.ID)
	}
	return Subject{message.Method, item, text}
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
func (c *Conversation) excerpt(message *Message) []transcript.Event {
	if message.Request != nil {
		return []transcript.Event{message.Request.Event, message.Event}
	}
	var shown []transcript.Event
	for _, earlier := range c.Messages[max(0, message.Index-LeadingMessages) : message.Index+1] {
		shown = append(shown, earlier.Event)
	}
	return slices.CompactFunc(shown, func(a, b transcript.Event) bool { return a.Sequence == b.Sequence }) // of a batch
}
