package streamablehttp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// listening checks the heading Listening for Messages from the Server.
func listening() {
	It("opens an event stream for GET, or rejects it with HTTP 405", Verifies("transports.http.get.answered"), func(t *T) {
		server := FreshSession(t)

		response := server.Get("")

		t.Expect(response).To(HaveStatus(200, 405))
		if response.Status == 200 {
			t.Expect(response).To(HaveContentType(eventStream))
		}
	})

	// The header lists the one supported type among others, as the page has it.
	It("opens an event stream for GET whose Accept lists further media types", Verifies("transports.http.get.answered"), func(t *T) {
		mustListen(t, FreshSession(t))

		for _, accept := range []string{"application/json, text/event-stream", "text/event-stream, */*;q=0.1"} {
			response := FreshSession(t).Get("", WithHeader("Accept", accept))

			t.Expect(response).To(HaveStatus(200))
			t.Expect(response).To(HaveContentType(eventStream))
		}
	})

	answersElsewhere()
}

func answersElsewhere() {
	It("sends the response to a POST elsewhere than on the stream opened with GET",
		Verifies("transports.http.get.no-response"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			listening := mustListen(t, server)

			reply := server.Call(BarrierMethod(t), nil).Must()

			t.Demand(reply.Stream != listening.Stream, "the response on the stream of its request", "the response on the stream for GET")
		})

	It("sends the notifications/progress of a request elsewhere than on the GET stream", Verifies("transports.http.get.unrelated"), func(t *T) {
		server := FreshSession(t)
		listening := mustListen(t, server)
		mark := server.Mark()

		request := server.Call("tools/call", Provoking(t, "progress").Reporting(newToken(server)))
		request.Need()

		if request.Delivery.ContentType != eventStream {
			t.NotApplicable("the request was not answered with an event stream that could bring its progress")
		}
		progress := server.Sent(mark, Notification("notifications/progress"))
		if len(progress) == 0 {
			t.Inconclusive("the tool reported no progress", "name one that does in mcpconform.yaml: provocations: {progress: {tool: NAME}}")
		}
		for _, received := range progress {
			t.Demand(received.Stream != listening.Stream, "progress on the stream of its request", "progress on the stream for GET")
		}
	})
}

// manyRequests is how many requests are open at once: more than one, and fewer
// than any server refuses.
const manyRequests = 5

// connecting checks the heading Multiple Connections.
func connecting() {
	It("returns a result for each of several concurrent requests", Verifies("transports.http.streams.served"), ByBarrier(), func(t *T) {
		server := Session(t)

		var requests []*Answer
		for number := range manyRequests {
			id := jsonrpc.StringID(fmt.Sprintf("mcpconform-at-once-%d", number))
			requests = append(requests, server.Call(BarrierMethod(t), nil, WithID(id)))
		}

		for _, request := range requests {
			t.Expect(request.Must(BeAnswered)).To(BeResult())
		}
	})

	It("returns a result for each of several concurrent tool calls",
		Verifies("transports.http.streams.served"), NeedsCapability("tools"), func(t *T) {
			call := aCall(t)
			server := Session(t)
			server.Call("tools/call", call.Call()).Need().Result()

			var requests []*Answer
			for number := range manyRequests {
				id := jsonrpc.StringID(fmt.Sprintf("mcpconform-call-%d", number))
				requests = append(requests, server.Call("tools/call", call.Call(), WithID(id)))
			}

			for _, request := range requests {
				t.Expect(request.Must(BeAnswered)).To(BeResult())
			}
		})

	It("returns a result for a request while a stream that was opened with GET is open",
		Verifies("transports.http.streams.served"), AtRevisionsWith(protocol.Handshake), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			mustListen(t, server)

			id := jsonrpc.StringID("mcpconform-beside-listening")
			request := server.Call(BarrierMethod(t), nil, WithID(id))

			t.Expect(request.Must(BeAnswered)).To(BeResult())
		})

	separateStreams()
}

func separateStreams() {
	It("sends no progress of one of two concurrent calls on the SSE stream of the other",
		Verifies("transports.http.stream.related"), NeedsProvocation("progress"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			tokens := []string{"mcpconform-one-of-two", "mcpconform-two-of-two"}

			var requests []*Answer
			for _, token := range tokens {
				requests = append(requests, server.Call("tools/call", Provoking(t, "progress").Reporting(token)))
			}
			for _, request := range requests {
				request.Need()
			}

			came := false
			for index, request := range requests {
				if request.Delivery.ContentType != eventStream {
					t.NotApplicable("the calls were not answered with event streams that could bring their progress")
				}
				for _, received := range server.Sent(request.Mark, Notification("notifications/progress")) {
					if params, _ := received.Params().(map[string]any); received.Stream == request.Delivery.Stream {
						came = true
						t.Judging(Reply{Received: received})
						t.Demand(params["progressToken"] == tokens[index], "the progress of the call "+tokens[index], excerpt.Short(received.Raw))
					}
				}
			}
			if !came {
				t.Inconclusive(
					"no notifications/progress came on the streams of the calls",
					"make sure that the tool for progress reports progress to each call that asks for it",
				)
			}
		})

	separateAnnouncements()
}

func separateAnnouncements() {
	It("sends notifications/tools/list_changed on only one of its SSE streams",
		Verifies("transports.http.streams.once"), NeedsCapability("tools.listChanged"), Alone(), func(t *T) {
			server := FreshSession(t)
			mustListen(t, server)
			second := server.Get("") // unless the server opens one at a time
			change, mark := Provoking(t, "tools-changed"), server.Mark()

			call := server.Call("tools/call", change.Call())
			call.Need()
			if second.ContentType != eventStream && call.Delivery.ContentType != eventStream {
				t.NotApplicable("the server has one stream only on which it could send the notification")
			}
			server.NeedMessage(mark, Notification("notifications/tools/list_changed"),
				"the server did not announce the change of its tools", "see the result of tools.list-changed.sent")
			server.BarrierOnAllStreams() // the same on another stream would be on its way by now

			streams := map[string]bool{}
			for _, received := range server.Sent(mark, Notification("notifications/tools/list_changed")) {
				streams[received.Stream] = true
			}
			t.Demand(len(streams) == 1, "the notification on one stream", "it on each of "+strings.Join(slices.Sorted(maps.Keys(streams)), ", "))
		})
}
