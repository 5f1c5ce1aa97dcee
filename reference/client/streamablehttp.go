// Page basic/transports, "Streamable HTTP": each message to the one endpoint as a
// request of its own, whose response is an answer or a stream with one in it.

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Headers and media types of the transport.
const (
	sessionHeader    = "Mcp-Session-Id"
	versionHeader    = "MCP-Protocol-Version"
	lastEventHeader  = "Last-Event-ID"
	jsonMedia        = "application/json"
	eventStreamMedia = "text/event-stream"
)

// maxRefusal bounds what is read of the reason why a request was refused.
const maxRefusal = 1 << 20

// streamableHTTP is the transport to one endpoint. The sessions of the handshake
// era are in sessions.go.
type streamableHTTP struct {
	client *client
	http   *http.Client
	ctx    context.Context // of this connection
	stop   context.CancelFunc

	mu      sync.Mutex
	version string   // that was agreed on
	session string   // the id of the session, where there is one
	older   *httpSSE // in place of this, once the server is found to be that old

	renewing sync.Mutex
	renewals int
}

func newStreamableHTTP(c *client) *streamableHTTP {
	carrier := c.options.Transport
	if carrier == nil {
		carrier = http.DefaultTransport.(*http.Transport).Clone()
		carrier.DisableCompression = true // events are to come at once
	}
	ctx, stop := context.WithCancel(c.ctx)
	guarded := &http.Client{Transport: newCarrier(c, carrier), CheckRedirect: c.part.redirected}
	return &streamableHTTP{client: c, http: guarded, ctx: ctx, stop: stop}
}

// stays follows no redirect: it would take a message, and what secrets it has, elsewhere.
func stays(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// A statusError says that the server has refused at the level of HTTP.
type statusError struct {
	code   int
	reason string
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("HTTP status %d", e.code)
	if e.reason != "" {
		text += ": " + e.reason
	}
	return text
}

// request sends a request and returns once it has arrived; a goroutine reads the response.
func (h *streamableHTTP) request(ctx context.Context, r *request) error {
	if older, err := h.onward(ctx); older != nil || err != nil {
		if err != nil {
			return err
		}
		return older.request(ctx, r)
	}
	h.settled(ctx)
	traced, written := untilWritten(r.ctx)
	traced, heard := untilHeard(traced)
	go func() {
		r.finish(nil, h.exchange(traced, r))
		r.leave()
	}()
	select {
	case <-written:
	case <-r.answered:
		return nil
	case <-ctx.Done():
		return nil
	}
	// What is said next comes over another connection, and should not come first.
	arrival := time.NewTimer(arrivalTime)
	defer arrival.Stop()
	select {
	case <-heard:
	case <-arrival.C:
	case <-r.answered:
	case <-ctx.Done():
	}
	return nil
}

// arrivalTime is within which a request that is written has come to the server.
const arrivalTime = 100 * time.Millisecond

// untilWritten returns a context for a request over HTTP, and what is closed when
// that is written.
func untilWritten(ctx context.Context) (traced context.Context, written <-chan struct{}) {
	closed := make(chan struct{})
	done := sync.OnceFunc(func() { close(closed) })
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { done() }}
	return httptrace.WithClientTrace(ctx, trace), closed
}

// untilHeard returns a context for a request over HTTP, and what is closed when
// the server begins to respond.
func untilHeard(ctx context.Context) (traced context.Context, heard <-chan struct{}) {
	closed := make(chan struct{})
	trace := &httptrace.ClientTrace{GotFirstResponseByte: sync.OnceFunc(func() { close(closed) })}
	return httptrace.WithClientTrace(ctx, trace), closed
}

// exchange sends a request and gives what comes back to the client. The error
// says why there can be no answer, when there was none.
func (h *streamableHTTP) exchange(ctx context.Context, r *request) error {
	stop := context.AfterFunc(h.ctx, r.leave)
	defer stop()
	session, headers := h.sessionID(), h.headersOf(r)
	if r.session != 0 && r.params["cursor"] != nil && r.session != h.client.session() && h.client.part.restartsList() {
		return errBeginAnew // the cursor is of the session before
	}
	response, err := h.post(ctx, h.client.part.address(h.client.options.URL), r.message, headers)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode == http.StatusNotFound && session != "" && !r.again && r.method != "initialize" && h.client.part.renews(r.method):
		return h.againInNewSession(r, session)
	case r.method == "initialize" && isOlder(response.StatusCode, r):
		return h.tryOlder(ctx, r, refusalOf(response))
	case response.StatusCode != http.StatusOK:
		h.client.part.refusedPost(h, r, response)
		return h.refused(r, response)
	}
	if r.method == "initialize" {
		session := response.Header.Get(sessionHeader)
		if err := h.client.part.checksSessionID(session); err != nil {
			return err
		}
		h.begin(session)
	}
	switch media := h.client.part.mediaOf(response.Header.Get("Content-Type")); h.client.part.mediaRead(
		r.method,
		media,
	) {
	case jsonMedia:
		return h.takeJSON(response.Body)
	case eventStreamMedia:
		return h.follow(ctx, r, response.Body)
	default:
		return fmt.Errorf("the answer to %s is neither %s nor %s, but %q", r.method, jsonMedia, eventStreamMedia, media)
	}
}

