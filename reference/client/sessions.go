// Page basic/transports, "Streamable HTTP", up to 2025-11-25: sessions, and
// streams that are taken up again.

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// maxResumptions bounds how often a stream is taken up again without any news.
const maxResumptions = 5

// maxRenewals bounds how often a session is begun anew.
const maxRenewals = 8

// A renewal marks what is done to begin a new session.
type renewal struct{}

// sessionID is the id of the session, "" where there is none.
func (h *streamableHTTP) sessionID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// begin notes the id that the server has given to the session.
func (h *streamableHTTP) begin(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session = h.client.part.nextSessionID(h.session, session)
}

// follow reads the stream that answers a request. When the connection ends
// before the answer is there, the stream is taken up again after its last event.
func (h *streamableHTTP) follow(ctx context.Context, r *request, body io.Reader) error {
	stream := newEvents(h.client.part.framing, body, nil)
	for attempt := 0; ; attempt++ {
		before := stream.lastID
		err := h.drain(stream, r)
		if r.isAnswered() || errors.Is(err, errTooLong) {
			return err
		}
		if stream.lastID != before {
			attempt = 0
		}
		if stream.lastID == "" || attempt >= maxResumptions || h.client.stateless() {
			return fmt.Errorf("the stream that was to answer %s ended without an answer: %w", r.method, err)
		}
		if err := h.client.part.waitsToReconnect(ctx, h.retryAfter(stream)); err != nil {
			return err
		}
		if r.isAnswered() {
			return nil // answered meanwhile over another stream
		}
		response, err := h.get(ctx, stream.lastID)
		if err != nil {
			return fmt.Errorf("the stream that was to answer %s cannot be taken up again: %w", r.method, err)
		}
		defer func() { _ = response.Body.Close() }()
		stream = newEvents(h.client.part.framing, response.Body, stream)
	}
}

// drain gives the messages of a stream to the client, until it ends or the
// request that it belongs to, if any, is answered.
func (h *streamableHTTP) drain(stream *events, r *request) error {
	next := stream.next
	if r != nil {
		next = h.client.part.readsStream(stream)
	}
	for {
		one, err := next()
		if err != nil {
			return err
		}
		if len(one.data) > 0 && one.carries() {
			h.client.receive(one.data)
		}
		if r != nil && r.isAnswered() && !r.given.Load() {
			return nil
		}
	}
}

// retryAfter is how long to wait before a stream is taken up again.
func (h *streamableHTTP) retryAfter(stream *events) time.Duration {
	if stream.retry >= 0 {
		return stream.retry
	}
	return h.client.options.Timeouts.Reconnect
}

// get asks for a stream: a new one or, after an event, the one that it was of.
func (h *streamableHTTP) get(ctx context.Context, lastID string) (*http.Response, error) {
	method := http.MethodGet
	if lastID != "" {
		method = h.client.part.resumesBy()
	}
	headers := h.headers()
	headers.Set("Accept", eventStreamMedia)
	if lastID != "" {
		headers.Set(lastEventHeader, lastID)
	}
	response, err := h.do(ctx, method, h.client.options.URL, nil, headers)
	if err != nil {
		return nil, err
	}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode != http.StatusOK:
		err = refusalOf(response)
	case media != eventStreamMedia:
		err = fmt.Errorf("a stream was asked for, but %q came", media)
	default:
		return response, nil
	}
	return nil, errors.Join(err, response.Body.Close())
}

// hear listens to what the server says of itself.
func (h *streamableHTTP) hear() {
	if h.replacement() != nil {
		return
	}
	ctx, written := untilWritten(h.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.listen(ctx, h.sessionID())
	}()
	select {
	case <-written: // so that nothing comes before it that is said later
	case <-ended:
	}
}

// listen goes on for as long as the session lasts and the server offers a stream.
func (h *streamableHTTP) listen(ctx context.Context, session string) {
	var stream *events
	for attempt := 0; attempt <= maxResumptions; attempt++ {
		lastID := ""
		if stream != nil {
			lastID = stream.lastID
		}
		response, err := h.get(ctx, lastID)
		if err != nil {
			status, refused := errors.AsType[*statusError](err)
			if refused && status.code == http.StatusNotFound && session != "" && h.client.part.renews("") {
				err = h.renew(h.ctx, session)
			}
			h.client.log.Printf("no stream of the server: %v", err)
			h.client.part.streamRefused(h.client)
			return
		}
		stream = newEvents(h.client.part.framing, response.Body, stream)
		err = h.drain(stream, nil)
		_ = response.Body.Close()
		if stream.lastID != lastID {
			attempt = 0
		}
		if h.ctx.Err() != nil || h.sessionID() != session {
			return
		}
		h.client.log.Printf("the stream of the server has ended: %v", err)
		if h.client.part.waitsToReconnect(h.ctx, h.retryAfter(stream)) != nil {
			return
		}
	}
}

// againInNewSession sends a request once more, since the session that it was of
// is no more. A cursor is of no use in a new session.
func (h *streamableHTTP) againInNewSession(r *request, lost string) error {
	if err := h.renew(r.ctx, lost); err != nil {
		return fmt.Errorf("the session is over, and no new one began: %w", err)
	}
	if r.params["cursor"] != nil && h.client.part.restartsList() {
		return errBeginAnew
	}
	r.moved.Store(true)
	again, err := h.client.request(r.ctx, question{method: r.method, params: r.params, again: true})
	r.finish(again, err)
	return err
}

// renew begins a new session in place of one that the server has ended. If several
// requests find that out, only the first begins one.
func (h *streamableHTTP) renew(ctx context.Context, lost string) error {
	if ctx.Value(renewal{}) != nil {
		return errors.New("the new session is over before it began")
	}
	h.renewing.Lock()
	defer h.renewing.Unlock()
	if h.sessionID() != lost {
		return nil
	}
	if err := h.countRenewal(); err != nil {
		return err
	}
	h.client.log.Printf("the server has ended the session %s: a new one is begun", lost)
	return h.beginAnew()
}

// countRenewal refuses one that is too many.
func (h *streamableHTTP) countRenewal() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.renewals++; h.renewals > maxRenewals {
		return fmt.Errorf("the server has ended more than %d sessions", maxRenewals)
	}
	return nil
}

// beginAnew begins a session in place of another. The caller holds h.renewing.
func (h *streamableHTTP) beginAnew() error {
	h.client.mu.Lock()
	h.client.sessions++
	revision := h.client.revision
	h.client.mu.Unlock()
	return h.client.part.reopens(context.WithValue(h.ctx, renewal{}, true), h, revision)
}

// reopens begins a new session at the revision that the server is known to speak.
func reopens(ctx context.Context, h *streamableHTTP, revision string) error {
	return h.client.initialize(ctx, revision)
}

// settled waits while a new session is begun in place of another: what is said
// meanwhile would belong to neither.
func (h *streamableHTTP) settled(ctx context.Context) {
	if ctx.Value(renewal{}) != nil {
		return
	}
	h.renewing.Lock()
	defer h.renewing.Unlock()
}

// endSession tells the server that the session is not needed any more. Not every
// server lets clients do so.
func endSession(h *streamableHTTP) {
	ctx, stop := context.WithTimeout(h.ctx, farewell)
	defer stop()
	response, err := h.do(ctx, http.MethodDelete, h.client.options.URL, nil, h.headers())
	if err != nil {
		h.client.log.Printf("cannot end the session: %v", err)
		return
	}
	_ = response.Body.Close()
	h.client.log.Printf("the session is ended, with the HTTP status %d", response.StatusCode)
}
