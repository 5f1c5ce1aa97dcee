// Package roots checks the page client/roots.
package roots

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

const (
	method  = "roots/list"
	changed = "notifications/roots/list_changed"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Roots", Together("asking"), func() {

		It("sends roots/list only to a client that declares roots",
			Verifies("roots.request.capability", "mrtr.requests.declared"), NeedsProvocation("roots"), func(t *T) {
				provoke(t, sessionOf(t, scripted.Answering(scripted.Roots))).outcome() // it does ask a client that declares them
				server := DeclaringSession(t, scripted.Everything(t.Revision()).Without("roots"))

				server.KeepListening()
				server.Call("tools/call", Provoking(t, "roots").Call()).Need()
				server.BarrierOnAllStreams()

				asking.DemandNone(t, server.ServerRequests(server.Began(), method)...)
			})

		It("continues after roots/list returned roots", Verifies("roots.change.handled"), func(t *T) {
			server := sessionOf(t, scripted.Answering(scripted.Roots))

			provoke(t, server).mustEnd()

			server.StaysUsable()
		})

		It("continues after roots/list returned an empty list", Verifies("roots.unavailable.handled"), func(t *T) {
			server := sessionOf(t, scripted.Answering(noRoots))

			provoke(t, server).mustEnd()

			server.StaysUsable()
		})

		It("continues after roots/list was rejected with -32603", Verifies("roots.unavailable.handled"), func(t *T) {
			server := sessionOf(t, scripted.Refusal(jsonrpc.InternalError, "the workspace is not ready"))

			provoke(t, server).mustEnd()

			server.StaysUsable()
		})

		laterRoots()
	})
}

func laterRoots() {
	It("continues while roots/list is not answered", Verifies("roots.unavailable.handled"), func(t *T) {
		server := sessionOf(t, scripted.Silence)

		question := provoke(t, server)

		server.StaysUsable()
		question.giveUp()
	})

	It("continues after notifications/roots/list_changed", Verifies("roots.change.handled"), func(t *T) {
		server := sessionOf(t, scripted.Answering(scripted.Roots))
		provoke(t, server).outcome() // it makes use of them

		server.Notify(changed, nil).Must()

		server.StaysUsable()
	})

	It("continues after roots/list returned roots first and an empty list later", Verifies("roots.change.handled"), func(t *T) {
		server := sessionOf(t, scripted.Answering(scripted.Roots))
		provoke(t, server).outcome()
		server.Answer(method, scripted.Answering(noRoots))

		provoke(t, server).mustEnd()

		server.StaysUsable()
	})
}

func noRoots(Object) Object { return Object{"roots": []any{}} }

// sessionOf returns a connection on which roots/list is answered in one way
// from the beginning: servers ask when they like.
func sessionOf(t *T, answer scripted.Answer) *Server {
	if _, known := Provocable(t, "roots"); t.Has(protocol.InputRequests) || known && SharesProcesses(t) {
		server := FreshSession(t) // a tool has the server ask whenever it is called
		server.Answer(method, answer)
		return server
	}
	server := Connect(t)
	server.Answer(method, answer)
	if _, err := server.Handshake(Hello(t, t.Revision())); err != nil {
		t.Inconclusive("no session: "+err.Error(), "fix the failures under lifecycle first")
	}
	server.ListenForChanges() // a server that asks by itself needs a way to; one that does not has none
	return server
}

// A question is what made the server ask for roots: a call of a tool, or nil when
// it asked by itself.
type question struct {
	server *Server
	call   *Answer               // of the handshake era
	asked  *asking.ServerRequest // of the stateless era
}

const hint = "name a tool that requests roots in mcpconform.yaml: provocations: {roots: {tool: NAME}}"

// provoke makes the server ask for roots: by saying that they have changed, where
// the era has that, and by a tool where one is known. A server that has not asked
// at all makes the check inconclusive.
func provoke(t *T, server *Server) question {
	if !t.Has(protocol.RootsListChanged) {
		return question{asked: asking.Provoke(t, server, "roots", method)}
	}
	server.Notify(changed, nil).Must()
	provoked := question{server: server}
	tool, known := Provocable(t, "roots")
	if known {
		provoked.call = server.Call("tools/call", tool.Call())
		provoked.call.OrUntil(RequestOf(method)).Need()
	} else {
		server.Barrier()
	}
	if len(server.ServerRequests(server.Began(), method)) == 0 { // it may remember what it asked before
		if !known {
			Unprovoked(t, "roots")
		}
		t.Inconclusive("the server did not send roots/list", hint)
	}
	return provoked
}

// outcome waits for the end of the call that made the server ask. A call that
// does not end makes the check inconclusive.
func (q question) outcome() {
	switch {
	case q.asked != nil:
		q.asked.Outcome()
	case q.call != nil:
		q.call.Need()
	}
}

// mustEnd does the same for a check that is about the end: a call without one fails it.
func (q question) mustEnd() {
	switch {
	case q.asked != nil:
		q.asked.MustEnd()
	case q.call != nil:
		q.call.Must(BeAnswered)
	}
}

// giveUp cancels the call and leaves its end to the server.
func (q question) giveUp() {
	if q.call != nil {
		q.server.Cancel(q.call)
	}
}
