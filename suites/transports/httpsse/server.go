// Package httpsse checks the section HTTP with SSE of the page basic/transports at
// 2024-11-05, which later revisions of its era are spoken over, too.
package httpsse

import (
	"errors"
	"net/http"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	. "github.com/mcpconform/mcpconform/internal/requests"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("HTTP with SSE", func() {
		endpoints()
		clients()
		security()
	})
}

func endpoints() {
	It("answers GET with an event stream that stays open", Verifies("transports.sse.stream"), func(t *T) {
		server := Connect(t)

		stream, err := server.SSE.Open(t)

		needReply(server, err)
		response := &Response{Delivery: stream}
		t.DemandOf(response, server.SSE.Streams(),
			"HTTP 2xx with the content type text/event-stream")
		_, _ = server.Once(t, "initialize", Hello(t, t.Revision())) // which other checks judge
		t.DemandOf(response, server.Alive(), "a stream that stays open until the answer to a POST has come")
	})

	It("sends an endpoint event with the URI to which messages are posted", Verifies("transports.sse.endpoint-event"), func(t *T) {
		server := Connect(t)

		stream, err := server.SSE.Open(t)

		needReply(server, err)
		needStream(t, server, stream)
		found := "a stream without an endpoint event"
		if err != nil {
			found += ": " + err.Error()
		}
		t.Demand(server.SSE.Named(), "an event with the name endpoint on the stream", found)
		if errors.Is(server.SSE.Problem(), scripted.ErrOtherHost) { // which is a URI, too
			t.Inconclusive(problemOf(server), UnpostedHint(server.SSE.Problem()))
		}
		t.Demand(server.SSE.Problem() == nil, "the URI of an HTTP endpoint as the data of the endpoint event", problemOf(server))
	})

	It("accepts POST at the endpoint that it names", Verifies("transports.sse.endpoint"), func(t *T) {
		server := opened(t)

		request := server.Call("initialize", Hello(t, t.Revision()))

		select {
		case <-request.Delivery.Head():
		case <-wait.After(t, server.ReplyTime()):
			if request.Wait() == nil { // the message has come there, and its sender cannot know
				server.DemandInTime(false, "HTTP 2xx", "no HTTP response to the POST")
			}
		}
		response := server.Response(request.Delivery)
		if !server.Alive() {
			t.Inconclusive("the server ended the stream", "fix the failures of transports.sse.stream first")
		}
		t.DemandOf(response, response.Accepted(), "HTTP 2xx")
	})
}

// clients checks that several clients are served, each on its stream.
func clients() {
	It("answers each of two clients on its own stream", Verifies("transports.sse.clients"), ByBarrier(), func(t *T) {
		first := UnusedSession(t)
		second := Connect(t)

		stream, err := second.SSE.Open(t)

		needReply(second, err)
		t.DemandOf(&Response{Delivery: stream}, err == nil, "a stream for a second client beside the first")
		hello := second.Call("initialize", Hello(t, t.Revision())).Must(BeAnswered)
		t.Expect(hello).To(BeResult())
		id := jsonrpc.StringID("mcpconform-of-the-first-client")
		reply := first.Call(BarrierMethod(t), nil, WithID(id)).Must(BeAnswered)
		t.Expect(reply).To(BeResult())
	})

	It("answers a client after another one has left during a call", Verifies("transports.sse.clients"), NeedsProvocation("slow"), ByBarrier(), func(t *T) {
		leaving, staying := FreshSession(t), UnusedSession(t)
		stream, err := leaving.SSE.Open(t)
		needReply(leaving, err)
		slow := Provoking(t, "slow").Call()
		leaving.Call("tools/call", slow)
		under := staying.Call("tools/call", slow, WithID(jsonrpc.StringID("mcpconform-beside-one-that-leaves")))
		leaving.Barrier() // the calls are under way
		staying.Barrier()

		stream.Cut()

		under.Must(BeAnswered)
	})
}

// security checks the heading Security Warning.
func security() {
	It("rejects a GET with a foreign Origin", Verifies("transports.sse.origin.validated"), func(t *T) {
		Session(t).Barrier() // others are let in
		server := Connect(t)

		response := server.Get(ByStranger, WithHeader("Origin", Stranger))

		t.Expect(response).To(BeTurnedAway())
	})

	It("rejects a POST with a foreign Origin", Verifies("transports.sse.origin.validated"), ByBarrier(), func(t *T) {
		server := Session(t)

		InEachMethod(t, BeTurnedAway(), func(request Harmless) any {
			return server.Post(server.Body(request.Method, request.With(nil)), ByStranger, WithHeader("Origin", Stranger))
		})
	})
}

// opened is a connection whose stream has named the endpoint.
func opened(t *T) *Server {
	server := Connect(t)
	if _, err := server.SSE.Open(t); err != nil {
		t.Inconclusive("no endpoint to post to: "+err.Error(), UnpostedHint(err))
	}
	return server
}

func needStream(t *T, server *Server, stream *scripted.Delivery) {
	if !server.SSE.Streams() {
		t.Inconclusive("no stream was opened: "+(&Response{Delivery: stream}).Describe(),
			"fix the failures of transports.sse.stream first")
	}
}

// needReply ends a check whose GET nothing answered.
func needReply(server *Server, err error) {
	var none *scripted.NoEndpointError
	if err != nil && errors.As(err, &none) && none.Err != nil && none.Stream.Status == 0 {
		server.Unanswered("GET", jsonrpc.NoID, err)
	}
}

func problemOf(server *Server) string {
	if problem := server.SSE.Problem(); problem != nil {
		return problem.Error()
	}
	return server.SSE.At(http.MethodPost)
}
