package scripted

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// StreamPath ends the path of the URL at which a server of the transport HTTP+SSE opens its
// stream, and MessagesPath that of the one at which it takes messages.
const (
	StreamPath   = "/sse"
	MessagesPath = "/messages"
)

// PathOver ends the path of the URL that a client is given.
func PathOver(transport protocol.Transport) string {
	if transport.SharesStream() {
		return StreamPath
	}
	return Endpoint
}

// sessionParameter is the one of an endpoint by which its session is known.
const sessionParameter = "session"

// PlainEndpoint is what the endpoint event says unless a style says otherwise: a path of the
// origin, as almost every server of HTTP+SSE writes it. In its place stand {origin}, {folder},
// of the URL of the stream up to its last slash, and {session}.
const PlainEndpoint = "{folder}messages?" + sessionParameter + "={session}"

// OverHTTPSSE lets the server speak the transport HTTP+SSE of 2024-11-05 instead of
// Streamable HTTP: each GET opens the stream of a session, whose first event names the
// endpoint to which the client posts its messages; they are answered on the stream. What is
// posted elsewhere is refused.
func (s *Server) OverHTTPSSE() { s.httpSSE = true }

// IsOlderEndpoint tells whether an address is one to which such a server wants messages.
func IsOlderEndpoint(address string) bool {
	at, err := url.Parse(address)
	return err == nil && strings.HasSuffix(at.Path, MessagesPath)
}

// exchangeOverHTTPSSE does what a good server of HTTP+SSE does with an HTTP request.
func (s *Server) exchangeOverHTTPSSE(exchange *Exchange) {
	session, request := exchange.Session, exchange.Request
	post := request.Method == http.MethodPost
	switch {
	case post && session.takesMessages(request.URL):
		if accept := s.Style.Accept; accept != nil {
			accept(exchange)
		} else {
			exchange.Answer(http.StatusAccepted, nil, nil, "")
		}
		s.dispatch(session, exchange.Body, nil)
	case opensStream(request):
		session.openStream(exchange)
	case post && strings.HasSuffix(request.URL.Path, MessagesPath):
		exchange.Answer(http.StatusNotFound, nil, nil, "")
	case post:
		exchange.Answer(http.StatusMethodNotAllowed, map[string]string{"Allow": http.MethodGet}, nil, "")
	default:
		exchange.Answer(http.StatusMethodNotAllowed, map[string]string{"Allow": http.MethodPost}, nil, "")
	}
}

// opensStream tells whether a request is one for a stream of HTTP+SSE.
func opensStream(request *http.Request) bool {
	return request.Method == http.MethodGet && !strings.HasSuffix(request.URL.Path, MessagesPath)
}

// openStream opens the stream of the session, and names its endpoint.
func (s *Session) openStream(exchange *Exchange) {
	style := &s.Server.Style
	at := &url.URL{Scheme: "http", Host: exchange.Request.Host, Path: exchange.Request.URL.Path}
	form := style.Endpoint
	if form == "" {
		form = PlainEndpoint
	}
	folder, _ := path.Split(at.Path)
	reference := strings.NewReplacer(
		"{origin}", "http://"+at.Host, "{folder}", folder, "{session}", s.ID(),
	).Replace(form)
	endpoint, err := at.Parse(reference)
	if err != nil {
		panic("scripted: the endpoint " + strconv.Quote(form) + " is no URI reference")
	}
	s.mu.Lock()
	s.endpoint = endpoint
	s.mu.Unlock()
	exchange.told.Store(true) // what a stream begins with comes before the endpoint
	text := transport.EventText(nil, transport.EndpointEvent, []byte(reference))
	if style.EndpointEvent != nil {
		text = style.EndpointEvent(reference)
	}
	s.listen(exchange) // first: the client posts as soon as it has read where to
	exchange.Write(append(slices.Clip(style.Begin), text...), "")
}

// takesMessages tells whether a request is for the endpoint that the stream has named, and
// the stream is still there.
func (s *Session) takesMessages(at *url.URL) bool {
	s.mu.Lock()
	endpoint := s.endpoint
	s.mu.Unlock()
	return endpoint != nil && at.RequestURI() == endpoint.RequestURI() && s.Hears()
}

// hadStream tells whether the client has been told an endpoint.
func (s *Session) hadStream() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoint != nil
}
