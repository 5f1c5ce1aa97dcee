// Package exchanges reads the HTTP requests of a conversation, with what answered each
// and the streams that resume it (basic/transports/streamable-http).
package exchanges

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Headers of Streamable HTTP that rules look at.
const (
	SessionHeader = "Mcp-Session-Id"
	lastEventID   = "Last-Event-Id"
)

// EventStreamType is the media type of an event stream.
const EventStreamType = "text/event-stream"

// An Exchange is one HTTP request and what answered it.
type Exchange struct {
	Method  string
	Request transcript.Event // its head
	Sent    *rules.Message   // the message or batch in its body, or nil
	Head    *transcript.Event
	Events  []transcript.Event // blocks and messages of the response, in order
	Said    []*rules.Message   // the messages among them
	End     *transcript.Event  // nil while the response goes on
	Resumes *Exchange          // the stream that it resumes, as far as is known
}

// Of reads the HTTP exchanges of a conversation, in the order of their
// requests.
func Of(conversation *rules.Conversation) []*Exchange {
	return rules.Shared(conversation, "exchanges", readExchanges)
}

func readExchanges(conversation *rules.Conversation) []*Exchange {
	var all []*Exchange
	open := map[string]*Exchange{}
	messages := map[int][]*rules.Message{} // several of a batch, which itself is the first
	for _, message := range conversation.Messages {
		messages[message.Event.Sequence] = append(messages[message.Event.Sequence], message)
	}
	for _, event := range conversation.Events {
		if event.IsRequestHead() {
			begun := &Exchange{Method: event.HTTP.Method, Request: event}
			begun.Resumes = resumed(all, begun)
			open[event.Stream] = begun
			all = append(all, begun)
			continue
		}
		if one := open[event.Stream]; one != nil {
			one.add(event, messages[event.Sequence])
		}
	}
	return all
}

func (e *Exchange) add(event transcript.Event, messages []*rules.Message) {
	switch {
	case event.Kind == transcript.Head:
		e.Head = &event
	case event.Kind == transcript.Message && event.From == protocol.Client:
		if len(messages) > 0 {
			e.Sent = messages[0]
		}
	case event.IsContent(), event.Kind == transcript.Block:
		e.Events = append(e.Events, event)
		if len(messages) > 1 {
			messages = messages[1:] // those of the batch, without it
		}
		e.Said = append(e.Said, messages...)
	case event.Kind == transcript.End, event.Kind == transcript.Failure:
		e.End = &event
	}
}

// resumed finds the stream that a GET with Last-Event-ID resumes: the only one
// on which an event with that id was sent.
func resumed(earlier []*Exchange, get *Exchange) *Exchange {
	id, resumes := get.LastEventID()
	if !resumes {
		return nil
	}
	var found *Exchange
	for _, one := range earlier {
		if !one.hasEvent(id) || one.Session() != get.Session() {
			continue
		}
		if found != nil && found.Root() != one.Root() {
			return nil // the id is not unique, which has a rule of its own
		}
		found = one
	}
	return found
}

func (e *Exchange) hasEvent(id string) bool {
	for _, event := range e.Events {
		if EventID(event) == id {
			return true
		}
	}
	return false
}

// EventID returns the id of an event of a stream, or "".
func EventID(event transcript.Event) string {
	if event.SSE == nil || event.SSE.ID == nil {
		return ""
	}
	return *event.SSE.ID
}

// LastEventID returns the event after which the request resumes a stream.
func (e *Exchange) LastEventID() (id string, resumes bool) {
	id = e.Request.HTTP.Header.Get(lastEventID)
	return id, id != ""
}

// Root is the stream at which the chain of resumptions that led to this one began; a stream
// that resumes none is its own.
func (e *Exchange) Root() *Exchange {
	for e.Resumes != nil {
		e = e.Resumes
	}
	return e
}

// Listens tells whether the exchange is a GET for what the server sends
// unasked.
func (e *Exchange) Listens() bool {
	_, resumes := e.LastEventID()
	return e.Method == http.MethodGet && !resumes
}

// Response is the head of the response, and whether there is one.
func (e *Exchange) Response() (head transcript.HTTP, there bool) {
	if e.Head == nil || e.Head.HTTP == nil {
		return transcript.HTTP{}, false
	}
	return *e.Head.HTTP, true
}

// Status returns that of the response, 0 when there is none.
func (e *Exchange) Status() int {
	head, _ := e.Response()
	return head.Status
}

// Accepted tells whether the answer is a success.
func (e *Exchange) Accepted() bool {
	return e.Status() >= http.StatusOK && e.Status() < http.StatusMultipleChoices
}

// MediaType returns that of the response's body.
func (e *Exchange) MediaType() string {
	head, _ := e.Response()
	return MediaType(head.Header.Get("Content-Type"))
}

// Streams tells whether the response is an event stream.
func (e *Exchange) Streams() bool { return e.Accepted() && e.MediaType() == EventStreamType }

