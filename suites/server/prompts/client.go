package prompts

import (
	. "github.com/onsi/ginkgo/v2"

	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/suites/server/features"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Prompts", func() {

		It("asks for no prompts if the server does not declare prompts", Verifies("prompts.capability.respected"), In(features.Promptless),
			func(ctx SpecContext) {
				features.DemandRestraint(Played(ctx), Beside(ctx, features.AllStateless), "prompts", "prompts/list", "prompts/get")
			})
	})
}
