// Page basic: one client, from its first message to its last.

package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

var errSessionEnded = errors.New("the session has ended")

// An outlet carries messages to the client: the one pipe of stdio, or one of
// the event streams of HTTP.
type outlet interface {
	// send takes a message. It reports false when it can carry no more.
	send(message []byte) bool
	// close says that nothing more will come this way.
	close()
}

// A session is all that the server knows about one client.
type session struct {
	*inFlight // its mu guards what follows

	server     *Server
	name       string      // for the log; says nothing of the session id, which is a secret
	unrelated  outlet      // carries what belongs to no request of the client
	listening  func() bool // tells whether the client hears what is unrelated
	tasks      list[*task]
	urlVisited atomic.Bool // the client has been told of the URL that test_elicitation_url_required wants visited

	revision      string // negotiated; "" before initialize
	ready         bool   // the client has sent initialized
	client        clientCapabilities
	level         int // index in logLevels: what is below is not sent
	questions     map[int64]chan message
	asked         int64 // id of the last request that the server has sent
	features      *features
	subscriptions map[string]bool // by URI
}

func (s *Server) newSession(unrelated outlet, listening func() bool) *session {
	return &session{
		inFlight:      newInFlight(context.Background()),
		server:        s,
		name:          rand.Text()[:6],
		unrelated:     unrelated,
		listening:     listening,
		tasks:         list[*task]{name: "tasks", size: 3, most: maxTasks},
		level:         defaultLogLevel,
		questions:     map[int64]chan message{},
		subscriptions: map[string]bool{},
	}
}

func (s *session) logf(format string, args ...any) {
	s.server.log.Printf("session "+s.name+": "+format, args...)
}

// speaks returns the negotiated revision; before that, the newest one.
func (s *session) speaks() string {
	return orElse(s.agreed(), s.server.newest())
}

// agreed returns the negotiated revision; "" before that.
func (s *session) agreed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

func (s *session) atLeast(revision string) bool {
	return s.speaks() >= revision
}

// notify sends a notification that belongs to no request. Until the client has
// sent initialized it is dropped: the client is not ready for it.
func (s *session) notify(method string, params object) {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if ready {
		s.unrelated.send(encodeNotification(method, params))
	}
}

// begin starts the call for a request of the client. Messages that belong to
// it go through out, which ends with it. It returns when the call is settled.
func (s *session) begin(m message, out outlet) *call {
	c := s.newCall(m.id, out)
	handler, err := s.admit(m, c)
	return c.run(s.inFlight, handler, m.params, err)
}

// newCall makes a call under the rules that were agreed on with initialize.
func (s *session) newCall(id requestID, out outlet) *call {
	c := newCall(s.ctx, s.server, s, id, out)
	c.session, c.revision = s, s.speaks()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.client, c.features = s.client, s.features
	return c
}

// admit decides whether a request may be handled now, and by whom.
func (s *session) admit(m message, c *call) (method, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision == "" && m.method != "initialize" && m.method != "ping" {
		return method{}, s.server.unopened(m.method)
	}
	handler, known := s.server.methods[m.method]
	if !known || s.revision != "" && !handler.has(s.revision) {
		return method{}, methodNotFound("%s", m.method)
	}
	if err := c.readMeta(m.params); err != nil {
		return method{}, err
	}
	if m.method == "initialize" {
		return handler, nil // not among the calls, since it must not be cancelled
	}
	return handler, s.add(c)
}

// take takes a notification or a response of the client, neither of which is answered. It
// ignores a response with an unknown id, as of a request that has timed out.
func (s *session) take(m message) {
	if m.kind == notification {
		if take, known := s.server.notifications[m.method]; known {
			take(s, m.params)
		}
		return
	}
	id, err := strconv.ParseInt(string(m.id), 10, 64)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if question, waiting := s.questions[id]; waiting {
		delete(s.questions, id)
		question <- m // has room for the one answer
	}
}

// respond encodes a response of the handshake era.
func (s *session) respond(c *call, result any, err error) []byte {
	if err != nil {
		return encodeError(s.speaks(), c.id, asRPCError(err))
	}
	return encodeResult(c.id, result)
}

// ask puts the questions of a call to the client, one after the other, as
// requests of the server.
func (s *session) ask(c *call, questions []question) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for _, q := range questions {
		answer, err := s.askFor(c, q.method, q.params)
		if err != nil {
			return nil, err
		}
		answers[q.key] = answer
	}
	return answers, nil
}

// askFor sends a request that belongs to a call, and waits for the answer.
func (s *session) askFor(c *call, method string, params object) (json.RawMessage, error) {
	c.takesTime()
	params = c.related(params)
	if c.task != nil {
		return c.task.ask(c.ctx, method, params)
	}
	return s.request(c.ctx, s.server.asksBy(s, c), method, params)
}

// A sender is told a message and reports whether it was taken.
type sender func(message []byte) bool

var errNotSent = errors.New("the way to the client is closed")

// request sends a request to the client and waits for the answer. When ctx ends
// or the client takes too long, it tells the client that the request is cancelled.
func (s *session) request(ctx context.Context, send sender, method string, params object) (json.RawMessage, error) {
	s.mu.Lock()
	if !s.ready && method != "ping" {
		s.mu.Unlock()
		return nil, errors.New("the client has not sent notifications/initialized yet")
	}
	s.asked++
	id, answer := s.asked, make(chan message, 1)
	s.questions[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.questions, id)
		s.mu.Unlock()
	}()

	if !send(encodeRequest(id, method, params)) {
		return nil, errNotSent
	}
	timeout := time.NewTimer(s.server.options.RequestTimeout)
	defer timeout.Stop()
	select {
	case m := <-answer:
		if m.err != nil {
			return nil, fmt.Errorf("the client answers %s with the error %d: %s", method, m.err.Code, m.err.Message)
		}
		return m.result, nil
	case <-ctx.Done():
		send(encodeCancelled(id, "the request that needed it was cancelled", params))
		return nil, context.Cause(ctx)
	case <-timeout.C:
		send(encodeCancelled(id, "no answer in time", params))
		return nil, fmt.Errorf("the client did not answer %s within %s", method, s.server.options.RequestTimeout)
	}
}
