package scripted

import (
	"maps"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Style is how a good server writes what it says, where the text leaves it to the server.
// The zero value is the plain style. What is illegal on purpose stays as it is.
type Style struct {
	// Result adds to each result before it goes out; nil for nothing.
	Result func(method string, result Object)
	// Before says something before a request of the client is answered; nil for nothing.
	Before func(call *Call)
	// ID is that of the n-th request of the server; nil for a string.
	ID func(n int64) jsonrpc.ID
	// Spell writes a message in another spelling; nil for the plain one.
	Spell func(message []byte) []byte
	// Event writes the event that carries a message; nil for the plain text.
	Event func(message []byte) []byte
	// Begin is written before the first event of a stream.
	Begin []byte
	// Endpoint is what the endpoint event of HTTP+SSE says, as PlainEndpoint does; "" for that.
	Endpoint string
	// EndpointEvent writes that event; nil for the plain text.
	EndpointEvent func(reference string) []byte
	// Accept answers what is posted over HTTP+SSE; nil for 202.
	Accept func(exchange *Exchange)
	// Stream answers requests by event streams, where the answer could be JSON.
	Stream bool
	// Header is sent with responses, in the place of those of the same name.
	Header map[string]string
	// Resumed ends the stream of a call before the answer, which the client gets when it
	// comes back (2025-11-25, basic/transports#sending-messages-to-the-server).
	Resumed bool
	// Piece is of how many bytes the pieces are in which everything is written; 0: whole.
	Piece int
}

// spell writes a message as the style wants it.
func (s *Style) spell(message []byte, deliberate string) []byte {
	if s.Spell == nil || message == nil || deliberate != "" {
		return message
	}
	return s.Spell(message)
}

// answer writes a whole response.
func (x *Exchange) answer(status int, header map[string]string, message []byte, deliberate string) {
	style := &x.Session.Server.Style
	if deliberate == "" && style.Header != nil && message != nil {
		merged := map[string]string{}
		maps.Copy(merged, header)
		maps.Copy(merged, style.Header)
		header = merged
	}
	x.Answer(status, header, style.spell(message, deliberate), deliberate)
}

// Event sends a message in an event of an event stream, which begins when it has
// not begun. An id is where a client may resume; nil for none.
func (x *Exchange) Event(id *string, message []byte, deliberate string) bool {
	defer x.Session.Server.touch(0)
	style, name := &x.Session.Server.Style, ""
	if x.Session.Server.httpSSE {
		name = "message" // as all servers of HTTP+SSE write it
	}
	if deliberate != "" || message == nil {
		return x.Write(transport.EventText(id, name, message), deliberate)
	}
	message = style.spell(message, deliberate)
	text := transport.EventText(id, name, message)
	if style.Event != nil && id == nil {
		text = style.Event(message)
	}
	if !x.told.Swap(true) {
		text = append(append([]byte{}, style.Begin...), text...)
	}
	return x.Write(text, deliberate)
}

// resumeLater ends the stream of a call, whose answer waits for the client to come back.
// It reports false where that is not possible.
func (c *Call) resumeLater(answer []byte) bool {
	server := c.Session.Server
	if !server.Style.Resumed || c.Exchange == nil || !c.Has(protocol.Polling) || c.Message.Method != "tools/call" {
		return false
	}
	id := "of-" + c.Exchange.Stream()
	c.Streaming()
	c.Session.mu.Lock()
	if c.Session.waiting == nil {
		c.Session.waiting = map[string][]byte{}
	}
	c.Session.waiting[id] = answer
	c.Session.mu.Unlock()
	c.Exchange.Write([]byte("id: "+id+"\nretry: 10\ndata:\n\n"), "")
	c.Exchange.Finish()
	return true
}

// resume brings what waits behind an event id; it reports false when there is nothing.
func (s *Session) resume(exchange *Exchange) bool {
	s.mu.Lock()
	answer, waits := s.waiting[exchange.LastEventID()]
	s.mu.Unlock()
	if !waits {
		return false
	}
	exchange.Event(nil, answer, "")
	exchange.Finish()
	return true
}
