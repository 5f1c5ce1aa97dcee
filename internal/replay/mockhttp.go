package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// overHTTP is a mock whose clients come over HTTP.
type overHTTP struct {
	mock *Mock
	sse  bool // HTTP with SSE

	mu      sync.Mutex
	clients map[string]*httpClient // by session; "" for those without
}

// httpClient is one client over HTTP.
type httpClient struct {
	*visit

	mu      sync.Mutex
	streams []*eventStream // open for what comes unasked
	waiting [][]byte       // for such a stream
	size    int            // of what waits, in bytes
}

const (
	// maxClients bounds how many sessions are kept.
	maxClients = 1000
	// bodyTime is how long a client may take to send a message, and writeTime to read an event.
	bodyTime, writeTime = 30 * time.Second, 30 * time.Second
	// maxWaiting bounds the messages that wait for a stream of a client, and maxWaitingSize their
	// bytes: the longest message has room.
	maxWaiting     = 1000
	maxWaitingSize = maxMessage
)

// Handler answers clients over Streamable HTTP, or over HTTP with SSE. It takes any path, and
// refuses pages of other origins.
func (m *Mock) Handler(sse bool) http.Handler {
	return &overHTTP{mock: m, sse: sse, clients: map[string]*httpClient{}}
}

func (h *overHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" && !isLocal(origin) || !isLocal("http://"+r.Host) {
		http.Error(w, "only for this machine", http.StatusForbidden)
		return
	} else if origin != "" { // a page is the client
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", scripted.SessionHeader)
	}
	switch {
	case r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "":
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		w.WriteHeader(http.StatusNoContent)
	case h.sse && r.Method == http.MethodGet:
		h.open(w, r)
	case r.Method == http.MethodGet && h.mock.opens:
		h.listen(w, r)
	case r.Method == http.MethodPost:
		h.post(w, r)
	case r.Method == http.MethodDelete && !h.sse:
		h.forget(r.Header.Get(scripted.SessionHeader))
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func isLocal(origin string) bool {
	at, err := url.Parse(origin)
	return err == nil && oauth.Loopback(at.Hostname())
}

// client returns that of a session, and makes one where there is none.
func (h *overHTTP) client(session string, anew bool) *httpClient {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.clients[session]
	if one == nil || anew {
		if len(h.clients) >= maxClients {
			clear(h.clients)
		}
		one = &httpClient{visit: h.mock.visit()}
		h.clients[session] = one
	}
	return one
}

func (h *overHTTP) knows(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clients[session] != nil
}

func (h *overHTTP) forget(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, session)
}

// post takes a message, or a batch.
func (h *overHTTP) post(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // every connection has one
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil {
		http.Error(w, "the body is too long, or was cut off", http.StatusRequestEntityTooLarge)
		return
	}
	message := jsonrpc.Parse(body)
	elements := []jsonrpc.Message{message}
	switch message.Kind {
	case jsonrpc.Batch:
		elements = h.mock.elementsOf(message)
	case jsonrpc.Invalid:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(notMessage(message)) // the client has left, if it fails
		return
	}
	session := r.Header.Get(scripted.SessionHeader)
	if h.sse {
		session = r.URL.Query().Get(sessionParameter)
	}
	if h.sse && !h.knows(session) { // as of a client that tries Streamable HTTP first
		http.Error(w, "messages go to the endpoint that the stream names", http.StatusMethodNotAllowed)
		return
	}
	begins := message.Method == "initialize" && !h.sse
	client := h.client(session, begins)
	var answers []*answering
	for _, element := range elements {
		if one := client.take(element); one != nil {
			answers = append(answers, one)
		}
	}
	if begins && len(answers) == 1 && answers[0].turn != nil && answers[0].header.Get(scripted.SessionHeader) != "" {
		session = rand.Text()
		h.mu.Lock()
		h.clients[session] = client
		h.mu.Unlock()
		w.Header().Set(scripted.SessionHeader, session)
	}
	isRequest := func(one *answering) bool { return one.live.Kind == jsonrpc.Request }
	apart := h.sse || !slices.ContainsFunc(answers, isRequest) // of the answer to the POST
	if apart {
		status := http.StatusAccepted
		if len(answers) == 1 && answers[0].turn != nil && answers[0].status != 0 {
			status = answers[0].status
		}
		w.WriteHeader(status)
	} else {
		h.answer(w, r, client, answers)
	}
	over := context.WithoutCancel(r.Context())
	for _, one := range answers {
		go func() {
			if apart {
				client.say(over, one, client.unasked)
			}
			client.follow(over, one, client.unasked)
		}()
	}
}

