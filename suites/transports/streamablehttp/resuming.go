package streamablehttp

import (
	"context"
	"errors"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// disconnecting checks what the heading Sending Messages to the Server says
// of disconnection.
func disconnecting() {
	It("continues with a request after the client disconnects", Verifies("transports.http.disconnect.no-cancel"), func(t *T) {
		server := FreshSession(t)
		mustReplay(t, server) // else no tool would help
		Provoking(t, "slow")
		call := underWay(t, server)

		call.Delivery.Cut()
		received := call.whatFollows(t, server)

		refused, isRefused := received.Error()
		t.Demand(!isRefused, "that the server continues the call", "the error "+Show(refused.Message))
	})
}

// comings is how often a client comes back for what follows: a server may
// replay only what it had when the client came.
const comings = 2

// whatFollows resumes the stream of a call until it brings more of it:
// progress, or the response.
func (c *running) whatFollows(t *T, server *Server) scripted.Received {
	mark := server.Mark()
	var err error
	for range comings {
		resumed := mustResume(t, server, c.lastEvent)
		var received scripted.Received
		received, err = server.Connection.Await(t, mark, c.isPart)
		resumed.Cut()
		if err == nil {
			return received
		}
		if errors.Is(err, scripted.ErrNoStream) { // the call goes on without one
			select {
			case <-t.Done():
			case <-wait.After(t, server.ReplyTime()):
			}
		}
	}
	Missing(t, "progress or the response of the call on the stream that was resumed, as the server replays other streams", err)
	return scripted.Received{}
}

// isPart tells whether a message is the response of the call, or its progress.
func (c *running) isPart(received scripted.Received) bool {
	return answers(c.ID)(received) || ProgressOf(c.token)(received)
}

// resuming checks the heading Resumability and Redelivery.
func resuming() {
	It("replays no messages of another stream when one is resumed with Last-Event-ID", Verifies("transports.http.resume.own-stream"), func(t *T) {
		server := FreshSession(t)
		first := streamed(t, server)
		after := mustBeResumable(t, server, first)
		second := streamed(t, server)
		mark := server.Mark()

		resumed := mustResume(t, server, after)
		some := replayed(t, server, mark, first.ID)
		server.BarrierOnAllStreams() // a replay of more would be on its way by now

		foreign := server.Sent(mark, func(received scripted.Received) bool {
			return received.Stream == resumed.Stream && answers(second.ID)(received)
		})
		if !some && len(foreign) == 0 {
			t.NotApplicable("the server does not replay what it sent")
		}
		t.Demand(len(foreign) == 0, "messages of "+first.Delivery.Stream+", which is resumed", "the response that "+second.Delivery.Stream+" brought")
	})

	replayingNothing()
}

func replayingNothing() {
	It("replays no response for a Last-Event-ID that it never sent", Verifies("transports.http.resume.own-stream"), func(t *T) {
		server := FreshSession(t)
		mustBeResumable(t, server, streamed(t, server))
		mark := server.Mark()

		resumed := server.Get("", WithHeader("Last-Event-ID", "mcpconform-never-given"))
		server.BarrierOnAllStreams() // a replay would be on its way by now

		t.DemandNone(
			"no response on a stream that resumes nothing",
			server.Sent(mark, func(received scripted.Received) bool {
				return received.Stream == resumed.Stream && received.Kind == jsonrpc.Response &&
					received.ID != jsonrpc.NoID &&
					received.ID != jsonrpc.NullID // or else it is what refuses the request
			}),
		)
	})

	It("replays nothing of another session for a Last-Event-ID from that session",
		Verifies("transports.http.resume.own-stream"), NeedsProvocation("progress"), func(t *T) {
			first := FreshSession(t)
			mustHaveSession(t, first)
			call := Provoking(t, "progress").Reporting(newToken(first))
			request := first.Call("tools/call", call, WithID(ofAnotherSession))
			request.Need()
			if request.Delivery.ContentType != eventStream {
				t.NotApplicable("the request was not answered with an event stream")
			}
			after := mustBeResumable(t, first, request)
			server := FreshSession(t)
			begun := server.Call(BarrierMethod(t), nil, WithID(besideAnotherSession))
			begun.Need()
			mark := server.Mark()

			resumed := server.Get("", WithHeader("Last-Event-ID", after))
			server.BarrierOnAllStreams() // a replay would be on its way by now

			t.DemandNone(
				"no response of another session",
				server.Sent(mark, func(received scripted.Received) bool {
					return received.Stream == resumed.Stream && answers(request.ID)(received)
				}),
			)
		})
}

// Ids of requests in two sessions, of which neither makes one under the id of the other.
var (
	ofAnotherSession     = jsonrpc.StringID("mcpconform-of-another-session")
	besideAnotherSession = jsonrpc.StringID("mcpconform-beside-another-session")
)

// replayed tells whether a response comes again.
func replayed(ctx context.Context, server *Server, mark int, id jsonrpc.ID) bool {
	_, err := server.Connection.Await(ctx, mark, answers(id))
	return err == nil
}

// mustReplay makes the check inapplicable unless the server replays responses:
// it may, and need not.
func mustReplay(t *T, server *Server) {
	request := streamed(t, server)
	after := mustBeResumable(t, server, request)
	mark := server.Mark()
	resumed := mustResume(t, server, after)
	defer resumed.Cut()
	if !replayed(t, server, mark, request.ID) {
		t.NotApplicable("the server does not replay what it sent")
	}
}

// running is a call that has not been answered.
type running struct {
	*Answer
	token     string
	lastEvent string // id of the last event on its stream
}

// underWay starts a call that takes its time and waits for an event with an id
// on its stream.
func underWay(t *T, server *Server) *running {
	for _, kind := range []string{"slow", "progress"} {
		provocation, there := Provocable(t, kind)
		if !there {
			continue
		}
		call := &running{token: newToken(server)}
		call.Answer = server.Call("tools/call", provocation.Reporting(call.token))
		if kind == "progress" {
			_, _ = server.Connection.Await(t, call.Mark, call.isPart) // without it there is no id
		}
		switch there, over := call.awaitEvent(t, server); {
		case there && !over:
			return call
		case there && kind == "slow":
			t.TooLate("the call was over before its stream could be closed", ProvocationHint(kind))
		}
	}
	t.NotApplicable("no call had an event with an id before its response")
	return nil
}

// awaitEvent waits for an event with an id on the stream of the call, before its response: the
// first comes at once, if it is there to ready the client. It tells whether one is there, and
// whether the response is, too.
func (c *running) awaitEvent(ctx context.Context, server *Server) (there, over bool) {
	late := wait.After(ctx, server.ReplyTime())
	select {
	case <-c.Delivery.Head():
	case <-late: // it will be answered with JSON
		return false, false
	}
	for {
		over = len(server.Sent(c.Mark, answers(c.ID))) > 0
		ids := eventIDs(server, c.Delivery.Stream)
		if there = len(ids) > 1 || len(ids) == 1 && !over; there { // one is of the response
			c.lastEvent = ids[len(ids)-1]
		}
		if there || over {
			return there, over
		}
		select {
		case <-ctx.Done():
			return false, false
		case <-late:
			return false, false
		case <-wait.After(ctx, eventStep):
		}
	}
}

// eventStep is the time between two looks for an event.
const eventStep = 5 * time.Millisecond

func answers(id jsonrpc.ID) func(scripted.Received) bool {
	return func(received scripted.Received) bool { return received.Kind == jsonrpc.Response && received.ID == id }
}
