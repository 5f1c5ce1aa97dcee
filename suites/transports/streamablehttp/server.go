// Package streamablehttp checks the section Streamable HTTP of the page
// basic/transports, which is a page of its own from 2026-07-28 on. There is one file
// for each of its headings.
package streamablehttp

import (
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
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
func anyRequest(server *Server) []byte { return server.Body(BarrierMethod(), nil) }

// identified is the same with an id of its own.
func identified(server *Server, id string) []byte {
	return jsonrpc.NewRequest(jsonrpc.StringID(id), BarrierMethod(), server.WithMeta(nil))
}

// helloBy are the params of an initialize request of a client with a name.
func helloBy(name string) Object {
	hello := Hello(Revision())
	hello["clientInfo"] = Object{"name": name, "version": "1.0.0"}
	return hello
}

// endpoint checks the introduction of the section.
func endpoint() {
	It("supports POST and GET at the MCP endpoint", Verifies("transports.http.endpoint"),
		func(ctx SpecContext) {
			server := FreshSession(ctx) // by POST

			response := server.Get(ctx, "")

			Expect(response).NotTo(HaveStatus(404, 501))
		})

	It("accepts POST at its endpoint", Verifies("transports.http.endpoint.post"),
		func(ctx SpecContext) {
			server := Session(ctx)

			given := post(ctx, server, identified(server, "mcpconform-at-endpoint"), "")

			// An error in the body tells of a server that takes POST.
			DemandOf(
				given,
				given.code() != 0 || !slices.Contains([]int{404, 405, 501}, given.Status),
				"an endpoint that accepts POST",
			)
		})

	It("serves a second client while the first is connected", Verifies("transports.http.clients"), ByBarrier(),
		func(ctx SpecContext) {
			first, second := FreshSession(ctx), Connect(ctx)

			if RevisionHas(protocol.Handshake) {
				_, err := second.Handshake(ctx, helloBy("mcpconform-second"))
				if err != nil {
					Judge(
						Mismatch{
							Wanted: "a handshake with a second client, while the first is connected",
							Found:  err.Error(),
						},
					)
				}
			}
			id := jsonrpc.StringID("mcpconform-second-client")
			Expect(
				second.MustAwait(ctx, second.StartRaw(ctx, id, BarrierMethod(), scripted.Outgoing{}, nil)),
			).To(BeResult())
			Expect(first.MustAsk(ctx, BarrierMethod(), nil)).To(BeResult())
		})

	It(
		"answers tools/call of a client after another has connected",
		Verifies("transports.http.clients"),
		NeedsCapability("tools"),
		func(ctx SpecContext) {
			call := aCall()
			first := FreshSession(ctx)
			UnusedSession(ctx)

			request := first.StartRaw(
				ctx, jsonrpc.StringID("mcpconform-first-client"), "tools/call", scripted.Outgoing{}, call.Call(),
			)

			first.MustAwait(ctx, request)
			Observe()
		},
	)

	It(
		"answers requests of two clients that use the same id at the same time",
		Verifies("transports.http.clients"),
		ByBarrier(),
		func(ctx SpecContext) {
			first, second := FreshSession(ctx), UnusedSession(ctx)
			id := jsonrpc.StringID("mcpconform-same-id")
			asked := func(client *Server, name string) *scripted.Pending {
				params := Object{"_meta": Object{"com.example/client": name}}
				return client.StartRaw(ctx, id, BarrierMethod(), scripted.Outgoing{}, params)
			}

			ofFirst, ofSecond := asked(first, "first"), asked(second, "second")

			Expect(first.MustAwait(ctx, ofFirst)).To(BeResult())
			Expect(second.MustAwait(ctx, ofSecond)).To(BeResult())
		},
	)

	It(
		"serves other clients after a session was ended during a call",
		Verifies("transports.http.clients"),
		AtRevisionsWith(protocol.Sessions),
		NeedsProvocation("slow"),
		ByBarrier(),
		func(ctx SpecContext) {
			server, other := FreshSession(ctx), UnusedSession(ctx)
			mustHaveSession(server)
			server.Start(ctx, "tools/call", Provoking("slow").Call())
			server.Barrier(ctx) // the call is under way

			mustEnd(ctx, server)

			id := jsonrpc.StringID("mcpconform-after-deletion")
			Expect(
				other.MustAwait(ctx, other.StartRaw(ctx, id, BarrierMethod(), scripted.Outgoing{}, nil)),
			).To(BeResult())
		},
	)
}

// aCall is a call of a tool that needs nothing and changes nothing.
func aCall() Provocation {
	for _, kind := range []string{"text", "logging", "progress"} {
		if call, there := Provocable(kind); there {
			return call
		}
	}
	calls, reason := CallableTools()
	if len(calls) == 0 {
		Inconclusive(
			"no tool may be called: "+reason,
			"annotate a tool with readOnlyHint, or name it in mcpconform.yaml",
		)
	}
	return calls[0]
}

// beRefused matches a response with an error status.
func beRefused() types.GomegaMatcher {
	return Be("an HTTP error status", func(actual any) bool {
		response, isResponse := actual.(*Response)
		return isResponse && response.Status >= 400
	})
}