// answer answers requests in the form in which it was recorded.
func (h *overHTTP) answer(w http.ResponseWriter, r *http.Request, client *httpClient, answers []*answering) {
	one := answers[0]
	alone := len(answers) == 1 && one.turn != nil
	switch {
	case alone && one.answer == nil && one.status >= http.StatusMultipleChoices:
		w.WriteHeader(one.status)
	case len(answers) == 1 && !one.streams():
		w.Header().Set("Content-Type", "application/json")
		if alone && one.status != 0 {
			w.WriteHeader(one.status)
		}
		client.say(r.Context(), one, func(raw []byte) { _, _ = w.Write(raw) }) // the client has left, if it fails
	default:
		to := newEventStream(w)
		for _, one := range answers {
			client.say(r.Context(), one, to.event)
		}
		if alone && one.answer == nil {
			<-r.Context().Done() // nor was it answered then
		}
	}
}

// listen opens a stream for what the server says unasked.
func (h *overHTTP) listen(w http.ResponseWriter, r *http.Request) {
	h.client(r.Header.Get(scripted.SessionHeader), false).hear(r.Context(), newEventStream(w))
}

// sessionParameter names the one of a session over HTTP with SSE.
const sessionParameter = "session"

// open opens the stream of a client over HTTP with SSE.
func (h *overHTTP) open(w http.ResponseWriter, r *http.Request) {
	session := rand.Text()
	to := newEventStream(w)
	to.write(transport.EventText(nil, transport.EndpointEvent,
		[]byte("messages?"+url.Values{sessionParameter: {session}}.Encode())))
	defer h.forget(session)
	h.client(session, true).hear(r.Context(), to)
}

// hear keeps a stream open for what comes unasked.
func (c *httpClient) hear(ctx context.Context, to *eventStream) {
	c.mu.Lock()
	c.streams = append(c.streams, to)
	for _, raw := range c.waiting {
		to.event(raw)
	}
	c.waiting, c.size = nil, 0
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams = slices.DeleteFunc(c.streams, func(one *eventStream) bool { return one == to })
}

// unasked says something on a stream that is open for that, or keeps it until one is.
func (c *httpClient) unasked(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.streams) > 0:
		c.streams[len(c.streams)-1].event(raw)
	case len(c.waiting) == maxWaiting || c.size+len(raw) > maxWaitingSize:
		const text = "a client opens no stream for what the server says unasked: beyond %d messages or %d MiB it is left out"
		c.mock.say(text, maxWaiting, maxWaitingSize>>20)
	default:
		c.waiting, c.size = append(c.waiting, raw), c.size+len(raw)
	}
}

// eventStream writes messages as events.
type eventStream struct {
	mu     sync.Mutex
	out    io.Writer
	flush  func() error
	within func(time.Time) error
}

func newEventStream(w http.ResponseWriter) *eventStream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	s := &eventStream{out: w, flush: control.Flush, within: control.SetWriteDeadline}
	_ = s.flush() // the client has left, if it fails
	return s
}

func (s *eventStream) write(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.within(time.Now().Add(writeTime))
	_, failed := s.out.Write(text)
	_ = errors.Join(err, failed, s.flush(), s.within(time.Time{})) // the client has left, if it fails
}

func (s *eventStream) event(raw []byte) { s.write(transport.EventText(nil, "message", raw)) }
