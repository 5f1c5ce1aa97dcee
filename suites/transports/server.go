// Package transports checks the page basic/transports, which is several pages from
// 2026-07-28 on: what holds for every transport here, and one folder for each
// transport.
package transports

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/transports/stdio"
	"github.com/mcpconform/mcpconform/suites/transports/streamablehttp"

	. "github.com/mcpconform/mcpconform/internal/conform"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Every transport", func() {

		It("accepts and returns multi-byte UTF-8 characters in a request id", Verifies("transports.utf8"), ByBarrier(),
			func(ctx SpecContext) {
				server := Session(ctx)
				id := jsonrpc.StringID("é-日本-🙂") // of two, three and four bytes

				request := server.StartRaw(ctx, id, BarrierMethod(), scripted.Outgoing{}, nil)
				received, err := request.WaitOr(
					ctx,
					func(received scripted.Received) bool { return received.Kind == jsonrpc.Response },
				)
				reply := server.Answered(request, received, err) // whatever id it has, as nothing else was asked for

				Demand(reply.ID == id, "the id "+id.String(), reply.ID.String())
				Expect(reply).To(BeResult())
			})
	})
	cancelling()
	stdio.ServerChecks()
	streamablehttp.ServerChecks()
}
