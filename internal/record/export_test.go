package record

// Hung is closed when a session has been made to hang.
func (h *HTTP) Hung(session string) <-chan struct{} {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	return h.sessions.known[session].alive.Done()
}
