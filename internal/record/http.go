package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/sessions"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// HTTPOptions say what a middleman on HTTP does beside passing on.
type HTTPOptions struct {
	// Changes are asked about each connection; nil where all passes unread.
	Changes func() Changes
	// Log returns the record of a connection that begins; nil for no records. It
	// may be called from several goroutines. What passes is recorded as it came
	// from either side, before any change.
	Log func(connection string) *transcript.Log
	// Limits are transport.DefaultLimits where they are zero. What is longer
	// passes unread, but for an event of an event stream, which breaks it.
	Limits transport.Limits
	// Keep is how many connections to the target wait for another exchange. It is for a target
	// that closes none that waits; see transport.NewTransport.
	Keep int
	// Exit is called with the status with which a change makes the target exit, once or more
	// often; it may be nil. Nothing passes afterwards.
	Exit func(status int)
}

// HTTP is a middleman on Streamable HTTP and HTTP with SSE: a reverse proxy that
// understands POST answers, event streams, GET streams and sessions. The path and the Host
// header of a request stay as they are. When the target breaks a connection or
// cannot be reached, the connection to the client breaks, too. Interim responses
// (1xx) are not passed on.
type HTTP struct {
	upstream  *url.URL
	options   HTTPOptions
	transport *http.Transport
	life      context.Context // ends with Close, and when the target is made to exit
	stop      context.CancelFunc
	sessions  connections

	mu      sync.Mutex     // so that nothing begins while Close waits
	working sync.WaitGroup // what goes on beside the exchanges
	sending int            // messages of a client that no answer to has begun
	sent    chan struct{}  // closed when there are none; nil while no exchange waits for that
}

// NewHTTP returns a middleman before the server at a URL, of which the scheme and
// the host count. Close must be called.
func NewHTTP(upstream string, options HTTPOptions) (*HTTP, error) {
	parsed, err := Upstream(upstream)
	if err != nil {
		return nil, err
	}
	if options.Limits.Message <= 0 {
		options.Limits = transport.DefaultLimits
	}
	h := &HTTP{
		upstream: parsed, options: options,
		transport: transport.NewTransport(transport.DefaultConnectTimeout),
	}
	h.transport.DialContext = flushing(h.transport.DialContext)
	if options.Keep > 0 {
		h.transport.MaxIdleConnsPerHost = options.Keep
	}
	h.life, h.stop = context.WithCancel(context.Background())
	h.sessions.begin, h.sessions.named.Most = h.newConnection, maxSessions
	return h, nil
}

// Upstream reads the URL of a server.
func Upstream(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("the URL of the server %q must be http://HOST/PATH or https://HOST/PATH", text)
	}
	return parsed, nil
}

// Close breaks every exchange that is under way and frees everything.
func (h *HTTP) Close() {
	h.mu.Lock()
	h.stop()
	h.mu.Unlock()
	h.working.Wait()
	h.transport.CloseIdleConnections()
}

// beside does something that may outlast the exchange that asks for it, and must
// end with the life of the middleman; it reports false when that is over.
func (h *HTTP) beside(work func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return false
	}
	h.working.Go(work)
	return true
}

// send notes that something is on its way to the target, until it is told that it
// has come.
func (h *HTTP) send() (came func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sending++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.sending--; h.sending == 0 && h.sent != nil {
			close(h.sent)
			h.sent = nil
		}
	})
}

// settle waits until what is on its way to the target has come, at most for a while.
func (h *HTTP) settle(most time.Duration) {
	h.mu.Lock()
	if h.sending == 0 {
		h.mu.Unlock()
		return
	}
	if h.sent == nil {
		h.sent = make(chan struct{})
	}
	sent := h.sent
	h.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-sent:
	case <-timer.C:
	}
}

// How an exchange ends otherwise than by passing everything on.
var (
	errCut    = errors.New("the connection was cut")
	errClosed = errors.New("the stream was closed")
	errHeld   = errors.New("the exchange is held until the client leaves")
)

// ServeHTTP passes one exchange on.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := h.newExchange(w, r)
	err := e.serve()
	if err != nil {
		e.end(err)
	}
	e.waiting.Wait()
	if cause := context.Cause(e.ctx); cause != nil {
		err = cause // a step, or the client, has ended it
	}
	if err == nil && (e.keepOpen.Load() || e.reply.plan.KeepOpen) {
		err = errHeld
	}
	e.recordEnd(err)
	e.end(nil)
	e.connection.deafen(e)
	if errors.Is(err, errHeld) {
		select {
		case <-r.Context().Done():
		case <-h.life.Done():
		}
	}
	e.reply.close()
	if err != nil && !errors.Is(err, errClosed) {
		panic(http.ErrAbortHandler) // so that the client sees no good end
	}
}

// exchange is one request and its response.
type exchange struct {
	http       *HTTP
	connection *connection
	request    *http.Request
	reply      *reply
	head       Head        // of the request
	stream     string      // its name in the record
	status     int         // of the answer, as it is recorded
	keepOpen   atomic.Bool // the body does not end
	answered   bool        // by the target
	ended      bool        // the end of the answer is recorded

	ctx     context.Context // ends when the client leaves, or by a step
	end     context.CancelCauseFunc
	waiting sync.WaitGroup // for steps that are held

	turn sync.Mutex // whose holder lets a message pass
	held []*held    // in turn
}

func (h *HTTP) newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	c := h.sessions.of(r)
	e := &exchange{
		http: h, connection: c, request: r, reply: newReply(w), stream: c.name(r.Method),
		head: Head{Direction: In, Method: r.Method, URL: r.URL, Header: framed(r)},
	}
	e.reply.told = func(header http.Header) {
		for name, values := range header { // as it is spelled
			if strings.EqualFold(name, sessions.Header) && len(values) > 0 {
				h.sessions.alias(values[0], c)
			}
		}
	}
	e.ctx, e.end = context.WithCancelCause(r.Context())
	return e
}

// serve takes an exchange to its end. An error says why there is no good one.
func (e *exchange) serve() error {
	e.recordHead(protocol.Client, &transcript.HTTP{
		Method: e.request.Method, URL: e.request.URL.RequestURI(), Header: e.request.Header.Clone(),
	})
	defer context.AfterFunc(e.http.life, func() { e.end(errCut) })()
	defer context.AfterFunc(e.connection.alive, func() { e.end(errHeld) })()
	switch { // what the functions above do may come late
	case e.http.life.Err() != nil:
		return errCut
	case e.connection.alive.Err() != nil:
		return errHeld
	}
	out, err := e.receive()
	if err != nil || out == nil {
		return err
	}
	response, err := e.forward(out)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read, or is given up
	e.http.sessions.bind(response.Header.Get(sessions.Header), e.connection)
	e.answered = true
	e.recordHead(protocol.Server, &transcript.HTTP{Status: response.StatusCode, Header: response.Header.Clone()})
	if out.cut || response.StatusCode < http.StatusOK { // 101 switches to another protocol
		return errCut
	}
	return e.answer(out, response)
}

// framed is the header of a request with what net/http takes out of it.
func framed(r *http.Request) http.Header {
	header := r.Header.Clone()
	if len(r.TransferEncoding) > 0 {
		header["Transfer-Encoding"] = r.TransferEncoding
	}
	return header
}
