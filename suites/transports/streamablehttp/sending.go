package streamablehttp

import (
	"context"
	"errors"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// sending checks the heading Sending Messages to the Server.
func sending() {
	It("accepts a notification with HTTP 202 and no body", Verifies("transports.http.notification.accepted"), func(t *T) {
		server := Session(t)
		mark := server.Mark()

		response := server.Post(harmless(t), "")

		turnedDown := refused(t, server, mark, response)
		switch {
		case turnedDown && !t.Has(protocol.RootsListChanged):
			t.NotApplicable("the server accepts no notification over HTTP, and need not at this revision: " + response.Describe())
		case turnedDown:
			t.Inconclusive("the server does not accept notifications/roots/list_changed: "+response.Describe(),
				"find out why it rejects a notification that the client declared, then run again")
		}
		t.Expect(response).To(beTaken())
	})

	// Later clients send no responses.
	It("accepts a response with HTTP 202 and no body",
		Verifies("transports.http.notification.accepted"), AtRevisionsWith(protocol.ServerRequests), func(t *T) {
			server := Session(t)
			mark := server.Mark()

			response := server.Post(jsonrpc.NewResult(jsonrpc.StringID("no request is open"), nil), "answers no request")

			if refused(t, server, mark, response) {
				t.NotApplicable("the server does not accept an unsolicited response")
			}
			t.Expect(response).To(beTaken())
		})

	It("rejects a notification that it cannot accept with an HTTP error status", Verifies("transports.http.notification.refused"), func(t *T) {
		server := Session(t)

		positional := []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`)
		response := server.Post(positional, "has params that are an array")

		if response.Status < 300 && len(response.Body) == 0 {
			t.NotApplicable("the server accepts even a notification whose params are an array")
		}
		t.Expect(response).To(BeTurnedAway())
	})

	closingStreams()
}

func closingStreams() {
	It("closes the stream of a request after the response", Verifies("transports.http.stream.closed"), func(t *T) {
		server := FreshSession(t)

		demandEnd(t, server, streamed(t, server))
	})

	It("closes the stream of a batch after the responses", Verifies("transports.http.stream.closed"), AtRevisionsWith(protocol.Batches), func(t *T) {
		server := FreshSession(t)

		demandEnd(t, server, streamedBatch(t, server))
	})

	It("closes the stream of a request after an error", Verifies("transports.http.stream.closed"), NeedsCapability("tools"), func(t *T) {
		server := FreshSession(t)
		request := server.Call("tools/call", Object{"name": "mcpconform_unknown_tool", "arguments": Object{}})
		request.Need()

		if request.Delivery.ContentType != eventStream {
			t.NotApplicable("the server answers the call of an unknown tool without an event stream")
		}
		demandEnd(t, server, request)
	})

	// Later such a request is answered with 404, and with no stream.
	It("closes the stream of a request with an unknown method after the error",
		Verifies("transports.http.stream.closed"), AtRevisionsWithout(protocol.UnknownMethodStatus), func(t *T) {
			server := FreshSession(t)
			request := server.Call(unknownMethod, nil)
			if _, refused := errors.AsType[*scripted.StatusError](request.Wait()); refused {
				t.NotApplicable("the server rejects an unknown method with an HTTP status")
			}
			request.Need()

			if request.Delivery.ContentType != eventStream {
				t.NotApplicable("the server rejects an unknown method without an event stream")
			}
			demandEnd(t, server, request)
		})

	// Later a stream that broke is lost.
	It("sends the response to a client that resumes a closed SSE stream",
		Verifies("transports.http.stream.response"), AtRevisionsWith(protocol.Resumption), func(t *T) {
			server := FreshSession(t)
			stream := streamed(t, server).Delivery.Stream
			if _, there := Provocable(t, "stream-closed"); !there && len(eventIDs(server, stream)) == 0 {
				t.NotApplicable("the server sends no event ids, so its streams cannot be resumed")
			}

			reply := server.Call("tools/call", Provoking(t, "stream-closed").Call()).Must(BeAnswered)

			t.Expect(reply).To(BeResult())
		})
}

// unknownMethod is a method that no revision defines.
const unknownMethod = "mcpconform/no-such-method"

// demandEnd demands the end of the stream that has brought the response to a request.
func demandEnd(ctx context.Context, server *Server, request *Answer) {
	ended := true
	select {
	case <-request.Delivery.Done():
	case <-wait.After(ctx, server.ReplyTime()):
		ended = false
	}
	server.DemandInTime(ended, "the end of the stream after the response to "+request.Method, "a stream that is still open")
}

// harmless is a notification that changes nothing. From 2026-07-28 on clients have none
// to send over HTTP; the one that is left is about a request which there is none of.
func harmless(t *T) []byte {
	if !t.Has(protocol.RootsListChanged) {
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
