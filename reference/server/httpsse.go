// Page basic/transports at 2024-11-05, "HTTP with SSE": a stream to read, and an endpoint
// that it names to post messages to. Later revisions of the handshake era may be spoken
// over it, too.

package server

import (
	"crypto/rand"
	"net/http"
	"sync"
)

// Where the transport is served.
const (
	// SSEPath is the path of the stream.
	SSEPath = "/sse"
	// ssePostPath is where messages are posted, with the session in the query.
	ssePostPath = "/messages"
	sseSession  = "session"
)

// httpSSE has a session for each stream that is open. Its fields are what defects replace.
type httpSSE struct {
	server      *Server
	endpoint    func(r *http.Request, session string) event   // the first event of a stream
	posted      func(*http.Request) (session string, is bool) // tells what is posted for whom
	coded       func(http.ResponseWriter) http.ResponseWriter // how a stream is written
	name        string                                        // of the events that carry messages
	accepted    int                                           // the status of a POST whose message is taken
	most        int                                           // clients at once
	admitStream func(*http.Request) *refusal
	admitPost   func(*http.Request) *refusal
	opened      func(*sseClient)                                     // is told of a stream that has begun
	left        func(*sseClient)                                     // is told of a client that is gone
	answer      func(c *sseClient, w http.ResponseWriter, m message) // to a request
	refuse      func(c *sseClient, m message, malformed *rpcError)   // what is no message

	mu      sync.Mutex
	clients map[string]*sseClient
	latest  *sseClient
	closed  bool
}

func newHTTPSSE(s *Server) *httpSSE {
	h := &httpSSE{
		server: s, name: "message", accepted: http.StatusAccepted, most: maxSessions,
		posted: func(r *http.Request) (string, bool) {
			return r.URL.Query().Get(sseSession), r.URL.Path == ssePostPath
		},
		coded: func(w http.ResponseWriter) http.ResponseWriter { return w },
		endpoint: func(_ *http.Request, session string) event {
			return event{name: "endpoint", message: []byte(sseEndpointOf(session))}
		},
		admitStream: s.http.checkSender, admitPost: s.http.checkSender,
		opened:  func(*sseClient) {},
		left:    func(*sseClient) {},
		clients: map[string]*sseClient{},
	}
	h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
		c.begin(m, c)
		h.accept(w)
	}
	h.refuse = func(c *sseClient, m message, malformed *rpcError) {
		c.send(encodeError(c.speaks(), m.id, malformed))
	}
	return h
}

// sseEndpointOf is where the messages of a session are posted.
func sseEndpointOf(session string) string { return ssePostPath + "?" + sseSession + "=" + session }

// An sseClient is the client that reads one stream.
type sseClient struct {
	*session
	id     string
	user   string // whose it is; "" without authorization
	stream *eventStream
	http   *httpSSE
}

// send carries a message to the client.
func (c *sseClient) send(message []byte) bool {
	return c.stream.add(event{name: c.http.name, message: message})
}

// close does nothing: the stream outlives every request.
func (c *sseClient) close() {}

// serves tells whether a request is to one of the paths of the transport.
func (h *httpSSE) serves(r *http.Request) bool {
	_, isPost := h.posted(r)
	return len(h.server.handshake) > 0 && (isPost || r.URL.Path == SSEPath)
}

// ServeHTTP takes any request to one of its paths.
func (h *httpSSE) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve, admit, method := h.stream, h.admitStream, http.MethodGet
	if _, isPost := h.posted(r); isPost {
		serve, admit, method = h.post, h.admitPost, http.MethodPost
	}
	refused := admit(r)
	if refused == nil {
		r, refused = h.server.guard.enter(w, r)
	}
	switch {
	case refused != nil:
	case r.Method != method:
		w.Header().Set("Allow", method)
		refused = refuse(http.StatusMethodNotAllowed, "%s takes %s, not %s", r.URL.Path, method, r.Method)
	default:
		refused = serve(w, r)
	}
	if refused != nil {
		refused.write(w)
	}
}

// stream serves the stream of a client until it leaves.
func (h *httpSSE) stream(w http.ResponseWriter, r *http.Request) *refusal {
	c := &sseClient{id: rand.Text(), user: userOf(r), stream: newEventStream("", func() {}), http: h}
	c.session = h.server.newSession(c, func() bool { return true })
	h.mu.Lock()
	full := h.closed || len(h.clients) >= h.most
	if !full {
		h.clients[c.id], h.latest = c, c
	}
	h.mu.Unlock()
	if full {
		return refuse(http.StatusServiceUnavailable, "there are too many clients: try again later")
	}
	c.stream.add(h.endpoint(r, c.id))
	h.opened(c)
	c.stream.serve(r.Context(), h.coded(w), 0, false)
	h.mu.Lock()
	delete(h.clients, c.id)
	h.mu.Unlock()
	c.stop()
	h.left(c)
	c.running.Wait()
	return nil
}

// post takes one message.
func (h *httpSSE) post(w http.ResponseWriter, r *http.Request) *refusal {
	session, _ := h.posted(r)
	h.mu.Lock()
	c, known := h.clients[session]
	h.mu.Unlock()
	if !known || !h.server.guard.owns(r, c.user) {
		return refuse(http.StatusNotFound, "there is no stream of this session: open one at %s", SSEPath)
	}
	body, refused := readBody(w, r)
	if refused != nil {
		return refused
	}
	if isBatch(body) && c.hasBatches() {
		members, malformed := parseBatch(body)
		if malformed != nil {
			return refuse(http.StatusBadRequest, "%s", malformed.Message)
		}
		c.takeBatch(members, c)
		h.accept(w)
		return nil
	}
	m, malformed := parseMessage(body)
	if refused := h.server.guard.permitted(w, r, m); refused != nil {
		return refused
	}
	if malformed != nil && m.kind != request {
		return refuse(http.StatusBadRequest, "%s", malformed.Message)
	}
	if malformed == nil && m.kind == request {
		h.answer(c, w, m)
		return nil
	}
	if malformed != nil {
		h.refuse(c, m, malformed)
	} else {
		c.take(m)
	}
	h.accept(w)
	return nil
}

// accept says that the message has come: what it brings comes on the stream.
func (h *httpSSE) accept(w http.ResponseWriter) {
	w.WriteHeader(h.accepted)
	_ = http.NewResponseController(w).Flush() // who has left needs no answer
}

// end ends every stream.
func (h *httpSSE) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, c := range h.clients {
		c.stream.close()
	}
}
