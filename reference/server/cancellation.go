// Page basic/utilities/cancellation: giving up a request, in either direction.

package server

import (
	"encoding/json"
	"errors"
)

var errCancelled = errors.New("cancelled by the client")

// cancelled stops a request of the client, which is then not answered. What
// names no request in flight is ignored: it may have crossed the answer.
func (f *inFlight) cancelled(raw json.RawMessage) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    string          `json:"reason,omitempty"`
	}
	if decode(raw, &params, "params") != nil {
		return
	}
	f.mu.Lock()
	c, known := f.calls[requestID(params.RequestID).key()]
	f.mu.Unlock()
	if known {
		c.server.log.Printf("request %s is cancelled: %q", c.id, params.Reason)
		c.cancel(errCancelled)
	}
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
