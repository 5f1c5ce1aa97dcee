package scripted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// eventStream is the media type of a stream.
const eventStream = "text/event-stream"

// otherBody is how long the body of what is no event stream is read, to be shown.
const otherBody = time.Second

// ErrOtherHost says that a stream names an endpoint on another host. That is a URI, too, but
// no host is contacted only because a target names it.
var ErrOtherHost = errors.New("the endpoint is on another host than the stream, and is not contacted")

// SSE is a scripted client over HTTP with SSE (2024-11-05, basic/transports#http-with-sse):
// it reads a stream, and posts each message to the endpoint that the stream names. The
// stream is opened with the first message.
type SSE struct {
	*Client
	Wire *transport.HTTP // for checks that need whole exchanges to themselves

	posting

	opening sync.Once
	stream  *Delivery
	named   chan struct{} // closed when the endpoint is known, or never will be

	mu       sync.Mutex
	version  string
	event    bool   // there was an endpoint event
	endpoint string // as it names it
	problem  error  // why there is none
}

// OverSSE returns a client that will read the stream at the URL of the wire.
func OverSSE(wire *transport.HTTP, log *transcript.Log, reply time.Duration) *SSE {
	s := &SSE{Client: newClient(log, reply), Wire: wire, named: make(chan struct{})}
	s.ready()
	s.wire = s
	return s
}

func (s *SSE) transport() protocol.Transport { return protocol.Over(protocol.SSE) }

func (s *SSE) sessionID() string { return "" }

func (s *SSE) setVersion(version string) {
	if !protocol.Has(version, protocol.VersionHeader) {
		version = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// Header returns the headers that a well-behaved client sends now with a request of the
// HTTP method. The caller may change them.
func (s *SSE) Header(method string) http.Header {
	header := http.Header{}
	switch method {
	case http.MethodPost:
		header.Set("Content-Type", "application/json")
	case http.MethodGet:
		header.Set("Accept", eventStream)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != "" {
		header.Set(VersionHeader, s.version)
	}
	return header
}

// Open opens the stream, if it is not open, and waits for the endpoint that it names. The
// delivery is that of the stream.
func (s *SSE) Open(ctx context.Context) (*Delivery, error) {
	patience := s.Patience()
	s.opening.Do(func() {
		s.stream = newDelivery()
		request := transport.Request{
			Method: http.MethodGet, Header: s.Header(http.MethodGet), Progress: &transport.Progress{},
		}
		s.stream.carried, s.stream.came = func() string { return http.MethodGet }, request.Progress.String
		life, cut := context.WithCancel(s.life)
		s.stream.cut = cut
		s.open.Go(func() {
			defer cut()
			defer close(s.stream.done)
			s.stream.Err = s.listenTo(life, request)
			s.inbox.finish(s.over())
		})
	})
	ctx, cancel := wait.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-s.named:
		return s.stream, s.Problem()
	case <-ctx.Done():
		return s.stream, s.stream.late(ctx, patience, "the stream named no endpoint within %s", patience)
	}
}

// At is where requests of an HTTP method go: POST to the endpoint that the stream names, as
// it names it, and others to the stream ("").
func (s *SSE) At(method string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == http.MethodPost {
		return s.endpoint
	}
	return ""
}

// Named tells whether there was an endpoint event.
func (s *SSE) Named() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.event
}

// Streams tells whether the server has opened an event stream.
func (s *SSE) Streams() bool {
	if s.stream == nil {
		return false
	}
	select {
	case <-s.stream.head:
		return s.stream.Accepted() && s.stream.ContentType == eventStream
	default:
		return false
	}
}

// Exchange carries out any HTTP request beside the stream. It brings no messages.
func (s *SSE) Exchange(request transport.Request) *Delivery {
	delivery := newDelivery()
	request.Progress = &transport.Progress{}
	delivery.carried = func() string { return cmp.Or(s.read(request.Body).Method, request.Method) }
	delivery.came = request.Progress.String
	life, cut := context.WithCancel(s.life)
	delivery.cut = cut
	s.open.Go(func() {
		defer cut()
		defer close(delivery.done)
		delivery.Err = s.carry(life, delivery, request)
	})
	return delivery
}

// Problem says why nothing can be posted; nil where something can, or it is not known yet.
func (s *SSE) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// over says in words why the stream brings nothing more.
func (s *SSE) over() error {
	if problem := s.Problem(); problem != nil {
		return &UnpostedError{problem}
	}
	if refused := s.stream.Refused(); refused != nil {
		return fmt.Errorf("%w: GET for the stream: %w", ErrConnection, refused)
	}
	if errors.Is(s.stream.Err, context.Canceled) {
		return fmt.Errorf("%w: the client closed the stream", ErrConnection)
	}
	return fmt.Errorf("%w: the server ended the stream", ErrConnection)
}

// listenTo reads the stream to its end.
func (s *SSE) listenTo(life context.Context, request transport.Request) error {
	err := s.events(life, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.named:
	default:
		s.problem = &NoEndpointError{Stream: s.stream, Err: err}
		close(s.named)
	}
	return err
}

// UnpostedError says that a message could not be sent, as there is no endpoint.
type UnpostedError struct{ Err error }

func (e *UnpostedError) Error() string { return e.Err.Error() }

// Unwrap is why there is none.
func (e *UnpostedError) Unwrap() error { return e.Err }

// NoEndpointError says that a stream ended without an endpoint event, or never began.
type NoEndpointError struct {
	Stream *Delivery
	Err    error // of the stream; nil where it ended in order
}

func (e *NoEndpointError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s", ErrConnection, e.Err)
	}
	switch stream := e.Stream; {
	case !stream.Accepted():
		return fmt.Sprintf("%s: GET brought %s", ErrConnection, stream.Refusal())
	case stream.ContentType != eventStream:
		return fmt.Sprintf("%s: GET brought the content type %q with the body %s, not an event stream",
			ErrConnection, stream.ContentType, excerpt.Short(stream.Body))
	}
	return ErrConnection.Error() + ": the server ended the stream without an endpoint event"
}

