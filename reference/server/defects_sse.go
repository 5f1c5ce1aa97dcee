// Deliberate mistakes of the transport HTTP with SSE.

package server

import (
	"net/http"
	"sync"
)

// sseDefects make the transport bad in one way each.
var sseDefects = map[string]func(*httpSSE){
	"sse-endpoint-misnamed": sseEndpoint("endpoints", sseEndpointOf),
	"sse-endpoint-as-json": sseEndpoint(
		"endpoint",
		func(id string) string { return `{"uri":"` + sseEndpointOf(id) + `"}` },
	),
	"sse-endpoint-of-a-file": sseEndpoint("endpoint", func(string) string { return "file:///messages" }),
	"sse-endpoint-unserved":  sseEndpoint("endpoint", func(string) string { return "/elsewhere" }),

	"sse-stream-ends":       func(h *httpSSE) { h.opened = func(c *sseClient) { c.stream.close() } },
	"sse-messages-misnamed": func(h *httpSSE) { h.name = "mcp" },
	"sse-accepts-with-200":  func(h *httpSSE) { h.accepted = http.StatusOK },
	"sse-one-client":        func(h *httpSSE) { h.most = 1 },
	"sse-trusts-streams":    func(h *httpSSE) { h.admitStream = func(*http.Request) *refusal { return nil } },
	"sse-trusts-posts":      func(h *httpSSE) { h.admitPost = func(*http.Request) *refusal { return nil } },
	"sse-answers-twice": func(h *httpSSE) {
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			out := &bothOutlet{sseClient: c}
			call := c.begin(m, out)
			<-call.ctx.Done() // which ends with it
			out.mu.Lock()
			defer out.mu.Unlock()
			writeJSON(w, http.StatusOK, out.last)
		}
	},
}

// bothOutlet carries messages on the stream, and keeps the last for the body of the POST.
type bothOutlet struct {
	*sseClient

	mu   sync.Mutex
	last []byte
}

func (o *bothOutlet) send(message []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = message
	return o.sseClient.send(message)
}

// sseEndpoint begins streams with an event of some name and data.
func sseEndpoint(name string, data func(session string) string) func(*httpSSE) {
	return func(h *httpSSE) {
		h.endpoint = func(session string) event {
			return event{name: name, message: []byte(data(session))}
		}
	}
}
