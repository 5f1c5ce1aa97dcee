package lifecycle

import (
	. "github.com/onsi/ginkgo/v2"

	. "github.com/mcpconform/mcpconform/internal/conform"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Initialization", func() {

		It("says that it is ready once the server has answered initialize", Verifies("lifecycle.initialized.sent"), In(Meeting),
			func(ctx SpecContext) {
				client := Played(ctx)

				initialize := client.NeedRequests("initialize")[0]
				ready := client.Notifications("notifications/initialized")
				if len(ready) == 0 {
					client.Blame(initialize, Mismatch{
						Wanted: "notifications/initialized after the answer to initialize", Found: "no such notification",
					})
				}
			})
	})
}
