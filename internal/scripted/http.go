package scripted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Headers of Streamable HTTP.
const (
	SessionHeader = "Mcp-Session-Id"
	VersionHeader = transport.VersionHeader
	LastEventID   = "Last-Event-Id"
)

// AcceptBoth is what a client accepts in answer to a POST.
const AcceptBoth = "application/json, text/event-stream"

// HTTP is a scripted client over Streamable HTTP. It keeps the session id and
// the version as a client must, unless a check sets them otherwise.
type HTTP struct {
	*Client
	Wire *transport.HTTP // for checks that need whole exchanges to themselves

	posting

	mu      sync.Mutex
	session string
	version string
	opened  int           // exchanges that are not over
	still   chan struct{} // closed while there is none
}

// OverHTTP returns a client that talks to an endpoint.
func OverHTTP(wire *transport.HTTP, log *transcript.Log, reply time.Duration) *HTTP {
	h := &HTTP{Client: newClient(log, reply), Wire: wire, still: make(chan struct{})}
	h.ready()
	close(h.still)
	h.wire = h
	return h
}

func (h *HTTP) transport() protocol.Transport { return protocol.Over(protocol.HTTP) }

func (h *HTTP) sessionID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

func (h *HTTP) setVersion(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version = version
}

// SetSession sets the session id of what is sent from now on; "" sends none.
func (h *HTTP) SetSession(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session = session
}

// Header returns the headers that a well-behaved client sends now with any
// request of the HTTP method; those that its body makes necessary come beside
// (Mirror). The caller may change them.
func (h *HTTP) Header(method string) http.Header {
	header := http.Header{}
	switch method {
	case http.MethodPost:
		header.Set("Content-Type", "application/json")
		header.Set("Accept", AcceptBoth)
	case http.MethodGet:
		header.Set("Accept", "text/event-stream")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.session != "" {
		header.Set(SessionHeader, h.session)
	}
	if h.version != "" {
		header.Set(VersionHeader, h.version)
	}
	return header
}

func (h *HTTP) send(_ context.Context, message Outgoing, id jsonrpc.ID) *Delivery {
	request := transport.Request{
		Method: http.MethodPost, Header: h.HeaderOf(http.MethodPost, message.Raw),
		Body: message.Raw, Piece: message.Piece, Deliberate: message.Deliberate,
	}
	if message.Header != nil {
		message.Header(request.Header)
	}
	return h.exchange(request, id)
}

// HeaderOf returns the headers that a well-behaved client sends now with a request
// of the HTTP method that has a body, or none. The caller may change them.
func (h *HTTP) HeaderOf(method string, body []byte) http.Header {
	header := h.Header(method)
	if method == http.MethodPost {
		h.Mirror(header, body)
	}
	return header
}

func (h *HTTP) answer(ctx context.Context, message Outgoing) {
	h.answerBy(ctx, func() *Delivery { return h.send(ctx, message, jsonrpc.NoID) })
}

func (h *HTTP) listen(context.Context) *Delivery {
	return h.exchange(transport.Request{Method: http.MethodGet, Header: h.Header(http.MethodGet)}, jsonrpc.NoID)
}

// Resume asks for what followed an event on its stream.
func (h *HTTP) Resume(lastEventID string) *Delivery {
	header := h.Header(http.MethodGet)
	header.Set(LastEventID, lastEventID)
	return h.exchange(transport.Request{Method: http.MethodGet, Header: header}, jsonrpc.NoID)
}

// Exchange carries out any HTTP request; messages in the answer are received
// like all others.
func (h *HTTP) Exchange(request transport.Request) *Delivery {
	return h.exchange(request, jsonrpc.NoID)
}

// exchange runs beside the caller until its response is over. An exchange
// lives with the connection, not with the call that began it: a server may
// answer later, and only a check decides to disconnect.
func (h *HTTP) exchange(request transport.Request, id jsonrpc.ID) *Delivery {
	delivery := newDelivery()
	delivery.carried = func() string { return cmp.Or(h.read(request.Body).Method, request.Method) }
	request.Progress = &transport.Progress{}
	delivery.came = request.Progress.String
	life, cut := context.WithCancel(h.life)
	delivery.cut = cut
	h.begin()
	h.open.Go(func() {
		defer h.end()
		defer cut()
		defer close(delivery.done)
		h.carry(life, delivery, request, id)
	})
	return delivery
}

func (h *HTTP) quiet() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.still
}

// begin and end are called around each exchange.
func (h *HTTP) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened++; h.opened == 1 {
		h.still = make(chan struct{})
	}
}

