package session

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/reach"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Bearing is the Authorization header of a token.
func Bearing(token string) string { return "Bearer " + token }

// An Attempt is a request to the server that it guards, made otherwise.
type Attempt struct {
	Authorization []string // the fields of the header; nil for none
	Query         string   // added to the URL, as a=b
	Deliberate    string   // what is wrong with it, where something is
}

// TryGuarded makes a request that the server guards, on a fresh connection, and returns the
// connection and the response.
func TryGuarded(t *T, attempt Attempt) (*Server, *Response) {
	server := Connect(t)
	method := GuardedMethod(t)
	if method != "initialize" && t.Has(protocol.Handshake) {
		if _, err := server.Handshake(Hello(t, t.Revision())); err != nil {
			t.Inconclusive("no session: "+err.Error(), "fix the failures under lifecycle first")
		}
	}
	return server, server.SendAttempt(method, attempt)
}

// SendAttempt makes a request of a method in a way of its own, and returns the response.
func (s *Server) SendAttempt(method string, attempt Attempt) *Response {
	request := transport.Request{Method: http.MethodPost, Deliberate: attempt.Deliberate}
	request.Body = s.Opening(method)
	request.Header = s.HTTP.HeaderOf(http.MethodPost, request.Body)
	request.Header["Authorization"] = attempt.Authorization
	if attempt.Query != "" {
		separator := "?"
		if strings.Contains(URL(s.t), "?") {
			separator = "&"
		}
		request.URL = URL(s.t) + separator + attempt.Query
	}
	return s.Exchange(request)
}

// AuthorizedSession returns a connection that is ready for requests with a token of a kind, which
// no other check uses.
func AuthorizedSession(t *T, kind oauth.Kind) *Server {
	environment := environmentOf(t)
	to := environment.Target
	to.Header = http.Header{}
	maps.Copy(to.Header, environment.Target.Header)
	to.Header.Set("Authorization", Bearing(Token(t, kind)))
	name := environment.Process.Name(environment.Revision + "-" + environment.Transport)
	connection, err := reach.Open(&environment.Offer, to, transcript.NewLogIn(environment.Budget, name))
	if err != nil {
		t.Inconclusive(
			"no connection to the server: "+err.Error(),
			"make sure that the server can be reached, then run again",
		)
	}
	server := &Server{Connection: connection, env: environment}
	use(t, server)
	if t.Has(protocol.Handshake) {
		if _, err := server.Handshake(Hello(t, t.Revision())); err != nil {
			t.Inconclusive(
				"no session with "+kind.Says()+": "+err.Error(),
				"make sure that the server accepts such a token",
			)
		}
	}
	return server
}

// Opening writes a request that needs no params but those of a handshake.
func (s *Server) Opening(method string) []byte {
	if method == "initialize" {
		return jsonrpc.NewRequest(s.NextID(), method, Hello(s.t, s.t.Revision()))
	}
	return s.Body(method, nil)
}

// Anonymous carries out a request without a token in the session, if there is one.
func (s *Server) Anonymous(
	method string,
	body []byte,
	deliberate string,
	edits ...HeaderEdit,
) *Response {
	header := s.HTTP.HeaderOf(method, body)
	for _, edit := range edits {
		header.Set(edit.name, edit.value)
	}
	header["Authorization"] = nil
	return s.Exchange(transport.Request{Method: method, Header: header, Body: body, Deliberate: deliberate})
}

// Fetch gets a document by GET without a token.
func Fetch(t *T, address string) *Response {
	server := ConnectAside(t)
	return server.Exchange(transport.Request{
		Method: http.MethodGet, URL: address, Header: http.Header{"Accept": {"application/json"}, "Authorization": nil},
	})
}

// Challenge is that of the scheme Bearer in a response; a response without one has none.
func (r *Response) Challenge() (challenge oauth.Challenge, found bool, flaws []string) {
	return oauth.Bearer(http.Header(r.Header))
}

// Parameter is a parameter of the Bearer challenge; "" where there is none.
func (r *Response) Parameter(name string) string {
	challenge, _, _ := r.Challenge()
	value, _ := challenge.Get(name)
	return value
}

// DescribeChallenge says in words what challenges a response has.
func (r *Response) DescribeChallenge() string {
	return cmp.Or(strings.Join(http.Header(r.Header).Values("WWW-Authenticate"), ", "), "no WWW-Authenticate header")
}

// Object is the body of a response as a JSON object; nil when it is none.
func (r *Response) Object() Object {
	var object Object
	if json.Unmarshal(r.Body, &object) != nil {
		return nil
	}
	return object
}

// Contactable tells whether the harness may send something to an address that the target
// named.
func Contactable(t *T, address string) bool { return environmentOf(t).Contactable(address) }
