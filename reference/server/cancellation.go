// Page basic/utilities/cancellation: giving up a request, in either direction.

package server

import (
	"encoding/json"
	"errors"
)

var errCancelled = errors.New("cancelled by the client")

// cancelled stops a request of the client, which is then not answered. What
// names no request in flight is ignored: it may have crossed the answer.
func (s *session) cancelled(raw json.RawMessage) {
	if c, reason := cancelledCall(raw, s.find); c != nil {
		s.logf("request %s is cancelled: %q", c.id, reason)
		c.cancel(errCancelled)
	}
}

// notified takes a notification of the stateless era: only this one means
// anything. Over HTTP the client closes the response stream instead.
func (n *connection) notified(m message) {
	if m.method != "notifications/cancelled" {
		return
	}
	if c, reason := cancelledCall(m.params, n.find); c != nil {
		n.server.log.Printf("request %s is cancelled: %q", c.id, reason)
		c.cancel(errCancelled)
	}
}

// cancelledCall finds the call that a notification cancels, or nil.
func cancelledCall(raw json.RawMessage, find func(requestID) (*call, bool)) (c *call, reason string) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    string          `json:"reason,omitempty"`
	}
	if decode(raw, &params, "params") == nil {
		c, _ = find(requestID(params.RequestID))
	}
	return c, params.Reason
}

// find returns the call for a request in flight.
func (s *session) find(id requestID) (*call, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, inFlight := s.calls[id.key()]
	return c, inFlight
}

// encodeCancelled tells the client that a request of the server is given up.
// It belongs to the same task as the request, if any.
func encodeCancelled(id int64, reason string, requestParams object) []byte {
	params := object{"requestId": id, "reason": reason}
	if meta, related := requestParams["_meta"]; related {
		params["_meta"] = meta
	}
	return encodeNotification("notifications/cancelled", params)
}
