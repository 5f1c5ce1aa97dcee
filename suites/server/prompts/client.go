package prompts

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/suites/server/features"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Prompts", func() {

		It("sends prompts/list and prompts/get only if the server declares prompts",
			Verifies("prompts.capability.respected"), In(features.Promptless), func(t *T) {
				features.DemandRestraint(t, RunScenario(t), AlsoRun(t, features.AllStateless), "prompts", "prompts/list", "prompts/get")
			})
	})
}