// Session is the id of the session that the exchange belongs to: of the one
// that it begins, or of the one that the request names.
func (e *Exchange) Session() string {
	if head, there := e.Response(); there && e.Sent != nil && e.Sent.Method == "initialize" {
		return head.Header.Get(SessionHeader)
	}
	return e.Request.HTTP.Header.Get(SessionHeader)
}

// Deliberate tells whether the request was illegal on purpose.
func (e *Exchange) Deliberate() bool {
	return e.Request.IsIllegal() || e.Sent != nil && e.Sent.Event.IsIllegal()
}

// Asks tells whether the exchange carries one request, in order.
func (e *Exchange) Asks() bool {
	return e.Method == http.MethodPost && e.Sent != nil && e.Sent.Kind == jsonrpc.Request && !e.Deliberate()
}

// EndedByServer tells whether the server ended the response, in good order.
func (e *Exchange) EndedByServer() bool {
	return e.End != nil && e.End.Kind == transcript.End && e.End.Note == transcript.Complete
}

// OpenAt tells whether the response was an event stream that was open when
// something else happened.
func (e *Exchange) OpenAt(event transcript.Event) bool {
	return e.Streams() && e.Head.Sequence < event.Sequence && (e.End == nil || event.Sequence < e.End.Sequence)
}

// Answer returns the response to the request of the exchange among messages.
func (e *Exchange) Answer(messages []*rules.Message) *rules.Message {
	for _, one := range messages {
		if one.Kind == jsonrpc.Response && e.Sent != nil && one.ID == e.Sent.ID {
			return one
		}
	}
	return nil
}

// MediaType is a content type without its parameters.
func MediaType(contentType string) string {
	if parsed, _, err := mime.ParseMediaType(contentType); err == nil {
		return parsed
	}
	name, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// Spoke tells whether a revision was the negotiated one in the exchange: spoken
// has that of each message.
func (e *Exchange) Spoke(revision string, spoken []string) bool {
	switch {
	case len(e.Said) > 0:
		return spoken[e.Said[len(e.Said)-1].Index] == revision
	case e.Sent != nil:
		return spoken[e.Sent.Index] == revision
	}
	return true
}

// Explained returns the events that show what an exchange was about.
func (e *Exchange) Explained() []transcript.Event {
	events := []transcript.Event{e.Request}
	if e.Sent != nil {
		events = append(events, e.Sent.Event)
	}
	if e.Head != nil {
		events = append(events, *e.Head)
	}
	return events
}

// Whole are the events that explain the exchange, with what came in its body.
func (e *Exchange) Whole() []transcript.Event {
	return append(e.Explained(), e.Events[:min(len(e.Events), rules.LeadingMessages)]...)
}

// HeaderShown shows the values of a header for people.
func HeaderShown(given []string) string {
	if len(given) == 0 {
		return "no such header"
	}
	return fmt.Sprintf("%q", strings.Join(given, ", "))
}

// Name tells people which request an exchange is: the POST of tools/list.
func (e *Exchange) Name() string {
	switch {
	case e.Sent == nil:
		return "the " + e.Method
	case rules.IsResponse(e.Sent):
		return "the " + e.Method + " of a response"
	}
	return "the " + e.Method + " of " + e.Sent.Method
}

// Cancelled tells whether the client gave up the request of an exchange.
func (e *Exchange) Cancelled(conversation *rules.Conversation) bool {
	return slices.ContainsFunc(conversation.ByPeer(), func(message *rules.Message) bool {
		return message.Method == "notifications/cancelled" &&
			jsonrpc.IDOf(message.ParamsObject()["requestId"]) == e.Sent.ID
	})
}

// EndedInPeace tells whether the server ended a response of its own accord:
// the client was not about to end the session.
func (e *Exchange) EndedInPeace(all []*Exchange) bool {
	return e.EndedByServer() && !slices.ContainsFunc(all, func(other *Exchange) bool {
		return other.Method == http.MethodDelete && other.Request.Sequence < e.End.Sequence
	})
}

// Family returns the streams that are parts of one: itself, and what resumed
// it.
func (e *Exchange) Family(all []*Exchange) []*Exchange {
	return slices.DeleteFunc(slices.Clone(all), func(other *Exchange) bool { return other.Root() != e })
}

// AnsweredIn tells whether one of the exchanges brought the response to the request.
func (e *Exchange) AnsweredIn(family []*Exchange) bool {
	return slices.ContainsFunc(family, func(other *Exchange) bool { return e.Answer(other.Said) != nil })
}

// Misnamed tells whether the exchange brought a response to no request at all: it may be the
// one that is missing, under another id, which is judged as such.
func (e *Exchange) Misnamed() bool {
	return slices.ContainsFunc(e.Said, func(message *rules.Message) bool {
		return message.Kind == jsonrpc.Response && message.Request == nil
	})
}

// Overtaken tells whether the client ended the session before it had the head of
// the answer.
func (e *Exchange) Overtaken(all []*Exchange) bool {
	return slices.ContainsFunc(all, func(other *Exchange) bool {
		return other.Method == http.MethodDelete && other.Session() == e.Session() &&
			other.Request.Sequence < e.Head.Sequence
	})
}