// Unwrap are ErrConnection and what befell the stream.
func (e *NoEndpointError) Unwrap() []error {
	if e.Err != nil {
		return []error{ErrConnection, e.Err}
	}
	return []error{ErrConnection, e.Stream.Refusal()}
}

func (s *SSE) events(life context.Context, request transport.Request) error {
	exchange, err := s.Wire.Do(life, request)
	if err != nil {
		close(s.stream.head)
		return err
	}
	defer exchange.Close()
	defer context.AfterFunc(life, exchange.Close)()
	s.stream.headed(exchange, s.log)
	close(s.stream.head)
	if !exchange.IsEventStream() {
		reading, stop := wait.WithTimeout(life, otherBody)
		defer stop()
		s.stream.Body, err = exchange.Body(reading)
		s.stream.OfBody = s.log.Place(exchange.OfBody())
		if reading.Err() != nil && life.Err() == nil {
			return nil // it goes on like a stream, and is none
		}
		return err
	}
	for {
		event, err := exchange.Next(life)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case event.Name == transport.EndpointEvent && !event.Unterminated:
			s.name(string(event.Data))
		case event.Dispatched():
			s.take(life, Received{
				Message: s.read(event.Data), At: s.log.Place(event.Sequence), Stream: exchange.Stream, Event: &event,
			})
			if over := s.inbox.ended(); over != nil {
				return over // nothing more is kept
			}
		}
	}
}

// name takes the first endpoint that the stream names: none says what another would mean.
func (s *SSE) name(endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.named:
		return
	default:
	}
	s.event, s.endpoint = true, endpoint
	s.problem = s.unfit(endpoint)
	close(s.named)
}

// unfit says why nothing can be posted to an endpoint.
func (s *SSE) unfit(endpoint string) error {
	at, err := s.Wire.URL().Parse(endpoint)
	switch {
	case endpoint == "" || strings.TrimSpace(endpoint) != endpoint || err != nil:
		return fmt.Errorf(
			"%w: the endpoint event has %q, which is no URI",
			ErrConnection,
			excerpt.Short([]byte(endpoint)),
		)
	case at.Scheme != "http" && at.Scheme != "https":
		return fmt.Errorf("%w: the endpoint %q is not of HTTP", ErrConnection, excerpt.Short([]byte(endpoint)))
	case !sameHost(at, s.Wire.URL()):
		return fmt.Errorf("%w: %w: %q", ErrConnection, ErrOtherHost, excerpt.Short([]byte(endpoint)))
	}
	return nil
}

// sameHost tells whether two URLs are of one host, or both of this machine.
func sameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) || oauth.Loopback(a.Hostname()) && oauth.Loopback(b.Hostname())
}

func (s *SSE) send(ctx context.Context, message Outgoing, _ jsonrpc.ID) *Delivery {
	delivery := newDelivery()
	refused := make(chan struct{})
	delivery.last = refused
	progress := &transport.Progress{}
	method := jsonrpc.MethodOf(message.Raw)
	delivery.carried = func() string { return method }
	delivery.came = progress.String
	if _, err := s.Open(ctx); err != nil { // as a pipe holds up who writes
		delivery.Err = &UnpostedError{err}
		close(delivery.head)
		close(refused)
		close(delivery.done)
		return delivery
	}
	s.open.Go(func() {
		defer close(delivery.done)
		header := s.Header(http.MethodPost)
		if message.Header != nil {
			message.Header(header)
		}
		delivery.Err = s.carry(s.life, delivery, transport.Request{
			Method: http.MethodPost, URL: s.At(http.MethodPost), Header: header,
			Body: message.Raw, Piece: message.Piece, Deliberate: message.Deliberate, Progress: progress,
		})
		if delivery.Err != nil || !delivery.Accepted() {
			defer close(refused) // when it is known what came
		}
	})
	return delivery
}

// carry carries out an exchange to its end. What is in its body is no answer: those come on
// the stream.
func (s *SSE) carry(life context.Context, delivery *Delivery, request transport.Request) error {
	exchange, err := s.Wire.Do(life, request)
	if err != nil {
		close(delivery.head)
		return err
	}
	defer exchange.Close()
	defer context.AfterFunc(life, exchange.Close)()
	delivery.headed(exchange, s.log)
	close(delivery.head)
	if exchange.IsEventStream() {
		<-exchange.Done()
		return nil
	}
	delivery.Body, err = exchange.Body(life)
	delivery.OfBody = s.log.Place(exchange.OfBody())
	return err
}

func (s *SSE) answer(ctx context.Context, message Outgoing) {
	s.answerBy(ctx, func() *Delivery { return s.send(ctx, message, jsonrpc.NoID) })
}

func (s *SSE) quiet() <-chan struct{} { return nil }

func (s *SSE) listen(context.Context) *Delivery {
	delivery := newDelivery()
	close(delivery.head)
	close(delivery.done)
	return delivery
}

// close leaves: nothing else ends a connection over this transport.
func (s *SSE) close(context.Context) {
	s.stop()
	s.open.Wait()
	s.Wire.Close()
	s.inbox.finish(fmt.Errorf("%w: closed by the client", ErrConnection))
}
