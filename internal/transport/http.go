package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

const (
	// UserAgent is sent when neither the options nor the request say another.
	UserAgent = "mcpconform"

	// MaxHeaderBytes bounds the head of a response; it is what net/http allows
	// by default, and a hundred times what servers send.
	MaxHeaderBytes = 1 << 20

	// DefaultConnectTimeout bounds name lookup, TCP and TLS, each of which takes
	// well under a second where it works at all.
	DefaultConnectTimeout = 10 * time.Second

	// idleTimeout ends an idle connection of HTTP/2.
	idleTimeout = 2 * time.Second
	// freshConnections, as MaxIdleConnsPerHost, keeps none for another request.
	freshConnections = -1
)

// eventStreamType is the media type of an event stream.
const eventStreamType = "text/event-stream"

// HTTPOptions says where a server is and how to reach it.
type HTTPOptions struct {
	// URL is the MCP endpoint, http or https.
	URL string
	// Header is added to every request that does not set the same key itself.
	Header http.Header
	// Limits are DefaultLimits where they are zero.
	Limits Limits
	// ConnectTimeout is DefaultConnectTimeout when it is zero.
	ConnectTimeout time.Duration
	// Peer is who answers, for the log; protocol.Server when it is empty.
	Peer protocol.Party
	// Transport is shared with others, for instance to trust a certificate; nil for
	// one of its own. See NewTransport.
	Transport *http.Transport
	// Pace is shared with others; nil for none.
	Pace *Pace
}

// NewTransport returns a transport that adds nothing to a request, changes
// nothing in an answer, and honours proxies of the environment except for loopback.
//
// Over HTTP/1.1 each request has a connection of its own. A server may close one that
// is kept at any moment (RFC 9112, section 9.5), and then it is unknown whether the
// server has acted on the request that was just sent: to send it again might do twice
// what it does, and not to would blame the server. HTTP/2 says which requests the
// server has not looked at.
func NewTransport(connectTimeout time.Duration) *http.Transport {
	if connectTimeout <= 0 {
		connectTimeout = DefaultConnectTimeout
	}
	dialer := &net.Dialer{Timeout: connectTimeout}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment, // never for loopback
		DialContext:            tapping(dialer),
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    connectTimeout,
		DisableCompression:     true,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		MaxIdleConnsPerHost:    freshConnections,
		IdleConnTimeout:        idleTimeout,
	}
}

// tapping dials connections of which is noted what comes.
func tapping(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &tapped{Conn: conn}, nil
	}
}

// HTTP is the client's end of Streamable HTTP: separate exchanges, each with
// total control of method, headers and body. It follows no redirects, keeps no
// cookies and asks for no compression. It is safe for concurrent use.
type HTTP struct {
	base      *url.URL
	header    http.Header
	limits    Limits
	connect   time.Duration
	transport *http.Transport
	owned     bool
	pace      *Pace
	peer      protocol.Party // who answers
	log       *transcript.Log
	life      context.Context // ends with Close, for what waits for a head
	stop      context.CancelFunc

	mu      sync.Mutex
	streams transcript.Streams
	open    map[*Exchange]struct{}
	closed  bool
}

// NewHTTP prepares exchanges with a server; nothing is sent yet. An error says
// what is wrong with the URL. Close must be called.
func NewHTTP(options HTTPOptions, log *transcript.Log) (*HTTP, error) {
	base, err := parseURL(options.URL)
	if err != nil {
		return nil, err
	}
	h := &HTTP{
		base: base, header: options.Header.Clone(), limits: options.Limits.orDefault(),
		connect: options.ConnectTimeout, transport: options.Transport, pace: options.Pace, log: log,
		peer:    cmp.Or(options.Peer, protocol.Server),
		streams: transcript.Streams{}, open: map[*Exchange]struct{}{},
	}
	h.life, h.stop = context.WithCancel(context.Background())
	if h.connect <= 0 {
		h.connect = DefaultConnectTimeout
	}
	if h.transport == nil {
		h.transport, h.owned = NewTransport(h.connect), true
	}
	log.Append(transcript.Event{Kind: transcript.Open, From: protocol.Client, Note: "to " + base.Redacted()})
	return h, nil
}

// URL is that of the endpoint.
func (h *HTTP) URL() *url.URL { return h.base }

func parseURL(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	var reason *url.Error
	switch {
	case errors.As(err, &reason):
		return nil, fmt.Errorf("URL %q: %w", text, reason.Err)
	case err != nil:
		return nil, fmt.Errorf("URL %q: %w", text, err)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, fmt.Errorf("URL %q: must begin with http:// or https://", text)
	case parsed.Hostname() == "":
		return nil, fmt.Errorf("URL %q: names no host", text)
	}
	return parsed, nil
}

