package authorization

import (
	"net/http"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// attempt is a request to a server that it guards, made otherwise.
type attempt struct {
	Authorization []string // the fields of the header; nil for none
	Query         string   // added to the URL, as a=b
	Deliberate    string   // what is wrong with it, where something is
}

// tryGuarded makes a request that the server guards, on a fresh connection, and returns the
// response.
func tryGuarded(t *T, made attempt) *Response {
	server := Connect(t)
	method := GuardedMethod(t)
	if method != "initialize" && t.Has(protocol.Handshake) {
		if _, err := server.Handshake(Hello(t, t.Revision())); err != nil {
			t.Inconclusive("no session: "+err.Error(), "fix the failures under lifecycle first")
		}
	}
	return sendAttempt(t, server, method, made)
}

// sendAttempt makes a request of a method in a way of its own, and returns the response.
func sendAttempt(t *T, server *Server, method string, made attempt) *Response {
	request := transport.Request{Method: http.MethodPost, Deliberate: made.Deliberate}
	request.Body = opening(t, server, method)
	request.Header = server.HTTP.HeaderOf(http.MethodPost, request.Body)
	request.Header["Authorization"] = made.Authorization
	if made.Query != "" {
		separator := "?"
		if strings.Contains(URL(t), "?") {
			separator = "&"
		}
		request.URL = URL(t) + separator + made.Query
	}
	return server.Exchange(request)
}

// opening writes a request that needs no params but those of a handshake.
func opening(t *T, server *Server, method string) []byte {
	if method == "initialize" {
		return jsonrpc.NewRequest(server.NextID(), method, Hello(t, t.Revision()))
	}
	return server.Body(method, nil)
}

// anonymous carries out a request without a token in the session, if there is one.
func anonymous(
	server *Server,
	method string,
	body []byte,
	deliberate string,
	edits ...HeaderEdit,
) *Response {
	header := Edited(server.HTTP.HeaderOf(method, body), edits...)
	header["Authorization"] = nil
	return server.Exchange(transport.Request{Method: method, Header: header, Body: body, Deliberate: deliberate})
}

// fetch gets a document by GET without a token.
func fetch(t *T, address string) *Response {
	server := ConnectAside(t)
	return server.Exchange(transport.Request{
		Method: http.MethodGet, URL: address, Header: http.Header{"Accept": {"application/json"}, "Authorization": nil},
	})
}
