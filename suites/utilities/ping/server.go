// Package ping checks the page basic/utilities/ping.
package ping

import (
	. "github.com/onsi/ginkgo/v2"

	. "github.com/mcpconform/mcpconform/internal/conform"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Ping", func() {

		It("answers ping with an empty result", Verifies("ping.answered"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.MustAsk(ctx, "ping", nil)

				Expect(reply).To(BeResult())
				Expect(reply).To(BeEmptyObject())
			})
	})
}
