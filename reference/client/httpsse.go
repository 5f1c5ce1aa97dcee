// Page basic/transports, "Backwards Compatibility": the transport HTTP+SSE of
// 2024-11-05, with a stream for all answers and an endpoint for all messages.

package client

import (
	"bytes"
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

// tryOlder looks whether a server that refuses initialize is one of the older
// transport, and if so sends it there.
func (h *streamableHTTP) tryOlder(ctx context.Context, r *request, refusal *statusError) error {
	if isModern(refusal.reason) {
		return refusal
	}
	response, err := h.get(h.ctx, "") // the stream outlives the request
	if err != nil {
		h.client.log.Printf("no server of the older transport either: %v", err)
		return refusal
	}
	stream := newEvents(h.client.part.framing, response.Body, nil)
	timeout := time.AfterFunc(h.client.options.Timeouts.Request, func() { _ = response.Body.Close() })
	first, err := stream.next()
	timeout.Stop()
	if err != nil || first.name != "endpoint" {
		return errors.Join(refusal, response.Body.Close())
	}
	endpoint, err := h.client.part.endpoint(h, string(first.data))
	if err != nil {
		return errors.Join(err, response.Body.Close())
	}
	older := &httpSSE{to: h, url: endpoint, stream: response.Body}
	// Only then is the stream read: its answer must not overtake the status of the POST,
	// by which the server accepts or refuses the message.
	if err := older.send(ctx, r.message); err != nil {
		return errors.Join(err, response.Body.Close())
	}
	h.mu.Lock()
	h.older = older
	h.mu.Unlock()
	go func() {
		h.client.lost(nil, fmt.Errorf("the stream of the server has ended: %w", h.drain(stream, nil)))
	}()
	select {
	case <-r.answered:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
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

func (o *httpSSE) send(ctx context.Context, message []byte) error {
	sent, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(message))
	if err != nil {
		return err
	}
	sent.Header = o.to.headers()
	sent.Header.Set("Content-Type", jsonMedia)
	sent.Header.Set("Accept", jsonMedia+", "+eventStreamMedia)
	response, err := o.to.http.Do(sent)
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