// mediaOf is the media type in a Content-Type, without its parameters.
func mediaOf(header string) string {
	media, _, _ := mime.ParseMediaType(header)
	return media
}

// takeJSON takes an answer that is one JSON object.
func (h *streamableHTTP) takeJSON(body io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(body, maxMessage+1))
	switch {
	case err != nil:
		return fmt.Errorf("the answer cannot be read: %w", err)
	case len(raw) > maxMessage:
		return fmt.Errorf("the answer is longer than %d bytes", maxMessage)
	}
	h.client.receive(h.client.part.bodyRead(raw))
	return errors.New("the body of the response does not answer the request")
}

// refused takes an answer with another status, which may hold an error for the
// request.
func (h *streamableHTTP) refused(r *request, response *http.Response) error {
	refusal := refusalOf(response)
	m := jsonrpc.Parse([]byte(refusal.reason))
	if failed, isError := m.Error(); isError && m.Kind == jsonrpc.Response &&
		(m.ID == r.id || m.ID == jsonrpc.NoID || m.ID == jsonrpc.NullID) {
		return &rpcError{Code: failed.Code, Message: failed.Message, Data: failed.Data}
	}
	return refusal
}

// refusalOf reads why the server refuses.
func refusalOf(response *http.Response) *statusError {
	reason, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // as much as there is
	return &statusError{response.StatusCode, string(bytes.TrimSpace(reason))}
}

// post sends one message.
func (h *streamableHTTP) post(
	ctx context.Context,
	to string,
	text []byte,
	headers http.Header,
) (*http.Response, error) {
	headers.Set("Content-Type", jsonMedia)
	headers.Set("Accept", jsonMedia+", "+eventStreamMedia)
	return h.do(ctx, http.MethodPost, to, text, headers)
}

// do sends a request over HTTP.
func (h *streamableHTTP) do(
	ctx context.Context, method, to string, body []byte, headers http.Header,
) (*http.Response, error) {
	sent, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	sent.Header = headers
	return h.http.Do(sent)
}

// headersOf are the headers of a request, beside those of any message.
func (h *streamableHTTP) headersOf(r *request) http.Header {
	headers := h.headers()
	if r.method == "initialize" {
		return h.client.part.headersOfInitialize(h) // it belongs to no session, and no version is agreed on
	}
	if meta, _ := r.params["_meta"].(object); meta[metaVersion] != nil {
		headers.Set(versionHeader, fmt.Sprint(meta[metaVersion]))
		maps.Copy(headers, standardHeaders(r))
		maps.Copy(headers, r.headers)
	}
	return headers
}

// headers are those of any message once it is known what is spoken.
func (h *streamableHTTP) headers() http.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	headers := http.Header{}
	if h.version >= Revision20250618 {
		headers.Set(versionHeader, h.version)
	}
	if h.session != "" {
		headers.Set(sessionHeader, h.session)
	}
	return headers
}

// send sends what is not answered.
func (h *streamableHTTP) send(ctx context.Context, message []byte) error {
	if older := h.replacement(); older != nil {
		return older.send(ctx, message)
	}
	h.settled(ctx)
	session := h.sessionID()
	response, err := h.post(ctx, h.client.part.address(h.client.options.URL), message, h.headers())
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotFound && session != "" && h.client.part.renews("") {
		// What belonged to the old session means nothing in the new one.
		return h.renew(ctx, session)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(response)
	}
	h.client.part.acceptedPost(h, response)
	return nil
}

// agreed says what is spoken from now on.
func (h *streamableHTTP) agreed(revision string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version = revision
}

func (h *streamableHTTP) knows(*request) bool { return true }

func (h *streamableHTTP) cancelsByClosing() bool { return true }

// close ends the session, and all open streams.
func (h *streamableHTTP) close() {
	if h.sessionID() != "" {
		h.client.part.endSession(h)
	}
	older := h.replacement()
	if older != nil && !h.client.part.closesHTTPSSE() {
		return
	}
	h.stop()
	if older != nil {
		older.close()
	}
	h.http.CloseIdleConnections()
}
