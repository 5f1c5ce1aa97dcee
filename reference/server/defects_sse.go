// Deliberate mistakes of the transport HTTP with SSE.

package server

import (
	"maps"
	"net/http"
	"slices"
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

	"sse-endpoint-missing":  sseEndpoint("ready", func(string) string { return "{}" }),
	"sse-endpoint-empty":    sseEndpoint("endpoint", func(string) string { return "" }),
	"sse-endpoint-fragment": sseEndpoint("endpoint", func(id string) string { return "#" + id }),

	"sse-stream-missing": func(h *httpSSE) {
		h.admitStream = func(*http.Request) *refusal { return refuse(http.StatusNotFound, "nothing is here") }
	},
	"sse-stream-of-the-last-client": func(h *httpSSE) {
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			c.begin(m, h.newest())
			h.accept(w)
		}
	},
	"sse-stream-lost-with-another": func(h *httpSSE) { h.left = h.closeOthers },
	"sse-streams-end-each-other":   func(h *httpSSE) { h.opened = h.closeOthers },
	"sse-answers-everybody": func(h *httpSSE) {
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			c.begin(m, &everyOutlet{c})
			h.accept(w)
		}
	},
	"sse-pings-answered-in-bodies": func(h *httpSSE) {
		answer := h.answer
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			if m.method != "ping" {
				answer(c, w, m)
				return
			}
			out := &bodyOutlet{sseClient: c, holds: true}
			call := c.begin(m, out)
			<-call.ctx.Done() // which ends with it
			writeJSON(w, http.StatusOK, out.take())
		}
	},
	"sse-unknown-methods-by-status": func(h *httpSSE) {
		answer := h.answer
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			if _, known := h.server.methods[m.method]; !known {
				refuse(http.StatusBadRequest, "unknown method %s", m.method).write(w)
				return
			}
			answer(c, w, m)
		}
	},

	"sse-stream-ended-by-bad-messages": func(h *httpSSE) {
		h.refuse = func(c *sseClient, _ message, _ *rpcError) { c.stream.close() }
	},
	"sse-stream-ends":       func(h *httpSSE) { h.opened = func(c *sseClient) { c.stream.close() } },
	"sse-messages-misnamed": func(h *httpSSE) { h.name = "mcp" },
	"sse-messages-unnamed":  func(h *httpSSE) { h.name = "" },
	"sse-endpoint-relative": sseEndpoint("endpoint", func(id string) string { return sseEndpointOf(id)[1:] }),
	"sse-endpoint-of-many-parts": sseEndpoint("endpoint", func(id string) string {
		return ssePostPath + "?to=a%2Fb%20c&" + sseSession + "=" + id + "&empty="
	}),
	"sse-endpoint-absolute": func(h *httpSSE) {
		h.endpoint = func(r *http.Request, session string) event {
			return event{name: "endpoint", message: []byte("http://" + r.Host + sseEndpointOf(session))}
		}
	},
	"sse-endpoint-of-a-network-path": func(h *httpSSE) {
		h.endpoint = func(r *http.Request, session string) event {
			return event{name: "endpoint", message: []byte("//" + r.Host + sseEndpointOf(session))}
		}
	},
	"sse-endpoint-of-the-stream": func(h *httpSSE) {
		h.posted = SSEPath
		h.endpoint = func(_ *http.Request, session string) event {
			return event{name: "endpoint", message: []byte("?" + sseSession + "=" + session)}
		}
	},
	"sse-accepts-with-200": func(h *httpSSE) { h.accepted = http.StatusOK },
	"sse-one-client":       func(h *httpSSE) { h.most = 1 },
	"sse-trusts-streams":   func(h *httpSSE) { h.admitStream = func(*http.Request) *refusal { return nil } },
	"sse-trusts-posts":     func(h *httpSSE) { h.admitPost = func(*http.Request) *refusal { return nil } },
	"sse-answers-twice": func(h *httpSSE) {
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			out := &bodyOutlet{sseClient: c}
			call := c.begin(m, out)
			<-call.ctx.Done() // which ends with it
			writeJSON(w, http.StatusOK, out.take())
		}
	},
}

// bodyOutlet keeps the response for the body of the POST; what it does not hold back goes out
// on the stream.
type bodyOutlet struct {
	*sseClient

	holds bool

	mu       sync.Mutex
	response []byte
}

func (o *bodyOutlet) send(text []byte) bool {
	if m, _ := parseMessage(text); m.kind == response {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.response = text
	}
	return o.holds || o.sseClient.send(text)
}

func (o *bodyOutlet) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.response
}

// everyOutlet carries messages on the streams of all clients.
type everyOutlet struct{ *sseClient }

func (o *everyOutlet) send(message []byte) bool {
	sent := true
	for _, client := range o.http.all() {
		sent = client.send(message) && sent
	}
	return sent
}

// all are the clients whose streams are open.
func (h *httpSSE) all() []*sseClient {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.clients))
}

// newest is the client whose stream was opened last.
func (h *httpSSE) newest() *sseClient {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest
}

// closeOthers ends the streams of all clients but one.
func (h *httpSSE) closeOthers(but *sseClient) {
	for _, client := range h.all() {
		if client != but {
			client.stream.close()
		}
	}
}

// sseEndpoint begins streams with an event of some name and data.
func sseEndpoint(name string, data func(session string) string) func(*httpSSE) {
	return func(h *httpSSE) {
		h.endpoint = func(_ *http.Request, session string) event {
			return event{name: name, message: []byte(data(session))}
		}
	}
}
