// Page basic/transports/streamable-http, from 2026-07-28: one request, one
// response.

package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// post takes one message of the stateless era.
func (e *stateless) post(w http.ResponseWriter, r *http.Request, m message, malformed *rpcError) *refusal {
	switch {
	case malformed != nil:
		return notUnderstood(w, Revision20260728, m, malformed)
	case m.kind == notification:
		return e.take(w, r)
	case m.kind == response:
		return refuse(http.StatusBadRequest, "a response answers nothing: this server asks by its results")
	}
	n := e.connect()
	defer n.stop()
	if err := n.checkHeaders(r, m); err != nil {
		writeJSON(w, err.status, encodeError(Revision20260728, m.id, err))
		return nil
	}
	n.answer(w, r, m)
	return nil
}

// take accepts any notification: none means anything here.
func (e *stateless) take(w http.ResponseWriter, r *http.Request) *refusal {
	if version, sent := header(r, versionHeader); sent && !slices.Contains(e.revisions, version) {
		return refuse(http.StatusBadRequest, "the MCP-Protocol-Version %q is not supported, only %s",
			version, strings.Join(e.revisions, " and "))
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// answer handles a request: with JSON when the answer is at hand and nothing
// else is to be said, or else with an event stream. A client that closes the
// stream has cancelled the request.
func (n *connection) answer(w http.ResponseWriter, r *http.Request, m message) {
	stream := newEventStream("", func() {})
	c := n.begin(m, stream)
	if answer, only := stream.onlyMessage(); only && !c.tookTime() {
		writeJSON(w, statusOf(c), answer)
		return
	}
	stop := context.AfterFunc(r.Context(), func() { n.abandoned(c) })
	stream.serve(r.Context(), w, 0, false)
	if stop() {
		c.cancel(errCancelled) // it is over, or this client is too slow to hear of it
	}
}

// statusOf is the status of the response to a call that is finished.
func statusOf(c *call) int {
	if failed := c.era.(*exchange).failed; failed != nil && failed.status != 0 {
		return failed.status
	}
	return http.StatusOK
}