// Request is one HTTP request.
type Request struct {
	Method string
	// URL is resolved against the endpoint: a path, a query, or another URL.
	// Empty for the endpoint itself.
	URL string
	// Header is sent as it stands, spelling of the keys included. A key with no
	// values suppresses the one of the options. "Host" overrides the Host
	// header; Content-Length and Transfer-Encoding are set from the body (use
	// Raw for others).
	Header http.Header
	// NoHeaders leaves out the headers of the options, which another origin than that of
	// the endpoint never gets.
	NoHeaders bool
	// Body is nil for none.
	Body []byte
	// Piece has the body sent in chunks of at most so many bytes, without its length;
	// 0 for the length, and no chunks.
	Piece int
	// Note and Deliberate go to the log: what this is, and why it is illegal.
	Note, Deliberate string
	// Progress is told how the answer comes; nil for none.
	Progress *Progress
}

// Do sends a request and returns when the head of the response is there. The
// context bounds the wait for the head only; the exchange lives until its body
// ends or Close. An error is an *Error, unless the URL is malformed.
func (h *HTTP) Do(ctx context.Context, request Request) (*Exchange, error) {
	target, err := h.resolve(request.URL)
	if err != nil {
		return nil, err
	}
	header, host := h.headers(request, target)
	stream, err := h.name(request.Method)
	if err != nil {
		return nil, err
	}
	doing := request.Method + " " + target.Redacted()
	h.logRequest(stream, request, target, header, host)

	ctx, leave := h.whileOpen(ctx)
	defer leave()
	lifetime, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	response, tracing, err := h.send(lifetime, stream, &http.Request{
		Method: request.Method, URL: target, Host: host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, request)
	if !stop() && err == nil {
		_ = response.Body.Close() // the context ended with the head
		err = context.Cause(ctx)
	}
	if err != nil {
		end(err)
		failure := classify(ctx, doing, err, tracing.wire.Load())
		h.fail(stream, failure)
		return nil, failure
	}
	return h.begin(stream, doing, response, request.Progress, func(cause error) { end(cause) }), nil
}

// send sends a request, and again where the server turns it away for a moment.
func (h *HTTP) send(
	ctx context.Context,
	stream string,
	request *http.Request,
	asked Request,
) (response *http.Response, last *tracing, err error) {
	for try := 1; ; try++ {
		h.pace.wait(ctx)
		last = &tracing{progress: asked.Progress}
		response, err = h.roundTrip(ctx, request, asked, last)
		if err != nil || try == mostTries {
			return response, last, err
		}
		pause, again := h.pace.heeds(response)
		if !again {
			return response, last, nil
		}
		_ = response.Body.Close() // nothing in it counts
		h.log.Append(transcript.Event{Kind: transcript.Remark, Stream: stream, From: protocol.Client,
			Note: fmt.Sprintf("rejected with %s; sent again after %s", response.Status, pause)})
	}
}

// roundTrip sends a request, of which the server sees no second one.
func (h *HTTP) roundTrip(
	ctx context.Context,
	request *http.Request,
	asked Request,
	tracing *tracing,
) (*http.Response, error) {
	request = request.WithContext(httptrace.WithClientTrace(ctx, tracing.trace()))
	if body := asked.Body; body != nil {
		request.ContentLength = int64(len(body))
		request.GetBody = func() (io.ReadCloser, error) { return asked.reader(), nil }
		request.Body = asked.reader()
		switch {
		case len(body) == 0:
			request.Body = http.NoBody
		case asked.Piece > 0:
			request.ContentLength = -1
		}
	}
	response, err := h.transport.RoundTrip(request)
	if err != nil && tracing.answered.Load() {
		err = &unreadable{err}
	}
	return response, err
}

// reader returns the body, which comes in pieces where the request wants that: each is
// written as a chunk.
func (r Request) reader() io.ReadCloser {
	if r.Piece == 0 {
		return io.NopCloser(bytes.NewReader(r.Body))
	}
	return io.NopCloser(&pieces{left: r.Body, size: r.Piece})
}

// pieces reads bytes a few at a time.
type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(target []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(target, p.left[:min(p.size, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}

// whileOpen returns a context that ends with another or with Close.
func (h *HTTP) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.life, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// resolve returns the URL of a request.
func (h *HTTP) resolve(reference string) (*url.URL, error) {
	if reference == "" {
		return h.base, nil
	}
	resolved, err := h.base.Parse(reference)
	if err != nil {
		return nil, fmt.Errorf("URL %q: %w", reference, err)
	}
	return resolved, nil
}

// headers returns what is sent, and the Host header apart.
func (h *HTTP) headers(request Request, target *url.URL) (http.Header, string) {
	header := http.Header{"User-Agent": {UserAgent}}
	if user := target.User; user != nil && !request.NoHeaders {
		password, _ := user.Password()
		basic := &http.Request{Header: http.Header{}}
		basic.SetBasicAuth(user.Username(), password)
		maps.Copy(header, basic.Header)
	}
	if !request.NoHeaders && target.Scheme == h.base.Scheme && strings.EqualFold(target.Host, h.base.Host) {
		overlay(header, h.header)
	}
	overlay(header, request.Header)
	host := target.Host
	if values, ok := header["Host"]; ok {
		delete(header, "Host")
		if len(values) > 0 {
			host = values[0]
		}
	}
	return header, host
}

// overlay replaces the keys of a header; case is ignored.
func overlay(header, over http.Header) {
	for key := range over {
		for present := range header {
			if strings.EqualFold(present, key) {
				delete(header, present)
			}
		}
	}
	for key, values := range over {
		if strings.EqualFold(key, "Host") || strings.EqualFold(key, "User-Agent") {
			key = http.CanonicalHeaderKey(key) // net/http knows them by this spelling
		}
		header[key] = values
	}
}

// name numbers the exchanges of each method: post-1, get-1.
func (h *HTTP) name(method string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return "", &Error{Kind: ErrClosed, Doing: method + " " + h.base.Redacted(), Detail: "the connection is closed"}
	}
	return h.streams.Next(method), nil
}

func (h *HTTP) logRequest(stream string, request Request, target *url.URL, header http.Header, host string) {
	sent := header.Clone()
	if host != target.Host {
		sent["Host"] = []string{host}
	}
	event := transcript.Event{Kind: transcript.Head, Stream: stream, From: protocol.Client,
		HTTP: &transcript.HTTP{Method: request.Method, URL: target.Redacted(), Header: sent},
		Note: request.Note, Deliberate: request.Deliberate}
	h.log.Append(event)
	if request.Body != nil {
		h.log.Append(transcript.Event{Kind: transcript.Message, Stream: stream, From: protocol.Client,
			Raw: request.Body, Note: request.Note, Deliberate: request.Deliberate})
	}
}

func (h *HTTP) fail(stream string, err error) {
	h.log.Append(transcript.Event{Kind: transcript.Failure, Stream: stream, Note: err.Error()})
}

// begin makes an exchange of a response and starts reading its body.
func (h *HTTP) begin(stream, doing string, response *http.Response, progress *Progress, end func(error)) *Exchange {
	if response.StatusCode < http.StatusOK {
		_ = response.Body.Close() // what follows 101 is another protocol, which was not asked for
		response.Body = http.NoBody
	}
	body := &notedBody{decoded(response.Header, response.Body), &came{}}
	if progress != nil {
		progress.head(response.StatusCode, body.came)
	}
	e := &Exchange{
		Stream:      stream,
		Status:      response.StatusCode,
		Proto:       response.Proto,
		Header:      response.Header,
		ContentType: MediaType(response.Header.Get("Content-Type")),
		http:        h,
		method:      response.Request.Method,
		doing:       "reading the answer to " + doing,
		source:      body,
		cancel:      end,
		events:      newMailbox[Event](h.limits.Buffer),
		over:        make(chan struct{}),
	}
	e.Sequence = h.log.Append(transcript.Event{Kind: transcript.Head, Stream: stream, From: h.peer,
		HTTP: &transcript.HTTP{Status: response.StatusCode, Header: response.Header.Clone()}})
	h.mu.Lock()
	h.open[e] = struct{}{}
	closed := h.closed
	h.mu.Unlock()
	go e.read()
	if closed {
		e.Close()
	}
	return e
}

// MediaType returns the type that a Content-Type names, without parameters and
// in lower case, also when the parameters are malformed.
func MediaType(contentType string) string {
	if parsed, _, err := mime.ParseMediaType(contentType); err == nil {
		return parsed
	}
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// Close ends all exchanges and unused connections. It does nothing the second time.
func (h *HTTP) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	h.stop()
	open := make([]*Exchange, 0, len(h.open))
	for e := range h.open {
		open = append(open, e)
	}
	h.mu.Unlock()
	for _, e := range open {
		e.Close()
	}
	if h.owned {
		h.transport.CloseIdleConnections()
	}
	h.log.Append(transcript.Event{Kind: transcript.Close, From: protocol.Client})
}

// Exchange is a request and its response, whose body may still be coming.
type Exchange struct {
	Stream      string // its name in the log
	Status      int
	Proto       string // such as "HTTP/1.1"
	Header      http.Header
	ContentType string // media type in lower case, without parameters; may be empty
	Sequence    int    // of the response's head in the log

	http   *HTTP
	method string
	doing  string
	source *notedBody
	cancel func(error)
	events *mailbox[Event]
	over   chan struct{} // the reader has ended

	mu     sync.Mutex
	closed bool
	body   []byte
	ofBody int
	err    error // of the body
}

// IsEventStream reports whether the body is an event stream, by its media type.
func (e *Exchange) IsEventStream() bool { return e.ContentType == eventStreamType }

// Body waits for the whole body of a response that is no event stream. With
// ErrCut it returns what came; other errors are ErrTooLarge, ErrNotHTTP,
// ErrClosed after Close, and ErrTimeout or ErrCanceled with the context, after
// which it can be called again.
func (e *Exchange) Body(ctx context.Context) ([]byte, error) {
	if e.IsEventStream() {
		return nil, errors.New(e.doing + ": it is an event stream, which is read event by event")
	}
	select {
	case <-e.over:
	default:
		select {
		case <-e.over:
		case <-ctx.Done():
			return nil, interrupted(ctx, e.doing)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.body, e.err
}

// OfBody is the sequence of the whole body in the log; 0 before Body has returned it.
func (e *Exchange) OfBody() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ofBody
}

// Next waits for the next block of an event stream. It ends with io.EOF when
// the stream is complete, ErrCut when the connection broke, and otherwise as
// Body does.
func (e *Exchange) Next(ctx context.Context) (Event, error) {
	if !e.IsEventStream() {
		return Event{}, fmt.Errorf("%s: it is %q, not an event stream", e.doing, e.ContentType)
	}
	return e.events.take(ctx, e.doing)
}

// Done is closed when the body has ended, however it did.
func (e *Exchange) Done() <-chan struct{} { return e.over }

// Close disconnects, if the body has not ended, and frees everything. Events
// that were not taken are lost when it had not.
func (e *Exchange) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	failure := &Error{Kind: ErrClosed, Doing: e.doing, Detail: "the harness closed the stream"}
	e.events.finish(failure)
	e.cancel(failure)
	_ = e.source.Close() // a body need not follow the context of its request
	<-e.over
}

// read is the one goroutine that reads the body.
func (e *Exchange) read() {
	var note string
	var err error
	if e.IsEventStream() {
		err = e.readEvents()
	} else {
		err = e.readBody()
	}
	e.mu.Lock()
	switch {
	case errors.Is(err, io.EOF):
		note = transcript.Complete
	case e.closed:
		err = &Error{Kind: ErrClosed, Doing: e.doing, Detail: "the harness closed the stream"}
		note = transcript.HarnessClosed
	default:
		note = err.Error()
	}
	if e.err = err; errors.Is(err, io.EOF) {
		e.err = nil
	}
	e.mu.Unlock()
	e.http.log.Append(transcript.Event{Kind: transcript.End, Stream: e.Stream, From: e.http.peer, Note: note})
	e.events.finish(err)
	e.cancel(err)
	_ = e.source.Close() // it was read, or is given up
	e.http.mu.Lock()
	delete(e.http.open, e)
	e.http.mu.Unlock()
	close(e.over)
}

func (e *Exchange) readEvents() error {
	stream := NewEventReader(e.source, e.http.limits.Message)
	for {
		event, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return err
		case errors.Is(err, ErrTooLarge):
			e.http.log.Crowd()
			return err
		case err != nil:
			return bodyError(e.doing, err, e.source.came.of("the event stream"))
		}
		record := event.Record()
		record.Stream = e.Stream
		event.Sequence = e.http.log.Keep(record)
		if !e.events.put(event, len(event.Raw)) {
			return io.ErrClosedPipe // by Close, which tells
		}
	}
}

func (e *Exchange) readBody() error {
	limit := e.http.limits.Message
	body, err := io.ReadAll(io.LimitReader(e.source, int64(limit)+1))
	kind := transcript.KindOfBody(e.method, e.Status, body)
	event := transcript.Event{Kind: kind, Stream: e.Stream, From: e.http.peer, Raw: body}
	switch {
	case len(body) > limit:
		err = tooLarge(e.doing, "the body", limit)
		e.http.log.Crowd()
		event = event.Cut(shown)
		event.Note = "the beginning of a body that is too long"
		body = nil
	case err != nil:
		err = bodyError(e.doing, err, e.source.came.of("the body"))
		event.Kind, event.Note = transcript.Body, "cut off" // the beginning of a message is none
	default:
		err = io.EOF
	}
	sequence := 0
	if len(event.Raw) > 0 {
		sequence = e.http.log.Keep(event)
	}
	e.mu.Lock()
	e.body, e.ofBody = body, sequence
	e.mu.Unlock()
	return err
}
