// Package cancellation checks the page about cancellation: basic/utilities/cancellation,
// and from 2026-07-28 on basic/patterns/cancellation.
package cancellation

import (
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Cancellation", func() {
		inProgress()
		invalid()
	})
}

func inProgress() {
	It("sends no response to a cancelled request", Verifies("cancellation.unanswered"), NeedsProvocation("slow"), func(t *T) {
		needsSight(t)
		server := UnusedSession(t) // on which no other check has used the id 0
		begun := time.Now()
		cancelled := begin(t, server, Provoking(t, "slow").Call())
		server.Cancel(cancelled)
		lasted := []time.Duration{answeredIn(server, cancelled, begun)}
		begun = time.Now()
		zero := server.Call("tools/call", Provoking(t, "slow").Call(), WithID(jsonrpc.IntID(0)))
		reached(t, server, zero)

		server.Notify(method, Object{"requestId": 0}).Must() // reason is optional
		lasted = append(lasted, answeredIn(server, zero, begun))

		// The same call, begun later, is answered when these would have been.
		least := server.CompleteSlow(completed)
		for i, one := range []*Answer{cancelled, zero} {
			if lasted[i] >= least {
				tooFast(t) // it may have been done by then
			}
			t.DemandNone("no response to the cancelled request "+one.ID.String(), server.Sent(one.Mark, responseTo(one.ID)))
		}
	})

	It("stops sending notifications/progress for a cancelled request", Verifies("cancellation.stops"), NeedsProvocation("slow"), func(t *T) {
		needsSight(t)
		server := FreshSession(t)
		cancelled := begin(t, server, Provoking(t, "slow").Reporting("mcpconform-cancelled"))

		server.Cancel(cancelled)

		server.Barrier() // until here, progress may have crossed the cancellation
		mark := server.Mark()
		server.CompleteSlow(completed)
		whole := len(server.Sent(mark, ProgressOf(completed)))
		if whole == 0 {
			t.Inconclusive("the slow tool reports no progress", "name one that does in mcpconform.yaml: provocations: {slow: {tool: NAME}}")
		}
		// Some may have been on the way, on a stream of their own: not as many as
		// come of a call that goes on.
		late := server.Sent(mark, ProgressOf("mcpconform-cancelled"))
		if 2*len(server.Sent(cancelled.Mark, ProgressOf("mcpconform-cancelled"))) <= whole {
			late = nil
		}
		t.DemandNone("no progress of the cancelled request", late)
	})

	It("continues after notifications/cancelled crossed the response, which it sends once at most",
		Verifies("cancellation.races"), ByBarrier(), func(t *T) {
			server := FreshSession(t)

			crossed := server.Call(BarrierMethod(t), nil)
			server.Cancel(crossed)

			server.StaysUsable()
			t.Demand(len(server.Sent(crossed.Mark, responseTo(crossed.ID))) <= 1, "at most one response to the "+BarrierMethod(t), "more than one")
		})
}

func invalid() {
	It("ignores notifications/cancelled with an unknown requestId", Verifies("cancellation.invalid.unknown"), ByBarrier(), func(t *T) {
		server := FreshSession(t)

		demandIgnored(
			t,
			server,
			jsonrpc.NewNotification(method, Object{"requestId": "mcpconform-never-sent", "reason": "a check"}),
			"cancels a request that was never sent",
		)
	})

	It("answers a request whose id notifications/cancelled named before it came", Verifies("cancellation.invalid.unknown"), ByBarrier(), func(t *T) {
		server := FreshSession(t)
		id := jsonrpc.StringID("mcpconform-not-yet-sent")
		demandIgnored(t, server, jsonrpc.NewNotification(method, Object{"requestId": id}), "cancels a request that was not yet sent")

		request := server.Call(BarrierMethod(t), nil, WithID(id))

		request.Must(BeAnswered)
		t.Observe()
	})

	It("ignores notifications/cancelled for a request that was already answered",
		Verifies("cancellation.invalid.completed"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			answered := server.Call(BarrierMethod(t), nil)
			answered.Must()

			demandIgnored(
				t,
				server,
				jsonrpc.NewNotification(method, Object{"requestId": answered.ID, "reason": "a check"}),
				"cancels a request that was answered",
			)
		})

	It("ignores notifications/cancelled without params", Verifies("cancellation.invalid.malformed"), ByBarrier(), func(t *T) {
		server := FreshSession(t)

		demandIgnored(t, server, jsonrpc.NewNotification(method, nil), "names no request")
	})

	It("ignores notifications/cancelled with an object as requestId", Verifies("cancellation.invalid.malformed"), ByBarrier(), func(t *T) {
		server := FreshSession(t)

		demandIgnored(t, server, jsonrpc.NewNotification(method, Object{"requestId": Object{"id": 1}}), "the id is an object")
	})
}

const method = "notifications/cancelled"

// headStart is what a call gets, over HTTP, to reach the server before its
// cancellation does: they travel side by side. A server that opens an event
// stream at once shows sooner that it is there.
const headStart = 500 * time.Millisecond

// begin makes a call and returns when the server has it.
func begin(t *T, server *Server, call Object) *Answer {
	request := server.Call("tools/call", call)
	reached(t, server, request)
	return request
}

// reached returns when the server has a call, which it must not have answered.
func reached(t *T, server *Server, request *Answer) {
	if !t.Transport().InOrder() {
		select {
		case <-request.Delivery.Head():
		case <-time.After(headStart):
		case <-t.Done():
		}
	}
	server.Barrier()
	if len(server.Sent(request.Mark, responseTo(request.ID))) > 0 {
		tooFast(t)
	}
}

// answeredIn is how long after it was begun, at most, a call had a response, if it has one by the
// time when the server has the cancellation, which the response may have crossed; else 0.
func answeredIn(server *Server, call *Answer, begun time.Time) time.Duration {
	server.BarrierOnAllStreams()
	if len(server.Sent(call.Mark, responseTo(call.ID))) == 0 {
		return 0
	}
	return time.Since(begun)
}

func tooFast(t *T) {
	t.TooLate("the slow tool answered before it could be cancelled",
		"name one that takes a second or more in mcpconform.yaml: provocations: {slow: {tool: NAME}}")
}

// needsSight skips a check of what comes after a cancellation where it could come
// only on the stream that the client closes to cancel.
func needsSight(t *T) {
	if t.Has(protocol.ClosingCancels) && t.Transport().Exchanges() {
		t.NotApplicable("over HTTP a request is cancelled by closing its stream, on which this would show")
	}
}

// completed is the progress token of the call that is not cancelled.
const completed = "mcpconform-completed"

func responseTo(id jsonrpc.ID) func(scripted.Received) bool {
	return func(received scripted.Received) bool { return received.Kind == jsonrpc.Response && received.ID == id }
}

// demandIgnored sends an invalid cancellation, and judges that the server goes on and
// does not answer it. Over HTTP it may refuse the message.
func demandIgnored(t *T, server *Server, raw []byte, reason string) {
	mark := server.Mark()
	delivery := server.Say(string(raw), reason)
	refused := false
	select {
	case <-delivery.Done():
		refused = delivery.Status >= 300
	case <-wait.After(t, server.ReplyTime()): // the next request will tell
	case <-t.Done():
	}
	barrier := server.StaysUsable()
	if refused {
		return
	}
	t.DemandNone("no response to a notification", server.Sent(mark, func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && received.ID != barrier.ID
	}))
}
