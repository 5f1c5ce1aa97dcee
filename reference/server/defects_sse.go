// Deliberate mistakes of the transport HTTP with SSE.

package server

import (
	"compress/gzip"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// sseDefects make the transport bad in one way each.
var sseDefects = map[string]func(*httpSSE){
	"sse-endpoint-misnamed":  sseBegins("endpoints", "{endpoint}"),
	"sse-endpoint-as-json":   sseEndpoint(`{"uri":"{endpoint}"}`),
	"sse-endpoint-of-a-file": sseEndpoint("file:///messages"),
	"sse-endpoint-unserved":  sseEndpoint("/elsewhere"),
	"sse-endpoint-missing":   sseBegins("ready", "{}"),
	"sse-endpoint-empty":     sseEndpoint(""),
	"sse-endpoint-fragment":  sseEndpoint("#{session}"),

	"sse-stream-missing": func(h *httpSSE) {
		h.admitStream = func(*http.Request) *refusal { return refuse(http.StatusNotFound, "nothing is here") }
	},
	"sse-stream-of-the-last-client": sseAnswers(func(c *sseClient) outlet { return c.http.newest() }),
	"sse-stream-lost-with-another":  func(h *httpSSE) { h.left = h.closeOthers },
	"sse-streams-end-each-other":    func(h *httpSSE) { h.opened = h.closeOthers },
	"sse-answers-everybody":         sseAnswers(func(c *sseClient) outlet { return &everyOutlet{c} }),
	"sse-posts-held": func(h *httpSSE) {
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			c.begin(m, c)
			<-c.ctx.Done() // of the session
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
			(&bodyOutlet{sseClient: c, holds: true}).answer(w, m)
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
	// These are legal.
	"sse-endpoint-relative":          sseEndpoint("messages?session={session}"),
	"sse-endpoint-of-many-parts":     sseEndpoint("/messages?to=a%2Fb%20c&session={session}&empty="),
	"sse-endpoint-absolute":          sseEndpoint("http://{host}{endpoint}"),
	"sse-endpoint-of-a-network-path": sseEndpoint("//{host}{endpoint}"),
	"sse-endpoint-of-all-addresses":  sseEndpoint("http://0.0.0.0{endpoint}"),
	"sse-endpoint-of-another-host":   sseEndpoint("http://stranger.invalid{endpoint}"),
	"sse-endpoint-of-the-stream": func(h *httpSSE) {
		h.posted = func(r *http.Request) (string, bool) {
			return r.URL.Query().Get(sseSession), r.URL.Path == SSEPath && r.Method == http.MethodPost
		}
		sseEndpoint("?session={session}")(h)
	},
	"sse-endpoint-in-the-path": func(h *httpSSE) {
		h.posted = func(r *http.Request) (string, bool) { return strings.CutPrefix(r.URL.Path, ssePostPath+"/") }
		sseEndpoint(ssePostPath + "/{session}")(h)
	},
	"sse-streams-in-gzip": func(h *httpSSE) {
		h.coded = func(w http.ResponseWriter) http.ResponseWriter {
			w.Header().Set("Content-Encoding", "gzip")
			return &gzipped{w, gzip.NewWriter(w)}
		}
	},

	"sse-accepts-with-200": func(h *httpSSE) { h.accepted = http.StatusOK },
	"sse-one-client":       func(h *httpSSE) { h.most = 1 },
	"sse-trusts-streams":   func(h *httpSSE) { h.admitStream = func(*http.Request) *refusal { return nil } },
	"sse-trusts-posts":     func(h *httpSSE) { h.admitPost = func(*http.Request) *refusal { return nil } },
	"sse-answers-twice": func(h *httpSSE) {
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			(&bodyOutlet{sseClient: c}).answer(w, m)
		}
	},
}

// gzipped writes a response that is compressed. It goes out as it comes, and has no end.
type gzipped struct {
	http.ResponseWriter

	to *gzip.Writer
}

func (g *gzipped) Write(text []byte) (int, error) { return g.to.Write(text) }

// FlushError is what http.ResponseController calls.
func (g *gzipped) FlushError() error {
	if err := g.to.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(g.ResponseWriter).Flush()
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

// answer answers a request in the body.
func (o *bodyOutlet) answer(w http.ResponseWriter, m message) {
	call := o.begin(m, o)
	<-call.ctx.Done() // which ends with it
	o.mu.Lock()
	defer o.mu.Unlock()
	writeJSON(w, http.StatusOK, o.response)
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

// sseAnswers sends answers another way.
func sseAnswers(by func(*sseClient) outlet) func(*httpSSE) {
	return func(h *httpSSE) {
		h.answer = func(c *sseClient, w http.ResponseWriter, m message) {
			c.begin(m, by(c))
			h.accept(w)
		}
	}
}

// sseEndpoint names another endpoint, as sseBegins writes it.
func sseEndpoint(data string) func(*httpSSE) { return sseBegins("endpoint", data) }

// sseBegins begins streams with an event of some name and data, in which {endpoint}, {session}
// and {host} stand for those of the client.
func sseBegins(name, data string) func(*httpSSE) {
	return func(h *httpSSE) {
		h.endpoint = func(r *http.Request, session string) event {
			client := strings.NewReplacer("{endpoint}", sseEndpointOf(session), "{session}", session, "{host}", r.Host)
			return event{name: name, message: []byte(client.Replace(data))}
		}
	}
}
