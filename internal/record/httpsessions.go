package record

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/sessions"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// maxSessions bounds the sessions that are remembered, by the ids that clients
// know: beyond it the oldest is forgotten, and begins anew when it comes back.
const maxSessions = 4096

// connections are those of one middleman.
type connections struct {
	begin func(number int) *connection

	mu        sync.Mutex
	count     int
	named     sessions.Connections[*connection]
	stateless *connection // of all that belongs to no session, by the revision that it names
}

// of returns the connection to which a request belongs. Requests of an era without
// sessions have one in common; another that belongs to none begins a new one, which
// bind may make known.
func (s *connections) of(r *http.Request) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, id, known := s.named.Of(r.Method, r.URL.RequestURI(), r.Header)
	if known {
		return c
	}
	stateless := id == "" && protocol.Has(r.Header.Get(transport.VersionHeader), protocol.Statelessness)
	if stateless && s.stateless != nil {
		return s.stateless
	}
	s.count++
	c = s.begin(s.count)
	c.id = id
	s.named.Name(id, c)
	if stateless {
		s.stateless = c
	}
	return c
}

// bind makes a connection that of the session with an id, when the target has
// given one.
func (s *connections) bind(id string, c *connection) {
	if id == "" {
		return
	}
	c.mu.Lock()
	c.id = id
	c.mu.Unlock()
	s.alias(id, c)
}

// alias lets a client know a session by another id than the target does.
func (s *connections) alias(id string, c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named.Name(id, c)
}

// endpoint lets a connection be known by where its messages are posted.
func (s *connections) endpoint(at *url.URL, c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named.Endpoint(at.RequestURI(), c)
}

// connection is a session, or an exchange that belongs to none, or all of an era
// without sessions.
type connection struct {
	changes Changes         // nil where it passes unread
	log     *transcript.Log // nil when it is not recorded
	alive   context.Context // ends when a step makes the target hang
	hang    context.CancelFunc

	mu        sync.Mutex
	id        string // of the session, as the target knows it; "" for none
	streams   transcript.Streams
	listening []*exchange   // streams for what comes unasked (GET, subscriptions/listen) that are open, newest last
	listened  chan struct{} // closed and replaced when one opens
}

func (h *HTTP) newConnection(number int) *connection {
	c := &connection{streams: transcript.Streams{}, listened: make(chan struct{})}
	c.alive, c.hang = context.WithCancel(context.Background())
	if h.options.Changes != nil {
		c.changes = h.options.Changes()
	}
	if h.options.Log != nil {
		c.log = h.options.Log(fmt.Sprintf("connection-%d", number))
		to := "to " + h.upstream.Redacted()
		c.log.Append(transcript.Event{Kind: transcript.Open, From: protocol.Client, Note: to})
	}
	return c
}

// name names an exchange in the record.
func (c *connection) name(method string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams.Next(method)
}

func (c *connection) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// listen says that a stream for what comes unasked is open.
func (c *connection) listen(e *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening = append(c.listening, e)
	close(c.listened)
	c.listened = make(chan struct{})
}

// deafen says that an exchange is over.
func (c *connection) deafen(e *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listening = slices.DeleteFunc(c.listening, func(one *exchange) bool { return one == e })
}

// listeners returns all such streams that are open.
func (c *connection) listeners() []*exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.listening)
}

// listener returns the newest of them, or a channel that is closed when one
// opens.
func (c *connection) listener() (*exchange, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.listening); n > 0 {
		return c.listening[n-1], nil
	}
	return nil, c.listened
}
