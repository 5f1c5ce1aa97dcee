// Package ping checks the page basic/utilities/ping.
package ping

import (
	. "github.com/onsi/ginkgo/v2"

	. "github.com/mcpconform/mcpconform/internal/conform"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Ping", func() {
		inForms()

		It("answers ping with an empty result", Verifies("ping.answered"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.MustAsk(ctx, "ping", nil)

				Expect(reply).To(BeResult())
				Expect(reply).To(BeEmptyObject())
			})

		It("answers ping with _meta in its params", Verifies("ping.answered"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.MustAsk(ctx, "ping", Object{"_meta": Object{"com.example/trace": "7f"}})

				Expect(reply).To(BeResult())
			})

		It("answers ping during a call", Verifies("ping.answered"), NeedsProvocation("slow"),
			func(ctx SpecContext) {
				server := FreshSession(ctx)
				call := server.Start(ctx, "tools/call", Provoking("slow").Call())

				reply := server.MustAsk(ctx, "ping", nil)

				Expect(reply).To(BeResult())
				server.Abandon(ctx, call)
			})
	})
}