func (h *HTTP) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened--; h.opened == 0 {
		close(h.still)
	}
}

// Cut disconnects: the client closes the stream without waiting for its end.
func (d *Delivery) Cut() {
	if d.cut != nil {
		d.cut()
		<-d.done
	}
}

func (h *HTTP) carry(life context.Context, delivery *Delivery, request transport.Request, id jsonrpc.ID) {
	answered := func() bool { return id == jsonrpc.NoID || h.hasAnswer(id) }
	place := &place{}
	for attempt := 0; ; attempt++ {
		err := h.once(life, delivery, request, place, attempt == 0)
		if err != nil || answered() || place.last == "" || attempt == maxResumes || !h.has(protocol.Resumption) {
			delivery.Err = err
			return
		}
		// The server ended the stream before the answer, and gave an event id:
		// the client is to come back for the rest.
		select {
		case <-time.After(min(place.retry, h.reply)):
		case <-life.Done():
			return
		}
		header := h.Header(http.MethodGet)
		header.Set(LastEventID, place.last)
		request = transport.Request{Method: http.MethodGet, Header: header, Progress: request.Progress}
	}
}

// place is where an event stream stands, also when it is come back to.
type place struct {
	last  string        // id of the last event that had one
	retry time.Duration // how long the server asks to wait before coming back
}

// maxResumes bounds how often one answer is come back for: a server that polls
// its client has answered by then, a hostile one never would.
const maxResumes = 20

// once carries out one exchange to its end.
func (h *HTTP) once(
	life context.Context,
	delivery *Delivery,
	request transport.Request,
	place *place,
	first bool,
) error {
	exchange, err := h.Wire.Do(life, request)
	if err != nil {
		if first {
			close(delivery.head)
		}
		return err
	}
	defer exchange.Close()
	defer context.AfterFunc(life, exchange.Close)()
	if first {
		delivery.headed(exchange, h.log)
		h.remember(request, exchange)
		close(delivery.head)
	}
	if exchange.IsEventStream() {
		return h.events(life, exchange, place)
	}
	body, err := exchange.Body(life)
	isMessage := transcript.KindOfBody(request.Method, exchange.Status, body) == transcript.Message
	if err == nil && exchange.ContentType == "application/json" && len(body) > 0 && isMessage {
		h.take(life, Received{Message: h.read(body), At: h.log.Place(exchange.OfBody()), Stream: exchange.Stream})
	}
	switch {
	case first:
		delivery.Body, delivery.OfBody = body, h.log.Place(exchange.OfBody())
	case err == nil:
		return fmt.Errorf("%w: its stream ended, and the GET for the rest of it, after the event %q, brought %w",
			ErrNoAnswer, place.last, &StatusError{Status: exchange.Status, Header: exchange.Header, Body: body})
	}
	return err
}

// events receives an event stream to its end.
func (h *HTTP) events(life context.Context, exchange *transport.Exchange, place *place) error {
	for {
		event, err := exchange.Next(life)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if event.ID != nil {
			place.last = *event.ID
		}
		if event.Retry != nil {
			place.retry = time.Duration(*event.Retry) * time.Millisecond
		}
		if event.Dispatched() {
			h.take(life, Received{
				Message: h.read(event.Data), At: h.log.Place(event.Sequence), Stream: exchange.Stream, Event: &event,
			})
			if over := h.inbox.ended(); over != nil {
				return over // nothing more is kept
			}
		}
	}
}

// remember keeps the session id that the answer to initialize carries.
func (h *HTTP) remember(request transport.Request, exchange *transport.Exchange) {
	session := exchange.Header.Get(SessionHeader)
	if session == "" || jsonrpc.MethodOf(request.Body) != "initialize" {
		return
	}
	h.SetSession(session)
}

func (h *HTTP) hasAnswer(id jsonrpc.ID) bool {
	h.Client.mu.Lock()
	defer h.Client.mu.Unlock()
	_, waits := h.pending[id]
	return !waits
}

// close ends the session as a client should, with DELETE, and every stream.
func (h *HTTP) close(ctx context.Context) {
	if h.Session() != "" {
		bye := h.exchange(
			transport.Request{Method: http.MethodDelete, Header: h.Header(http.MethodDelete)},
			jsonrpc.NoID,
		)
		ctx, cancel := wait.WithTimeout(ctx, h.reply)
		defer cancel()
		select {
		case <-bye.done: // 405 is a fair answer: nothing is judged here
		case <-ctx.Done():
		}
	}
	h.stop()
	h.open.Wait()
	h.Wire.Close()
	h.inbox.finish(fmt.Errorf("%w: closed by the client", ErrConnection))
}
