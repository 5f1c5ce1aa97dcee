// Page basic/transports, "Streamable HTTP": one endpoint for everything.

package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// Headers and media types of the transport.
const (
	sessionHeader    = "Mcp-Session-Id"
	versionHeader    = "Mcp-Protocol-Version"
	jsonMedia        = "application/json"
	eventStreamMedia = "text/event-stream"
)

// Bounds of the HTTP transport.
const (
	bodyTimeout   = 30 * time.Second // for reading the body of a POST
	retryAfterAny = 10               // seconds after which a refused client may try again
)

// streamableHTTP is the MCP endpoint, with the sessions of the handshake era.
type streamableHTTP struct {
	server *Server
	newID  func() string // of a session
	// refuseSender keeps out web pages of strangers.
	refuseSender func(*http.Request) *refusal

	mu       sync.Mutex
	sessions map[string]*httpSession // by session id
	closed   bool
}

func newStreamableHTTP(s *Server) *streamableHTTP {
	h := &streamableHTTP{server: s, newID: rand.Text, sessions: map[string]*httpSession{}}
	h.refuseSender = h.checkSender
	return h
}

// A refusal is an answer at the level of HTTP: a status, and the reason.
type refusal struct {
	status int
	reason string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// write answers with the reason as a JSON-RPC error response without id.
func (r *refusal) write(w http.ResponseWriter) {
	if r.status == http.StatusServiceUnavailable || r.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterAny))
	}
	writeJSON(w, r.status, encodeError(Revision20251125, "", &rpcError{Code: codeInvalidRequest, Message: r.reason}))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", jsonMedia)
	w.WriteHeader(status)
	// A client that has left needs no answer.
	_, _ = w.Write(body)
}

// ServeHTTP takes any request to the endpoint.
func (h *streamableHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refused := h.refuseSender(r)
	if refused == nil {
		r, refused = h.server.guard.enter(w, r)
	}
	if refused == nil {
		sessions := len(h.server.handshake) > 0
		switch {
		case r.Method == http.MethodPost:
			refused = h.post(w, r)
		case r.Method == http.MethodGet && sessions:
			refused = h.get(w, r)
		case r.Method == http.MethodDelete && sessions:
			refused = h.delete(w, r)
		default:
			refused = h.wrongMethod(w, r, sessions)
		}
	}
	if refused != nil {
		refused.write(w)
	}
}

func (h *streamableHTTP) wrongMethod(w http.ResponseWriter, r *http.Request, sessions bool) *refusal {
	allowed := "POST"
	if sessions {
		allowed = "POST, GET, DELETE"
	}
	w.Header().Set("Allow", allowed)
	return refuse(http.StatusMethodNotAllowed, "the MCP endpoint takes %s, not %s", allowed, r.Method)
}

// checkSender keeps out web pages of strangers, which a browser on this
// machine may be made to send here by DNS rebinding.
func (h *streamableHTTP) checkSender(r *http.Request) *refusal {
	if origin := r.Header.Get("Origin"); origin != "" && !slices.Contains(h.server.options.AllowedOrigins, origin) {
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || !oauth.Loopback(parsed.Hostname()) {
			return refuse(http.StatusForbidden, "the Origin %q is not allowed here", origin)
		}
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || !oauth.Loopback(hostname(local.String())) {
		return nil
	}
	if !oauth.Loopback(hostname(r.Host)) && !slices.Contains(h.server.options.AllowedHosts, r.Host) {
		return refuse(http.StatusForbidden, "the Host %q is not allowed on a loopback address", r.Host)
	}
	return nil
}

// hostname is the host of HOST or HOST:PORT.
func hostname(hostport string) string {
	return (&url.URL{Host: hostport}).Hostname()
}

// post takes one message of the client.
func (h *streamableHTTP) post(w http.ResponseWriter, r *http.Request) *refusal {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != jsonMedia {
		return refuse(http.StatusUnsupportedMediaType, "the Content-Type of a POST must be %s", jsonMedia)
	}
	if !accepts(r, jsonMedia) || !accepts(r, eventStreamMedia) {
		return refuse(http.StatusNotAcceptable, "the Accept header of a POST must list both %s and %s",
			jsonMedia, eventStreamMedia)
	}
	body, refused := readBody(w, r)
	if refused != nil {
		return refused
	}
	if taken, refused := h.postBatch(w, r, body); taken {
		return refused
	}
	m, malformed := parseMessage(body)
	if refused := h.server.guard.permitted(w, r, m); refused != nil {
		return refused
	}
	if h.server.isStateless(m, r.Header) {
		return h.server.stateless.post(w, r, m, malformed)
	}
	return h.inSession(w, r, m, malformed)
}

// notUnderstood answers a malformed message. What would not be answered if it
// were well formed gets an error without id.
func notUnderstood(w http.ResponseWriter, revision string, m message, malformed *rpcError) *refusal {
	if m.kind != request {
		return refuse(http.StatusBadRequest, "%s", malformed.Message)
	}
	writeJSON(w, http.StatusBadRequest, encodeError(revision, m.id, malformed))
	return nil
}

// accepts tells whether the Accept header lists a media type by name.
func accepts(r *http.Request, mediaType string) bool {
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			if accepted, _, err := mime.ParseMediaType(part); err == nil && accepted == mediaType {
				return true
			}
		}
	}
	return false
}

// header returns a header, and whether it was sent at all.
func header(r *http.Request, name string) (value string, sent bool) {
	values, sent := r.Header[name]
	return strings.Join(values, ", "), sent
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every writer has deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, refuse(http.StatusRequestEntityTooLarge, "%v", errTooLong)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "the body cannot be read: %v", err)
	}
	_ = control.SetReadDeadline(time.Time{}) // event streams stay open
	return body, nil
}
