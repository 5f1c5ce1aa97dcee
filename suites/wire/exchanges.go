package wire

import (
	"mime"
	"net/http"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Headers of Streamable HTTP that rules look at.
const (
	sessionHeader = "Mcp-Session-Id"
	lastEventID   = "Last-Event-Id"
)

// eventStreamType is the media type of an event stream.
const eventStreamType = "text/event-stream"

// An exchange is one HTTP request and what answered it.
type exchange struct {
	method  string
	request transcript.Event // its head
	sent    *rules.Message   // the message in its body, or nil
	head    *transcript.Event
	events  []transcript.Event // blocks and messages of the response, in order
	said    []*rules.Message   // the messages among them
	end     *transcript.Event  // nil while the response goes on
	resumes *exchange          // the stream that it resumes, as far as is known
}

// exchanges reads the HTTP exchanges of a conversation, in the order of their
// requests.
func exchanges(conversation *rules.Conversation) []*exchange {
	return rules.Shared(conversation, "exchanges", readExchanges)
}

func readExchanges(conversation *rules.Conversation) []*exchange {
	var all []*exchange
	open := map[string]*exchange{}
	messages := map[int]*rules.Message{}
	for _, said := range conversation.Messages {
		messages[said.Event.Sequence] = said
	}
	for _, event := range conversation.Events {
		if event.Kind == transcript.Head && event.From == protocol.Client && event.HTTP != nil {
			begun := &exchange{method: event.HTTP.Method, request: event}
			begun.resumes = resumed(all, begun)
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

func (e *exchange) add(event transcript.Event, said *rules.Message) {
	switch {
	case event.Kind == transcript.Head:
		e.head = &event
	case event.Kind == transcript.Message && event.From == protocol.Client:
		e.sent = said
	case event.Kind == transcript.Message, event.Kind == transcript.Block:
		e.events = append(e.events, event)
		if said != nil {
			e.said = append(e.said, said)
		}
	case event.Kind == transcript.End, event.Kind == transcript.Failure:
		e.end = &event
	}
}

// resumed finds the stream that a GET with Last-Event-ID resumes: the only one
// on which an event with that id was sent.
func resumed(earlier []*exchange, get *exchange) *exchange {
	id, resumes := get.lastEventID()
	if !resumes {
		return nil
	}
	var found *exchange
	for _, one := range earlier {
		if !one.hasEvent(id) || one.session() != get.session() {
			continue
		}
		if found != nil && found.root() != one.root() {
			return nil // the id is not unique, which has a rule of its own
		}
		found = one
	}
	return found
}

func (e *exchange) hasEvent(id string) bool {
	for _, event := range e.events {
		if eventID(event) == id {
			return true
		}
	}
	return false
}

// eventID returns the id of an event of a stream, or "".
func eventID(event transcript.Event) string {
	if event.SSE == nil || event.SSE.ID == nil {
		return ""
	}
	return *event.SSE.ID
}

func (e *exchange) lastEventID() (id string, resumes bool) {
	id = e.request.HTTP.Header.Get(lastEventID)
	return id, id != ""
}

// root is the stream that was resumed to get this one, by whatever steps; a
// stream that resumes none is its own.
func (e *exchange) root() *exchange {
	for e.resumes != nil {
		e = e.resumes
	}
	return e
}

// standing tells whether the exchange is a GET for what the server sends
// unasked.
func (e *exchange) standing() bool {
	_, resumes := e.lastEventID()
	return e.method == http.MethodGet && !resumes
}

// status returns that of the response, 0 when there is none.
func (e *exchange) status() int {
	if e.head == nil || e.head.HTTP == nil {
		return 0
	}
	return e.head.HTTP.Status
}

func (e *exchange) accepted() bool {
	return e.status() >= http.StatusOK && e.status() < http.StatusMultipleChoices
}

// mediaType returns that of the response's body.
func (e *exchange) mediaType() string {
	if e.head == nil || e.head.HTTP == nil {
		return ""
	}
	return mediaType(e.head.HTTP.Header.Get("Content-Type"))
}

// streams tells whether the response is an event stream.
func (e *exchange) streams() bool { return e.accepted() && e.mediaType() == eventStreamType }

// session is the id of the session that the exchange belongs to: of the one
// that it begins, or of the one that the request names.
func (e *exchange) session() string {
	if e.sent != nil && e.sent.Method == "initialize" && e.head != nil && e.head.HTTP != nil {
		return e.head.HTTP.Header.Get(sessionHeader)
	}
	return e.request.HTTP.Header.Get(sessionHeader)
}

// deliberate tells whether the request was illegal on purpose.
func (e *exchange) deliberate() bool {
	return e.request.Deliberate != "" || e.sent != nil && e.sent.Event.Deliberate != ""
}

// asks tells whether the exchange carries one request, in order.
func (e *exchange) asks() bool {
	return e.method == http.MethodPost && e.sent != nil && e.sent.Kind == jsonrpc.Request && !e.deliberate()
}

// endedByServer tells whether the server ended the response, in good order.
func (e *exchange) endedByServer() bool {
	return e.end != nil && e.end.Kind == transcript.End && e.end.Note == transcript.Complete
}

// openAt tells whether the response was an event stream that was open when
// something else happened.
func (e *exchange) openAt(event transcript.Event) bool {
	return e.streams() && e.head.Sequence < event.Sequence && (e.end == nil || event.Sequence < e.end.Sequence)
}

// answer returns the response to the request of the exchange among messages.
func (e *exchange) answer(said []*rules.Message) *rules.Message {
	for _, one := range said {
		if one.Kind == jsonrpc.Response && e.sent != nil && one.ID == e.sent.ID {
			return one
		}
	}
	return nil
}

// mediaType is a content type without its parameters.
func mediaType(contentType string) string {
	if parsed, _, err := mime.ParseMediaType(contentType); err == nil {
		return parsed
	}
	name, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// spoke tells whether a revision was the negotiated one in the exchange: spoken
// has that of each message.
func (e *exchange) spoke(revision string, spoken []string) bool {
	switch {
	case len(e.said) > 0:
		return spoken[e.said[len(e.said)-1].Index] == revision
	case e.sent != nil:
		return spoken[e.sent.Index] == revision
	}
	return true
}

// sendings tell in which order the target sent its messages: those of a stream in
// that of the transcript. Over HTTP each message of a client has a request of its
// own, and that it sent one after another is known when the one was answered before
// the other began.
type sendings struct {
	byRequest       bool
	begun, answered map[string]int // by stream: sequence of the heads
}

func sendingOrder(conversation *rules.Conversation) sendings {
	order := sendings{
		byRequest: conversation.Transport == protocol.HTTP && conversation.Role == protocol.ClientRole,
		begun:     map[string]int{}, answered: map[string]int{},
	}
	if !order.byRequest {
		return order
	}
	for _, one := range exchanges(conversation) {
		order.begun[one.request.Stream] = one.request.Sequence
		if one.head != nil {
			order.answered[one.request.Stream] = one.head.Sequence
		}
	}
	return order
}

// lane is what messages have in common whose order may be known.
func (s sendings) lane(said *rules.Message) string {
	if s.byRequest {
		return ""
	}
	return said.Event.Stream
}

// before tells whether it is known that one message was sent before another.
func (s sendings) before(earlier, later *rules.Message) bool {
	if !s.byRequest {
		return earlier.Event.Stream == later.Event.Stream && earlier.Index < later.Index
	}
	answered, known := s.answered[earlier.Event.Stream]
	return known && answered < s.begun[later.Event.Stream]
}

// explained returns the events that show what an exchange was about.
func (e *exchange) explained() []transcript.Event {
	events := []transcript.Event{e.request}
	if e.sent != nil {
		events = append(events, e.sent.Event)
	}
	if e.head != nil {
		events = append(events, *e.head)
	}
	return events
}
