package transports

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// cancelling checks the heading Cancellation that the pages of both transports have in
// the stateless era.
func cancelling() {
	Describe("Cancellation by the transport", func() {

		It(
			"sends no response or progress for a cancelled tools/call, and continues",
			Verifies("transports.stdio.cancel.silent", "transports.http.cancel.silent"),
			NeedsProvocation("slow"),
			ByBarrier(),
			func(t *T) {
				server := FreshSession(t)
				const token, other = "mcpconform-given-up", "mcpconform-completed"
				request := server.Call("tools/call", Provoking(t, "slow").Reporting(token))
				if first := request.OrUntil(concerns(request.ID, token)).Need(); first.Kind == jsonrpc.Response {
					t.Inconclusive("the slow tool reports no progress that shows that it runs",
						"name one that does in mcpconform.yaml: provocations: {slow: {tool: NAME}}")
				}

				server.Cancel(request)

				server.StaysUsable() // until here, something may have crossed the cancellation
				mark := server.Mark()
				// The same call, begun later, is answered when this one would have been.
				server.CompleteSlow(other)
				t.DemandNone("no further message for the call", server.Sent(mark, concerns(request.ID, token)))
			},
		)
	})
}

// concerns matches the response to a request and the progress of it.
func concerns(id jsonrpc.ID, token string) func(scripted.Received) bool {
	return func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && received.ID == id || ProgressOf(token)(received)
	}
}
