package streamablehttp

import (
	"net/http"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/requests"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// otherEras checks the heading Earlier Streamable HTTP Revisions of the stateless era. A
// server that speaks earlier ones, too, may do what those say.
func otherEras() {
	It("rejects GET with HTTP 405, unless it supports older protocol versions", Verifies("transports.http.older.methods"), func(t *T) {
		mustBeOfOneEra(t)

		response := Session(t).Get(fromOlder)

		t.Expect(response).To(HaveStatus(http.StatusMethodNotAllowed))
	})

	It("rejects DELETE with HTTP 405, unless it supports older protocol versions", Verifies("transports.http.older.methods"), func(t *T) {
		mustBeOfOneEra(t)

		response := Session(t).Delete(fromOlder, WithHeader(scripted.SessionHeader, sessionOfNobody))

		t.Expect(response).To(HaveStatus(http.StatusMethodNotAllowed))
	})

	It("ignores Mcp-Session-Id and assigns none, unless it supports older protocol versions",
		Verifies("transports.http.older.sessions"), ByBarrier(), func(t *T) {
			mustBeOfOneEra(t)
			server := Session(t)
			served := Be("the same answer as without a session id", func(actual any) bool {
				given, isAnswer := actual.(answer)
				return isAnswer && !given.refused()
			})

			InEachMethod(t, served, func(request Harmless) any {
				given := postRequest(t, server, request, fromOlder, WithHeader(scripted.SessionHeader, sessionOfNobody))

				t.Demand(sessionIn(given.Response) == "", "no session id", "the session id "+sessionIn(given.Response))
				return given
			})
		})

	It("ignores Last-Event-ID, unless it supports older protocol versions",
		Verifies("transports.http.stream.not-resumable"), ByBarrier(), func(t *T) {
			mustBeOfOneEra(t)
			server := Session(t)

			given := post(t, server, anyRequest(t, server), fromOlder, WithHeader(scripted.LastEventID, "mcpconform-1"))

			t.DemandOf(given, !given.refused(), "the same answer as without Last-Event-ID")
		})
}

const (
	fromOlder       = "is sent by clients of older revisions"
	sessionOfNobody = "mcpconform-session-of-nobody"
)

// mustBeOfOneEra ends a check of a server that speaks revisions of the handshake era
// too: it says so, or agrees to a handshake.
func mustBeOfOneEra(t *T) {
	for _, revision := range supported(Session(t)) {
		if protocol.Has(revision, protocol.Handshake) {
			t.NotApplicable("the server speaks " + revision + ", too")
		}
	}
	if agreed := Handshakes(t); len(agreed) > 0 {
		t.NotApplicable("the server speaks " + agreed[len(agreed)-1] + ", too: it agrees to a handshake")
	}
}

// supported returns the revisions that a server says it supports.
func supported(server *Server) []string {
	listed := mcp.List(server.Call("server/discover", nil).Need().Result(), "supportedVersions")
	var revisions []string
	for _, revision := range listed {
		if name, isText := revision.(string); isText {
			revisions = append(revisions, name)
		}
	}
	return revisions
}

// handshakeAt returns the revision to which a server agrees when a client of the
// handshake era asks for one; "" when it agrees to none.
func handshakeAt(t *T, revision string) string {
	server := Connect(t)
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {scripted.AcceptBoth}}
	hello := jsonrpc.NewRequest(server.NextID(), "initialize", scripted.Hello(revision, scripted.Nothing()))
	response := server.Exchange(transport.Request{
		Method: http.MethodPost,
		Header: header,
		Body:   hello,
		Note:   "finds out which other revisions the server supports",
	})
	result, _ := answered(t, server, response, hello).message.Result()
	agreed := mcp.Text(result, "protocolVersion")
	return agreed // the client ends a session that it got by this when it closes the connection
}

// sessionIn returns the session id that the head of a response has, or "".
func sessionIn(response *Response) string {
	return http.Header(response.Header).Get(scripted.SessionHeader)
}
