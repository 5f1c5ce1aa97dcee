// Package roots checks the page client/roots.
package roots

import (
	"context"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

const (
	method  = "roots/list"
	changed = "notifications/roots/list_changed"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Roots", Together("asking"), func() {

		It(
			"sends roots/list only to a client that declares roots",
			Verifies("roots.request.capability", "mrtr.requests.declared"),
			NeedsProvocation("roots"),
			func(ctx SpecContext) {
				provoke(ctx, sessionOf(ctx, Answering(Roots))).outcome(ctx) // it does ask a client that declares them
				server := SessionOf(ctx, scripted.Everything(Revision()).Without("roots"))

				server.KeepListening(ctx)
				server.NeedReply(ctx, "tools/call", Provoking("roots").Call())
				server.BarrierOnAllStreams(ctx)

				asking.DemandNone(server.ServerRequests(server.Began(), method)...)
			},
		)

		It("continues after roots/list returned roots", Verifies("roots.change.handled"),
			func(ctx SpecContext) {
				server := sessionOf(ctx, Answering(Roots))

				provoke(ctx, server).mustEnd(ctx)

				server.StaysUsable(ctx)
			})

		It("continues after roots/list returned an empty list", Verifies("roots.unavailable.handled"),
			func(ctx SpecContext) {
				server := sessionOf(ctx, Answering(noRoots))

				provoke(ctx, server).mustEnd(ctx)

				server.StaysUsable(ctx)
			})

		It("continues after roots/list was rejected with -32603", Verifies("roots.unavailable.handled"),
			func(ctx SpecContext) {
				server := sessionOf(ctx, scripted.Refusal(jsonrpc.InternalError, "the workspace is not ready"))

				provoke(ctx, server).mustEnd(ctx)

				server.StaysUsable(ctx)
			})

		It("continues while roots/list is not answered", Verifies("roots.unavailable.handled"),
			func(ctx SpecContext) {
				server := sessionOf(ctx, scripted.Silence)

				question := provoke(ctx, server)

				server.StaysUsable(ctx)
				question.giveUp(ctx)
			})

		It("continues after notifications/roots/list_changed", Verifies("roots.change.handled"),
			func(ctx SpecContext) {
				server := sessionOf(ctx, Answering(Roots))
				provoke(ctx, server).outcome(ctx) // it makes use of them

				server.Tell(ctx, changed, nil)

				server.StaysUsable(ctx)
			})

		It("continues after roots/list returned roots first and an empty list later", Verifies("roots.change.handled"),
			func(ctx SpecContext) {
				server := sessionOf(ctx, Answering(Roots))
				provoke(ctx, server).outcome(ctx)
				server.Answer(method, Answering(noRoots))

				provoke(ctx, server).mustEnd(ctx)

				server.StaysUsable(ctx)
			})
	})
}

func noRoots(Object) Object { return Object{"roots": []any{}} }

// sessionOf returns a connection on which roots/list is answered in one way
// from the beginning: servers ask when they like.
func sessionOf(ctx context.Context, answer scripted.Answer) *Server {
	if _, known := Provocable("roots"); RevisionHas(protocol.InputRequests) || known && SharesProcesses() {
		server := FreshSession(ctx) // a tool has the server ask whenever it is called
		server.Answer(method, answer)
		return server
	}
	server := Connect(ctx)
	server.Answer(method, answer)
	if _, err := server.Handshake(ctx, Hello(Revision())); err != nil {
		Inconclusive("no session: "+err.Error(), "fix the failures under lifecycle first")
	}
	server.Hear(ctx) // a server that asks by itself needs a way to; one that does not has none
	return server
}

// A question is what made the server ask for roots: a call of a tool, or nil when
// it asked by itself.
type question struct {
	server *Server
	call   *scripted.Pending     // of the handshake era
	asked  *asking.ServerRequest // of the stateless era
}

const hint = "name a tool that requests roots in mcpconform.yaml: provocations: {roots: {tool: NAME}}"

// provoke makes the server ask for roots: by saying that they have changed, where
// the era has that, and by a tool where one is known. A server that has not asked
// at all makes the check inconclusive.
func provoke(ctx context.Context, server *Server) question {
	if !RevisionHas(protocol.RootsListChanged) {
		return question{asked: asking.Provoke(ctx, server, "roots", method)}
	}
	server.Tell(ctx, changed, nil)
	provoked := question{server: server}
	tool, known := Provocable("roots")
	if known {
		provoked.call = server.Start(ctx, "tools/call", tool.Call())
		received, err := provoked.call.WaitOr(ctx, RequestOf(method))
		server.Needed(provoked.call, received, err)
	} else {
		server.Barrier(ctx)
	}
	if len(server.ServerRequests(server.Began(), method)) == 0 { // it may remember what it asked before
		if !known {
			Unprovoked("roots")
		}
		Inconclusive("the server did not send roots/list", hint)
	}
	return provoked
}

// outcome waits for the end of the call that made the server ask. A call that
// does not end makes the check inconclusive.
func (q question) outcome(ctx context.Context) {
	switch {
	case q.asked != nil:
		q.asked.Outcome(ctx)
	case q.call != nil:
		received, err := q.call.Settle(ctx)
		q.server.Needed(q.call, received, err)
	}
}

// mustEnd does the same for a check that is about the end: a call without one fails it.
func (q question) mustEnd(ctx context.Context) {
	switch {
	case q.asked != nil:
		q.asked.MustEnd(ctx)
	case q.call != nil:
		q.server.MustAwait(ctx, q.call)
	}
}

// giveUp cancels the call and leaves its end to the server.
func (q question) giveUp(ctx context.Context) {
	if q.call != nil {
		q.server.Abandon(ctx, q.call)
	}
}
