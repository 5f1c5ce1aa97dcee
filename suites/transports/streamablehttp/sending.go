package streamablehttp

import (
	"context"
	"errors"

	"github.com/onsi/gomega/types"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// sending checks the heading Sending Messages to the Server.
func sending() {
	It("accepts a notification with HTTP 202 and no body", Verifies("transports.http.notification.accepted"),
		func(ctx SpecContext) {
			server := Session(ctx)
			mark := server.Mark()

			response := server.Post(ctx, harmless(), "")

			turnedDown := refused(ctx, server, mark, response)
			switch {
			case turnedDown && !RevisionHas(protocol.RootsListChanged):
				NotApplicable(
					"the server accepts no notification over HTTP, and need not at this revision: " + response.Describe(),
				)
			case turnedDown:
				Inconclusive("the server does not accept notifications/roots/list_changed: "+response.Describe(),
					"find out why it rejects a notification that the client declared, then run again")
			}
			Expect(response).To(beTaken())
		})

	// Later clients send no responses.
	It(
		"accepts a response with HTTP 202 and no body",
		Verifies("transports.http.notification.accepted"),
		AtRevisionsWith(protocol.ServerRequests),
		func(ctx SpecContext) {
			server := Session(ctx)
			mark := server.Mark()

			response := server.Post(
				ctx,
				jsonrpc.NewResult(jsonrpc.StringID("no request is open"), nil),
				"answers no request",
			)

			if refused(ctx, server, mark, response) {
				NotApplicable("the server does not accept an unsolicited response")
			}
			Expect(response).To(beTaken())
		},
	)

	It(
		"rejects a notification that it cannot accept with an HTTP error status",
		Verifies("transports.http.notification.refused"),
		func(ctx SpecContext) {
			server := Session(ctx)

			positional := []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`)
			response := server.Post(ctx, positional, "has params that are an array")

			if response.Status < 300 && len(response.Body) == 0 {
				NotApplicable("the server accepts even a notification whose params are an array")
			}
			Expect(response).To(beRefused())
		},
	)

	It("closes the stream of a request after the response", Verifies("transports.http.stream.closed"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			demandEnd(ctx, server, streamed(ctx, server))
		})

	It("closes the stream of a request after an error", Verifies("transports.http.stream.closed"),
		NeedsCapability("tools"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			request := server.Start(ctx, "tools/call", Object{"name": "mcpconform_unknown_tool", "arguments": Object{}})
			received, err := request.Settle(ctx)
			server.Needed(request, received, err)

			if request.Delivery.ContentType != eventStream {
				NotApplicable("the server answers the call of an unknown tool without an event stream")
			}
			demandEnd(ctx, server, request)
		})

	// Later such a request is answered with 404, and with no stream.
	It("closes the stream of a request with an unknown method after the error",
		Verifies("transports.http.stream.closed"),
		AtRevisionsWithout(protocol.UnknownMethodStatus),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			request := server.Start(ctx, unknownMethod, nil)
			received, err := request.Settle(ctx)
			if _, refused := errors.AsType[*scripted.StatusError](err); refused {
				NotApplicable("the server rejects an unknown method with an HTTP status")
			}
			server.Needed(request, received, err)

			if request.Delivery.ContentType != eventStream {
				NotApplicable("the server rejects an unknown method without an event stream")
			}
			demandEnd(ctx, server, request)
		})

	// Later a stream that broke is lost.
	It(
		"sends the response to a client that resumes a closed SSE stream",
		Verifies("transports.http.stream.response"),
		AtRevisionsWith(protocol.Resumption),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			stream := streamed(ctx, server).Delivery.Stream
			if _, there := Provocable("stream-closed"); !there && len(eventIDs(server, stream)) == 0 {
				NotApplicable("the server sends no event ids, so its streams cannot be resumed")
			}

			reply := server.MustAsk(ctx, "tools/call", Provoking("stream-closed").Call())

			Expect(reply).To(BeResult())
		},
	)
}

// unknownMethod is one that nobody has defined.
const unknownMethod = "mcpconform/no-such-method"

// demandEnd demands the end of the stream that has brought the response to a request.
func demandEnd(ctx context.Context, server *Server, request *scripted.Pending) {
	ended := true
	select {
	case <-request.Delivery.Done():
	case <-wait.After(ctx, server.ReplyTime()):
		ended = false
	}
	server.DemandInTime(
		ended,
		"the end of the stream after the response to "+request.Method,
		"a stream that is still open",
	)
}

// harmless is a notification that changes nothing. From 2026-07-28 on clients have none
// to send over HTTP; the one that is left is about a request which there is none of.
func harmless() []byte {
	if !RevisionHas(protocol.RootsListChanged) {
		return jsonrpc.NewNotification("notifications/cancelled", Object{"requestId": "mcpconform-never-sent"})
	}
	return jsonrpc.NewNotification("notifications/roots/list_changed", nil)
}

// refused tells whether a server refuses a message that gets no answer: by the
// status or, against the page, in the body, of which there is a rule. Of an event stream
// that is what has come since a mark.
func refused(ctx context.Context, server *Server, mark int, response *Response) bool {
	if response.ContentType == eventStream {
		_, err := server.Connection.Await(ctx, mark, func(received scripted.Received) bool {
			_, isError := received.Error()
			return isError
		})
		return err == nil
	}
	_, inBody := jsonrpc.Parse(response.Body).Error()
	return response.Status >= 400 || inBody
}

// beTaken matches the acceptance of a message that gets no answer.
func beTaken() types.GomegaMatcher {
	return Be("HTTP 202 (Accepted) and no body", func(actual any) bool {
		response, isResponse := actual.(*Response)
		return isResponse && response.Status == 202 && len(response.Body) == 0 && response.ContentType != eventStream
	})
}
