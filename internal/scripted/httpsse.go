package scripted

import (
	"net/http"
	"net/url"

	"github.com/mcpconform/mcpconform/internal/transport"
)

// olderPath is where a server of the transport HTTP+SSE takes messages.
const olderPath = "/older/messages"

// OverHTTPSSE lets the server speak the transport HTTP+SSE of 2024-11-05 instead of
// Streamable HTTP: a GET opens a stream, whose first event names the endpoint to which
// the client posts its messages; they are answered on the stream. What is posted to
// the URL of the stream is refused.
func (s *Server) OverHTTPSSE() {
	s.single = true
	s.OnExchange(func(exchange *Exchange) bool {
		post := exchange.Request.Method == http.MethodPost
		switch {
		case post && exchange.Request.URL.Path == olderPath:
			exchange.Answer(http.StatusAccepted, nil, nil, "")
			s.dispatch(exchange.Session, exchange.Body, nil)
		case exchange.Request.Method == http.MethodGet && exchange.Request.URL.Path != olderPath:
			exchange.Write(transport.EventText(nil, "endpoint", []byte(olderPath)), "")
			exchange.Session.listen(exchange)
		default:
			exchange.Answer(http.StatusMethodNotAllowed, map[string]string{"Allow": http.MethodGet}, nil, "")
		}
		return true
	})
}

// IsOlderEndpoint tells whether an address is that to which such a server wants messages.
func IsOlderEndpoint(address string) bool {
	at, err := url.Parse(address)
	return err == nil && at.Path == olderPath
}
