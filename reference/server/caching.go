// Page server/utilities/caching, from 2026-07-28: how long results stay fresh.

package server

import (
	"encoding/json"
	"time"
)

// hints say for how long a client may keep a result, and for whom.
type hints struct {
	fresh time.Duration
	scope string
}

var (
	aboutServer         = &hints{time.Hour, "public"}
	lists               = &hints{5 * time.Minute, "public"}
	contentsOfResources = &hints{0, "private"} // they change, and may have needed input
)

// cached gives the results of a method their hints.
func (m method) cached(as *hints) method {
	m.hints = as
	return m
}

// withHints adds the hints of the method to a complete result.
func (x *exchange) withHints(result map[string]json.RawMessage) map[string]json.RawMessage {
	if given := x.handler.hints; given != nil {
		result["ttlMs"] = encode(given.fresh.Milliseconds())
		result["cacheScope"] = encode(given.scope)
	}
	return result
}
