package record

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// sessionHeader tells to which session an exchange belongs.
const sessionHeader = "Mcp-Session-Id"

// maxSessions bounds the sessions that are remembered, by the ids that clients
// know: beyond it the oldest is forgotten, and begins anew when it comes back.
const maxSessions = 4096

// sessions are the connections by session id.
type sessions struct {
	begin func(number int) *connection

	mu        sync.Mutex
	count     int
	known     map[string]*connection
	order     []string    // of known, oldest first
	stateless *connection // of all that belongs to no session, by the revision that it names
}

// of returns the connection to which a request belongs: by the id of its session, or over
// HTTP+SSE by its URL. Requests of an era without sessions have one in common; another that
// belongs to none begins a new one, which bind may make known.
func (s *sessions) of(request *http.Request) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	header := request.Header
	id := header.Get(sessionHeader)
	for _, name := range []string{id, endpointName(request.URL)} {
		if c := s.known[name]; c != nil {
			return c
		}
	}
	stateless := id == "" && protocol.Has(header.Get(transport.VersionHeader), protocol.Statelessness)
	if stateless && s.stateless != nil {
		return s.stateless
	}
	s.count++
	c := s.begin(s.count)
	switch {
	case id != "":
		c.id = id
		s.keep(id, c)
	case stateless:
		s.stateless = c
	}
	return c
}

// bind makes a connection that of the session with an id, when the target has
// given one.
func (s *sessions) bind(id string, c *connection) {
	if id == "" {
		return
	}
	c.mu.Lock()
	c.id = id
	c.mu.Unlock()
	s.alias(id, c)
}

// alias lets a client know a session by another id than the target does.
func (s *sessions) alias(id string, c *connection) {
	if id == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(id, c)
}

// endpointEvent is the event of HTTP+SSE that says where the messages of a session are posted.
const endpointEvent = "endpoint"

// endpointName is the name by which sessions know that place: no id of a session has a space.
func endpointName(at *url.URL) string { return http.MethodPost + " " + at.RequestURI() }

// named makes the connection known by the endpoint that an event of its stream may name.
func (e *exchange) named(event *transport.Event) {
	if e.request.Method != http.MethodGet || event.Name != endpointEvent || event.Unterminated {
		return
	}
	if at, err := e.request.URL.Parse(string(event.Data)); err == nil {
		e.http.sessions.alias(endpointName(at), e.connection)
	}
}

func (s *sessions) keep(id string, c *connection) {
	if s.known == nil {
		s.known = map[string]*connection{}
	}
	if _, there := s.known[id]; !there {
		s.order = append(s.order, id)
	}
	s.known[id] = c
	if len(s.order) > maxSessions {
		delete(s.known, s.order[0])
		s.order = s.order[1:]
	}
}

// connection is a session, or an exchange that belongs to none, or all of an era
// without sessions.
type connection struct {
	changes Changes         // nil where it passes unread
	log     *transcript.Log // nil when it is not recorded
	alive   context.Context // ends when a step makes the target hang
	hang    context.CancelFunc

	mu        sync.Mutex
	id        string         // of the session, as the target knows it; "" for none
	count     map[string]int // exchanges by method
	listening []*exchange    // streams for what comes unasked (GET, subscriptions/listen) that are open, newest last
	listened  chan struct{}  // closed and replaced when one opens
}

func (h *HTTP) newConnection(number int) *connection {
	c := &connection{count: map[string]int{}, listened: make(chan struct{})}
	c.alive, c.hang = context.WithCancel(context.Background())
	if h.options.Changes != nil {
		c.changes = h.options.Changes()
	}
	if h.options.Log != nil {
		c.log = h.options.Log(fmt.Sprintf("connection-%d", number))
		c.log.Append(
			transcript.Event{Kind: transcript.Open, From: protocol.Client, Note: "to " + h.upstream.Redacted()},
		)
	}
	return c
}

// name numbers the exchanges of each method: post-1, get-1.
func (c *connection) name(method string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	method = strings.ToLower(method)
	c.count[method]++
	return fmt.Sprintf("%s-%d", method, c.count[method])
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
	for i, one := range c.listening {
		if one == e {
			c.listening = append(c.listening[:i:i], c.listening[i+1:]...)
			return
		}
	}
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
