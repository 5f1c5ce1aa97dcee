// Page basic/transports at 2024-11-05, "HTTP with SSE", and later "Backwards Compatibility": the
// transport with a stream for all answers and an endpoint for all messages.

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// httpSSE is the transport to an old server.
type httpSSE struct {
	to     *streamableHTTP
	url    string // where messages go
	stream io.Closer
	over   chan struct{} // closed when the stream has ended
}

// isOlder tells whether a server of the older transport answers initialize with
// a status: with any that blames the client, as the pages say that are older than
// 2025-11-25, but those that ask for authorization.
func isOlder(status int, r *request) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	case http.StatusUnauthorized, http.StatusForbidden:
		return false
	}
	asked, _ := r.params["protocolVersion"].(string)
	return asked < Revision20251125 && status >= http.StatusBadRequest && status < http.StatusInternalServerError
}

// isModern tells whether the reason of a refusal is an error by which servers of
// the stateless era are known.
func isModern(reason string) bool {
	failed, isError := jsonrpc.Parse([]byte(reason)).Error()
	return isError &&
		(failed.Code == jsonrpc.UnsupportedRevision || failed.Code == jsonrpc.HeaderMismatch || failed.Code == jsonrpc.MissingCapability)
}

func (h *streamableHTTP) replacement() *httpSSE {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.older
}

// onward is the older transport for the next request: on a new stream, with a session of its
// own, where the last one has ended. It is nil where the server is not that old.
func (h *streamableHTTP) onward(ctx context.Context) (*httpSSE, error) {
	older := h.replacement()
	if older == nil || ctx.Value(renewal{}) != nil || h.client.part.staysOnHTTPSSE(older) {
		return older, nil
	}
	h.renewing.Lock()
	defer h.renewing.Unlock()
	if older = h.replacement(); h.client.part.staysOnHTTPSSE(older) {
		return older, nil
	}
	if err := h.countRenewal(); err != nil {
		return nil, err
	}
	older.close()
	next, stream, err := h.openOlder()
	if err != nil {
		return nil, fmt.Errorf("the stream has ended, and no new one began: %w", err)
	}
	h.hearOlder(next, stream)
	return next, h.beginAnew()
}

// hasStream tells whether a stream is still there.
func hasStream(older *httpSSE) bool {
	select {
	case <-older.over:
		return false
	default:
		return true
	}
}

// tryOlder looks whether a server that refuses initialize is one of the older
// transport, and if so sends it there.
func (h *streamableHTTP) tryOlder(ctx context.Context, r *request, refusal *statusError) error {
	if isModern(refusal.reason) {
		return refusal
	}
	older, stream, err := h.openOlder()
	if errors.Is(err, errNoEndpoint) {
		h.client.log.Printf("no server of the older transport either: %v", err)
		return refusal
	}
	if err != nil {
		return err
	}
	// Only then is the stream read: its answer must not overtake the status of the POST,
	// by which the server accepts or refuses the message.
	if err := older.request(ctx, r); err != nil {
		older.close()
		return err
	}
	h.hearOlder(older, stream)
	select {
	case <-r.answered:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// newHTTPSSE is the way to a server that is known to be of the older transport.
func newHTTPSSE(c *client) (*streamableHTTP, error) {
	h := newStreamableHTTP(c)
	older, stream, err := h.openOlder()
	if err != nil {
		h.stop()
		return nil, err
	}
	h.hearOlder(older, stream)
	return h, nil
}

// errNoEndpoint says that there is no stream that names an endpoint.
var errNoEndpoint = errors.New("no stream with an endpoint event")

// openOlder opens the stream, and reads up to the event that names the endpoint.
func (h *streamableHTTP) openOlder() (*httpSSE, *events, error) {
	response, err := h.get(h.ctx, "") // the stream outlives the request
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoEndpoint, err)
	}
	stream := newEvents(h.client.part.framing, response.Body, nil)
	timeout := time.AfterFunc(h.client.options.Timeouts.Request, func() { _ = response.Body.Close() })
	first, err := stream.next()
	for err == nil && first.name != endpointEvent && !first.carries() {
		first, err = stream.next() // skip events of other kinds
	}
	timeout.Stop()
	if err == nil && first.carries() {
		err = errors.New("a message came first")
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: %w", errNoEndpoint, err), response.Body.Close())
	}
	endpoint, err := h.client.part.endpoint(h, string(first.data))
	if err != nil {
		return nil, nil, errors.Join(err, response.Body.Close())
	}
	return &httpSSE{to: h, url: endpoint, stream: response.Body, over: make(chan struct{})}, stream, nil
}

// endpointEvent is the name of the event that says where messages go.
const endpointEvent = "endpoint"

// hearOlder reads what comes on the stream from now on.
func (h *streamableHTTP) hearOlder(older *httpSSE, stream *events) {
	h.mu.Lock()
	h.older = older
	h.mu.Unlock()
	go func() {
		err := h.drain(stream, nil)
		close(older.over)
		h.client.lost(older, fmt.Errorf("the stream of the server has ended: %w", err))
	}()
}

// endpoint is where an old server wants its messages, which must be on the
// server that was asked.
func (h *streamableHTTP) endpoint(reference string) (string, error) {
	base, err := url.Parse(h.client.options.URL)
	if err != nil {
		return "", err
	}
	at, err := base.Parse(reference)
	if err != nil {
		return "", fmt.Errorf("the endpoint %q is not a URL: %w", reference, err)
	}
	if at.Scheme != base.Scheme || at.Host != base.Host {
		return "", fmt.Errorf("the endpoint %q is on another server than %s", reference, base)
	}
	return at.String(), nil
}

// request sends a request, which is answered on the stream, if that does not end.
func (o *httpSSE) request(ctx context.Context, r *request) error {
	c := o.to.client
	c.mu.Lock()
	r.via = o
	c.mu.Unlock()
	return o.send(ctx, r.message)
}

func (o *httpSSE) send(ctx context.Context, message []byte) error {
	response, err := o.to.post(ctx, o.url, message, o.to.headers())
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(response)
	}
	return o.to.client.part.acceptedHTTPSSE(response)
}

func (o *httpSSE) close() { _ = o.stream.Close() }
