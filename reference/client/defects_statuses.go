// Deliberate mistakes in what the statuses of HTTP, and its headers, mean.

package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// brokenByRefusal gives up the connection when one request is refused.
func brokenByRefusal(h *streamableHTTP, r *request, _ *http.Response) {
	if r.method == "tools/call" {
		hangsUp(h.client)
	}
}

// hangsAtNullError waits for an error that is about the request it was sent for.
func hangsAtNullError(h *streamableHTTP, r *request, response *http.Response) {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // as much as there is
	response.Body = io.NopCloser(bytes.NewReader(body))
	if r.method == "tools/call" && jsonrpc.Parse(body).Kind == jsonrpc.Response {
		<-h.ctx.Done()
	}
}

// hangsAtRefusal waits for an answer to a request that was refused.
func hangsAtRefusal(h *streamableHTTP, r *request, _ *http.Response) {
	if r.method == "tools/call" {
		<-h.ctx.Done()
	}
}

// waitsInOldSession leaves a request unanswered to whose session the server answers 404.
func waitsInOldSession(c *client) {
	c.part.renews = func(string) bool { return false }
	c.part.refusedPost = func(h *streamableHTTP, _ *request, response *http.Response) {
		if response.StatusCode == http.StatusNotFound && h.sessionID() != "" {
			<-h.ctx.Done()
		}
	}
}

// wants takes a message for refused that is accepted with another status.
func wants(status int) func(*http.Response) error {
	return func(response *http.Response) error {
		if response.StatusCode != status {
			return &statusError{code: response.StatusCode}
		}
		return nil
	}
}

// takesSessionOfRefusals takes the session id of a refusal for that of the session to come.
func takesSessionOfRefusals(c *client) {
	c.part.headersOfInitialize = renewsWithOldSession
	c.part.refusedPost = func(h *streamableHTTP, r *request, response *http.Response) {
		if r.method == "server/discover" {
			h.begin(response.Header.Get(sessionHeader))
		}
	}
}

// insistsOnDeletion takes it for a failure when the server refuses to end its session, but
// by one status.
func insistsOnDeletion(but int) func(*streamableHTTP) {
	return func(h *streamableHTTP) { insistOnDeletion(h, but) }
}

func insistOnDeletion(h *streamableHTTP, but int) {
	ending, err := http.NewRequestWithContext(h.ctx, http.MethodDelete, h.client.options.URL, nil)
	if err != nil {
		return
	}
	ending.Header = h.headers()
	response, err := h.http.Do(ending)
	if err != nil {
		return
	}
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest && response.StatusCode != but {
		h.client.report.err = fmt.Errorf("the session cannot be ended: %s", response.Status)
	}
}

var fewLetters = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// takesFewLetters knows session ids by the letters that those of most servers have.
func takesFewLetters(id string) error {
	if !fewLetters.MatchString(id) {
		return fmt.Errorf("invalid session id %q", id)
	}
	return nil
}

// hangsUpAtMedia breaks off at a media type where nothing is to be read.
func hangsUpAtMedia(h *streamableHTTP, response *http.Response) {
	if response.Header.Get("Content-Type") != "" {
		hangsUp(h.client)
	}
}

// hangsUpAtNoMedia ends the connection at a 202 that does not say what it has.
func hangsUpAtNoMedia(h *streamableHTTP, response *http.Response) {
	if response.Header.Get("Content-Type") == "" {
		hangsUp(h.client)
	}
}

var errUnreadable = errors.New("the answer has neither a result nor an error")

// takesRequestsForAnswers goes by the id of what comes alone.
func takesRequestsForAnswers(c *client, m jsonrpc.Message) jsonrpc.Kind {
	if m.Kind != jsonrpc.Request {
		return m.Kind
	}
	c.mu.Lock()
	r := c.open[m.ID]
	c.mu.Unlock()
	if r == nil {
		return m.Kind
	}
	r.finish(nil, errUnreadable)
	return jsonrpc.Response
}

// oldestOpen takes each answer for that to the request which waits for the longest time.
// The caller holds c.mu.
func oldestOpen(c *client, _ jsonrpc.ID) *request {
	for id := range c.lastID {
		if r := c.open[jsonrpc.IntID(id+1)]; r != nil && !r.isAnswered() {
			return r
		}
	}
	return nil
}
