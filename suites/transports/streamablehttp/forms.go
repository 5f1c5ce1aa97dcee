package streamablehttp

import (
	"maps"
	"net/http"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// inAnyForm checks that a POST is served whichever form HTTP gives its head and its body.
func inAnyForm() {
	It("accepts Content-Type: application/json with a parameter", Verifies("transports.http.request.forms"), ByBarrier(), func(t *T) {
		demandAccepted(t, transport.Request{}, WithHeader("Content-Type", "application/json; charset=utf-8"))
	})

	It("accepts Content-Type: application/json in any case", Verifies("transports.http.request.forms"), ByBarrier(), func(t *T) {
		demandAccepted(t, transport.Request{}, WithHeader("Content-Type", "Application/JSON"))
	})

	It("accepts the media types of Accept in any order", Verifies("transports.http.request.content-type"), ByBarrier(), func(t *T) {
		for _, accept := range []string{"text/event-stream, application/json", "application/json,text/event-stream"} {
			demandAccepted(t, transport.Request{}, WithHeader("Accept", accept))
		}
	})

	It("accepts the media types of Accept with weights", Verifies("transports.http.request.forms"), ByBarrier(), func(t *T) {
		demandAccepted(t, transport.Request{}, WithHeader("Accept", "application/json;q=0.9, text/event-stream;q=0.8, */*;q=0.1"))
	})

	It("accepts the media types of Accept in two header fields", Verifies("transports.http.request.forms"), ByBarrier(), func(t *T) {
		demandAccepted(t, transport.Request{Header: http.Header{"Accept": {"application/json", "text/event-stream"}}})
	})

	It("accepts the names of headers in lower case", Verifies("transports.http.request.forms"), ByBarrier(), func(t *T) {
		server := Session(t)

		given := postSpelled(t, server, identified(t, server, "mcpconform-names-of-headers"), strings.ToLower)

		judgeAccepted(t, server, given)
	})

	inChunks()
}

func inChunks() {
	It("accepts a body in chunks", Verifies("transports.http.request.forms"), ByBarrier(), func(t *T) {
		demandAccepted(t, transport.Request{Piece: 7})
	})

	It("accepts a body in chunks that split characters", Verifies("transports.utf8"), NeedsTransport(protocol.HTTP), ByBarrier(), func(t *T) {
		server := Session(t)
		body := identified(t, server, "mcpconform-🙂-in-chunks")

		response := server.Exchange(transport.Request{
			Method: http.MethodPost, Header: server.HTTP.HeaderOf(http.MethodPost, body), Body: body, Piece: 7,
		})
		if response.Status >= http.StatusBadRequest {
			t.NotApplicable("the server accepts no chunked body, see the result of transports.http.request.forms")
		}
		message := jsonrpc.Parse(response.Body)
		if response.ContentType == eventStream {
			received, err := server.Connection.Await(t, server.Began(), func(received scripted.Received) bool {
				return received.Kind == jsonrpc.Response && received.ID.IsString()
			})
			if err != nil {
				server.Unanswered("a request in chunks", jsonrpc.NoID, err)
			}
			message = received.Message
		}

		t.Demand(message.ID == jsonrpc.Parse(body).ID, "the id of the request", message.ID.String())
	})
}

// demandAccepted posts a request in a form of its own, and judges that it is answered as
// in the plainest one.
func demandAccepted(t *T, form transport.Request, edits ...HeaderEdit) {
	server := Session(t)
	body := anyRequest(t, server)
	header := server.HTTP.HeaderOf(http.MethodPost, body)
	maps.Copy(header, form.Header)
	form.Method, form.Header, form.Body = http.MethodPost, Edited(header, edits...), body

	given := answered(t, server, server.Exchange(form), body)

	if given.Status == http.StatusLengthRequired {
		t.NotApplicable("the server requires Content-Length, which HTTP allows")
	}
	judgeAccepted(t, server, given)
}

func judgeAccepted(t *T, server *Server, given answer) {
	if given.refused() {
		server.NeedUsable("fix the failures of " + BarrierMethod(t) + " first")
	}
	t.DemandOf(given, !given.refused(), "the same answer as in the usual form")
}
