package streamablehttp

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/mcpconform/mcpconform/internal/conform"
)

// assumed is the revision of clients that send no version header.
const assumed = "2025-03-26"

// versions checks the heading Protocol Version Header.
func versions() {
	It("answers a version that does not exist with 400", Verifies("transports.http.version.refused"),
		func(ctx SpecContext) {
			server := Session(ctx)

			response := server.Post(ctx, ping(server), "names a revision that does not exist", WithHeader("MCP-Protocol-Version", "1900-01-01"))

			Expect(response).To(HaveStatus(400))
		})

	It("answers a version that is none with 400", Verifies("transports.http.version.refused"),
		func(ctx SpecContext) {
			server := Session(ctx)

			response := server.Post(ctx, ping(server), "names no revision", WithHeader("MCP-Protocol-Version", "the latest one"))

			Expect(response).To(HaveStatus(400))
		})

	It("answers GET for a version that does not exist with 400", Verifies("transports.http.version.refused"),
		func(ctx SpecContext) {
			listener, server := FreshSession(ctx), FreshSession(ctx)
			mustListen(ctx, listener)

			response := server.Get(ctx, "names a revision that does not exist", WithHeader("MCP-Protocol-Version", "1900-01-01"))

			Expect(response).To(HaveStatus(400))
		})

	It("serves a client of "+assumed+", which sends no version", Verifies("transports.http.version.assumed"), ByFence(),
		func(ctx SpecContext) {
			server := Connect(ctx)
			hello := server.Need(ctx, "initialize", Hello(assumed))
			if hello["protocolVersion"] != assumed {
				NotApplicable(fmt.Sprintf("the server does not speak %s: it answers with %s", assumed, Show(hello["protocolVersion"])))
			}

			server.Tell(ctx, "notifications/initialized", nil)
			reply := server.Ask(ctx, "ping", nil)

			Expect(reply).To(BeResult())
		})
}
