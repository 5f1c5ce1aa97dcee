// Package transports checks the page basic/transports, which is several pages from
// 2026-07-28 on: what holds for every transport here, and one folder for each
// transport.
package transports

import (
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/transports/httpsse"
	"github.com/mcpconform/mcpconform/suites/transports/stdio"
	"github.com/mcpconform/mcpconform/suites/transports/streamablehttp"
)

// longText is how many characters of four bytes are more than one read of a socket commonly
// returns, and less than the limit of any server.
const longText = 3000

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Every transport", func() {

		It("accepts and returns multi-byte UTF-8 characters in a request id", Verifies("transports.utf8"), ByBarrier(), func(t *T) {
			server := Session(t)
			id := jsonrpc.StringID("é-日本-🙂") // of two, three and four bytes

			request := server.Call(BarrierMethod(t), nil, WithID(id))
			reply := request.OrUntil(func(received scripted.Received) bool { return received.Kind == jsonrpc.Response }).Must() // with any id, as no other request is open

			t.Demand(reply.ID == id, "the id "+id.String(), reply.ID.String())
			t.Expect(reply).To(BeResult())
		})

		It("accepts long text of multi-byte UTF-8 characters", Verifies("transports.utf8"), ByBarrier(), func(t *T) {
			server := Session(t)
			server.Call(BarrierMethod(t), nil).Need().Result()

			// A server that cuts at a power of two cuts through a character of one of both.
			for _, shift := range []string{"", ".."} {
				text := shift + strings.Repeat("🙂", longText)
				reply := server.Call(BarrierMethod(t), Object{"_meta": Object{"com.example/text": text}}).Must(BeAnswered)

				t.Expect(reply).To(BeResult())
			}
		})
	})
	cancelling()
	stdio.ServerChecks()
	httpsse.ServerChecks()
	streamablehttp.ServerChecks()
}
