// Package streamablehttp checks the section Streamable HTTP of the page
// basic/transports, which is a page of its own from 2026-07-28 on. There is one file
// for each of its headings.
package streamablehttp

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega/types"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"

	. "github.com/mcpconform/mcpconform/internal/conform"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Streamable HTTP", func() {
		endpoint()
		security()
		sending()
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
			Demand(
				given.code() != 0 || !slices.Contains([]int{404, 405, 501}, given.Status),
				"an endpoint that takes POST",
				given.Describe(),
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
}

// beRefused matches a response with an error status.
func beRefused() types.GomegaMatcher {
	return Be("an HTTP error status", func(actual any) bool {
		response, isResponse := actual.(*Response)
		return isResponse && response.Status >= 400
	})
}
