package rules

import (
	"cmp"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/schema"
)

// Conversation is the transcript of one closed connection, as rules read it.
type Conversation struct {
	// Cell is the one whose rules judge it: of the revision that was negotiated.
	Cell
	// Negotiated tells that a handshake has ended at a revision that was released.
	Negotiated bool
	Events     []transcript.Event
	Messages   []*Message // of both sides, in the order of the transcript
	// Complete is false when something was too much to keep: then the absence
	// of a message shows nothing.
	Complete bool
	Schema   *schema.Schema
	// ClientCapabilities and ServerCapabilities are what both declared in the
	// handshake; nil when it did not take place. In the stateless era the client
	// declares anew with each request (ClientDeclared), and the server in answer
	// to server/discover, here or when it was first met.
	ClientCapabilities, ServerCapabilities Object
	// Tools are those that the target server listed when it was first met.
	Tools  []Object
	shared sync.Map // by sharedKey; see Shared
}

// Message is one message of a conversation.
type Message struct {
	jsonrpc.Message
	Event   transcript.Event
	Index   int        // in Messages
	Batch   *Message   // in which it came; nil of one that came alone
	Element int        // of the batch that it is
	Request *Message   // of a response: the request that it answers, if there is one
	Answers []*Message // of a request: its answers, in order
}

// FromTarget tells whether the target sent the message.
func (s *Message) FromTarget(cell Cell) bool {
	return string(s.Event.From) == cell.Role
}

// ResultObject returns the result of a response as an object, or nil.
func (s *Message) ResultObject() Object {
	result, _ := s.Result()
	object, _ := result.(map[string]any)
	return object
}

// ParamsObject returns the params of a request or notification, or nil.
func (s *Message) ParamsObject() Object {
	object, _ := s.Params().(map[string]any)
	return object
}

// Meta returns the _meta of the params, or of the result of a response; nil when
// there is none.
func (s *Message) Meta() Object {
	carrier := s.ParamsObject()
	if s.Kind == jsonrpc.Response {
		carrier = s.ResultObject()
	}
	meta, _ := carrier["_meta"].(map[string]any)
	return meta
}

// ByTarget returns the messages that the target sent. They are shared: a caller that
// changes the list clones it first.
func (c *Conversation) ByTarget() []*Message {
	return Shared(c, "by target", func(c *Conversation) []*Message {
		return c.where(func(message *Message) bool { return message.FromTarget(c.Cell) })
	})
}

// ByPeer returns the messages that the target received, shared like those that it sent.
func (c *Conversation) ByPeer() []*Message {
	return Shared(c, "by peer", func(c *Conversation) []*Message {
		return c.where(func(message *Message) bool { return !message.FromTarget(c.Cell) })
	})
}

// Results returns the target's successful responses to requests of a method.
func (c *Conversation) Results(method string) []*Message {
	return c.where(func(message *Message) bool {
		if !message.FromTarget(c.Cell) || message.Kind != jsonrpc.Response || message.Request == nil {
			return false
		}
		_, refused := message.Error()
		return !refused && message.Request.Method == method
	})
}

// Notifications returns those of a method that the target sent.
func (c *Conversation) Notifications(method string) []*Message {
	return c.where(func(message *Message) bool {
		return message.FromTarget(c.Cell) && message.Kind == jsonrpc.Notification && message.Method == method
	})
}

// Requests returns those of a method that the target sent.
func (c *Conversation) Requests(method string) []*Message {
	return c.where(func(message *Message) bool {
		return message.FromTarget(c.Cell) && message.Kind == jsonrpc.Request && message.Method == method
	})
}

// ClientDeclared returns the capabilities of the client that a message of the server
// is bound to: those of the handshake, or, in the stateless era, those of the
// request that it answers. Nil when there are none to be found.
func (c *Conversation) ClientDeclared(message *Message) Object {
	request := message
	if message.Request != nil {
		request = message.Request
	}
	if declared, there := request.Meta()[mcp.MetaCapabilities].(map[string]any); there &&
		request.Kind == jsonrpc.Request {
		return declared
	}
	return c.ClientCapabilities
}

func (c *Conversation) where(keep func(*Message) bool) []*Message {
	var kept []*Message
	for _, message := range c.Messages {
		if keep(message) {
			kept = append(kept, message)
		}
	}
	return kept
}

// maxDecoded bounds the memory in bytes that the messages of a conversation
// take, beside their text. One more of any size passes.
const maxDecoded = 112 << 20

// NewConversation reads a transcript of one connection, as far as memory goes.
func NewConversation(cell Cell, events []transcript.Event, complete bool) *Conversation {
	return ReadConversation(cell, events, complete, transcript.NewLog(""))
}

