// Package streamablehttp checks the section Streamable HTTP of the page
// basic/transports, which is a page of its own from 2026-07-28 on. There is one file
// for each of its headings.
package streamablehttp

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Streamable HTTP", func() {
		endpoint()
		security()
		sending()
		inAnyForm()
		disconnecting()
		listening()
		connecting()
		resuming()
		sessions()
		versions()
		standardHeaders()
		parameters()
		otherEras()
	})
}

// anyRequest is the body of a request that every server answers, and that was not sent
// before.
func anyRequest(t *T, server *Server) []byte { return server.Body(BarrierMethod(t), nil) }

// identified is the same with an id of its own.
func identified(t *T, server *Server, id string) []byte {
	return jsonrpc.NewRequest(jsonrpc.StringID(id), BarrierMethod(t), server.WithMeta(nil))
}

// helloBy are the params of an initialize request of a client with a name.
func helloBy(t *T, name string) Object {
	hello := Hello(t, t.Revision())
	hello["clientInfo"] = Object{"name": name, "version": "1.0.0"}
	return hello
}

// endpoint checks the introduction of the section.
func endpoint() {
	It("supports POST and GET at the MCP endpoint", Verifies("transports.http.endpoint"), func(t *T) {
		server := FreshSession(t) // by POST

		response := server.Get("")

		t.Expect(response).NotTo(HaveStatus(404, 501))
	})

	It("accepts POST at its endpoint", Verifies("transports.http.endpoint.post"), func(t *T) {
		server := Session(t)

		given := post(t, server, identified(t, server, "mcpconform-at-endpoint"), "")

		// An error in the body tells of a server that takes POST.
		t.DemandOf(given, given.code() != 0 || !slices.Contains([]int{404, 405, 501}, given.Status), "an endpoint that accepts POST")
	})

	severalClients()

	It(
		"serves other clients after a session was ended during a call",
		Verifies("transports.http.clients"),
		AtRevisionsWith(protocol.Sessions),
		NeedsProvocation("slow"),
		ByBarrier(),
		func(t *T) {
			server, other := FreshSession(t), UnusedSession(t)
			mustHaveSession(t, server)
			server.Call("tools/call", Provoking(t, "slow").Call())
			server.Barrier() // the call is under way

			mustEnd(t, server)

			id := jsonrpc.StringID("mcpconform-after-deletion")
			t.Expect(other.Call(BarrierMethod(t), nil, WithID(id)).Must(BeAnswered)).To(BeResult())
		},
	)
}

func severalClients() {
	It("serves a second client while the first is connected", Verifies("transports.http.clients"), ByBarrier(), func(t *T) {
		first, second := FreshSession(t), Connect(t)

		if t.Has(protocol.Handshake) {
			_, err := second.Handshake(helloBy(t, "mcpconform-second"))
			if err != nil {
				t.Judge(Mismatch{Wanted: "a handshake with a second client, while the first is connected", Found: err.Error()})
			}
		}
		id := jsonrpc.StringID("mcpconform-second-client")
		t.Expect(second.Call(BarrierMethod(t), nil, WithID(id)).Must(BeAnswered)).To(BeResult())
		t.Expect(first.Call(BarrierMethod(t), nil).Must(BeAnswered)).To(BeResult())
	})

	It("answers tools/call of a client after another has connected", Verifies("transports.http.clients"), NeedsCapability("tools"), func(t *T) {
		call := aCall(t)
		first := FreshSession(t)
		UnusedSession(t)

		request := first.Call("tools/call", call.Call(), WithID(jsonrpc.StringID("mcpconform-first-client")))

		request.Must(BeAnswered)
		t.Observe()
	})

	It("answers requests of two clients that use the same id at the same time", Verifies("transports.http.clients"), ByBarrier(), func(t *T) {
		first, second := FreshSession(t), UnusedSession(t)
		id := jsonrpc.StringID("mcpconform-same-id")
		asked := func(client *Server, name string) *Answer {
			params := Object{"_meta": Object{"com.example/client": name}}
			return client.Call(BarrierMethod(t), params, WithID(id))
		}

		ofFirst, ofSecond := asked(first, "first"), asked(second, "second")

		t.Expect(ofFirst.Must(BeAnswered)).To(BeResult())
		t.Expect(ofSecond.Must(BeAnswered)).To(BeResult())
	})
}

// aCall is a call of a tool that needs nothing and changes nothing.
func aCall(t *T) Provocation {
	for _, kind := range []string{"text", "logging", "progress"} {
		if call, there := Provocable(t, kind); there {
			return call
		}
	}
	calls, reason := CallableTools(t)
	if len(calls) == 0 {
		t.Inconclusive("no tool may be called: "+reason, "annotate a tool with readOnlyHint, or name it in mcpconform.yaml")
	}
	return calls[0]
}
