package record

import (
	"net/http"

	"github.com/mcpconform/mcpconform/internal/sessions"
)

// Hung is closed when a session has been made to hang.
func (h *HTTP) Hung(session string) <-chan struct{} {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	c, _, _ := h.sessions.named.Of("", "", http.Header{sessions.Header: {session}})
	return c.alive.Done()
}