// ReadConversation reads one as long as its log has room for what is decoded.
func ReadConversation(cell Cell, events []transcript.Event, complete bool, log *transcript.Log) *Conversation {
	c := &Conversation{Cell: cell, Events: events, Complete: complete}
	if known, err := schema.For(cell.Revision); err == nil {
		c.Schema = known
	}
	decoded := 0
	for _, event := range events {
		if event.Kind != transcript.Message {
			continue
		}
		if event.Size > 0 {
			c.Complete = false // its beginning is no message
			continue
		}
		if decoded > maxDecoded {
			c.Complete = false
			break // what is judged is a beginning without gaps
		}
		message := jsonrpc.ParseWithin(event.Raw, log.Left())
		weight := message.Weight - len(message.Raw)
		if decoded += weight; !log.Take(weight) {
			c.Complete = false
			break
		}
		if _, beyond := message.Beyond(); beyond {
			c.Complete = false // it may be any message
		}
		c.Messages = append(c.Messages, &Message{Message: message, Event: event, Index: len(c.Messages)})
	}
	c.correlate()
	c.settle()
	if c.Has(protocol.Batches) {
		c.unpack(log)
	}
	c.handshake()
	return c
}

// maxElements bounds the messages of one batch that are judged.
const maxElements = 10_000

// unpack puts the messages of each batch behind it.
func (c *Conversation) unpack(log *transcript.Log) {
	if !slices.ContainsFunc(c.Messages, func(message *Message) bool { return message.Kind == jsonrpc.Batch }) {
		return
	}
	var all []*Message
	for _, message := range c.Messages {
		message.Request, message.Answers = nil, nil
		all = append(all, message)
		if message.Kind != jsonrpc.Batch {
			continue
		}
		for index, raw := range jsonrpc.Elements(message.Raw, maxElements) {
			element := jsonrpc.ParseWithin(raw, log.Left())
			if _, beyond := element.Beyond(); beyond || !log.Take(element.Weight-len(raw)) {
				c.Complete = false
				break
			}
			element.Flaws = nil // the batch has them
			all = append(all, &Message{Message: element, Event: message.Event, Batch: message, Element: index})
		}
	}
	for index, message := range all {
		message.Index = index
	}
	c.Messages = all
	c.correlate()
}

// settle finds the revision at which the handshake has ended: that is the one by which
// the conversation is judged, and no other. Where each request names a revision of its
// own, or a handshake names none that was released, it is that of the cell.
func (c *Conversation) settle() {
	var negotiated string
	for _, message := range c.Messages {
		if _, named := message.Meta()[mcp.MetaVersion]; named && message.Kind == jsonrpc.Request && message.served() {
			return
		}
		if message.Kind != jsonrpc.Response || message.Request == nil || message.Request.Method != "initialize" {
			continue
		}
		answered, named := message.ResultObject()["protocolVersion"].(string)
		switch {
		case !named:
		case negotiated != "" && negotiated != answered:
			return
		default:
			negotiated = answered
		}
	}
	if !slices.Contains(protocol.Released(), negotiated) || !protocol.Has(negotiated, protocol.Handshake) {
		return
	}
	c.Negotiated = true
	if negotiated != c.Revision {
		c.Revision = negotiated
		c.Schema, _ = schema.For(negotiated) // nil for one that is older than what is checked
	}
}

// served tells whether a request was answered with a result.
func (s *Message) served() bool {
	return slices.ContainsFunc(s.Answers, func(answer *Message) bool {
		_, there := answer.Result()
		return there
	})
}

// correlate finds for each response the request that it answers: the latest
// one before it, from the other side, with the same id; preferably of the same exchange,
// as several at once may have one id.
func (c *Conversation) correlate() {
	type asked struct {
		by     protocol.Party
		id     jsonrpc.ID
		stream string
	}
	requests := map[asked]*Message{}
	for _, message := range c.Messages {
		switch message.Kind {
		case jsonrpc.Request:
			requests[asked{by: message.Event.From, id: message.ID}] = message
			requests[asked{message.Event.From, message.ID, message.Event.Stream}] = message
		case jsonrpc.Response:
			by := message.Event.From.Other()
			request := cmp.Or(
				requests[asked{by, message.ID, message.Event.Stream}],
				requests[asked{by: by, id: message.ID}],
			)
			if request != nil {
				message.Request = request
				request.Answers = append(request.Answers, message)
			}
		}
	}
}

func (c *Conversation) handshake() {
	for _, message := range c.Messages {
		result := message.ResultObject()
		if message.Kind != jsonrpc.Response || message.Request == nil || result == nil {
			continue
		}
		declared, _ := result["capabilities"].(map[string]any)
		switch message.Request.Method {
		case "initialize":
			c.ClientCapabilities, _ = message.Request.ParamsObject()["capabilities"].(map[string]any)
			c.ServerCapabilities = declared
			return
		case "server/discover":
			if c.ServerCapabilities == nil && c.Has(protocol.Discovery) {
				c.ServerCapabilities = declared
			}
		}
	}
}
