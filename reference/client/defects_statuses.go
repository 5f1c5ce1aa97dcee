// Deliberate mistakes in what the statuses of HTTP, and its headers, mean.

package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// afterRefusal does what a client with a defect does when a request was refused: nothing, in a
// good client.
func (h *streamableHTTP) afterRefusal(r *request, response *http.Response) {
	c := h.client
	calls := r.method == "tools/call"
	waits := false // for an answer that never comes
	switch {
	case c.has("broken-by-refusals") && calls:
		hangsUp(c)
	case c.has("hangs-at-refusals"):
		waits = calls
	case c.has("hangs-at-null-errors"):
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // as much as there is
		response.Body = io.NopCloser(bytes.NewReader(body))
		waits = calls && jsonrpc.Parse(body).Kind == jsonrpc.Response
	case c.has("waits-in-old-session"):
		waits = response.StatusCode == http.StatusNotFound && h.sessionID() != ""
	case c.has("takes-session-of-refusals") && r.method == "server/discover":
		h.begin(response.Header.Get(sessionHeader))
	}
	if waits {
		<-h.ctx.Done()
	}
}

var fewLetters = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// afterAcceptance does what a client with a defect does when a message was accepted that is no
// request.
func (h *streamableHTTP) afterAcceptance(response *http.Response) {
	hasMedia := response.Header.Get("Content-Type") != ""
	if hasMedia && h.client.has("hangs-up-at-accepted-media") ||
		!hasMedia && h.client.has("hangs-up-at-bare-acceptance") {
		hangsUp(h.client)
	}
}

// renews tells whether a request may begin a new session, "" one without a request.
func (c *client) renews(method string) bool {
	switch c.options.Defect {
	case "keeps-old-session", "waits-in-old-session":
		return false
	case "keeps-old-session-for-reads":
		return method != "resources/read"
	case "keeps-old-session-for-calls":
		return method != "tools/call"
	}
	return true
}

var errUnreadable = errors.New("the answer has neither a result nor an error")

// takesForAnswer goes by the id of what comes alone.
func (c *client) takesForAnswer(m jsonrpc.Message) bool {
	c.mu.Lock()
	r := c.open[m.ID]
	c.mu.Unlock()
	if r != nil {
		r.finish(nil, errUnreadable)
	}
	return r != nil
}

// oldestOpen is the request which waits for the longest time. The caller holds c.mu.
func (c *client) oldestOpen() *request {
	for id := range c.lastID {
		if r := c.open[jsonrpc.IntID(id+1)]; r != nil && !r.isAnswered() {
			return r
		}
	}
	return nil
}
