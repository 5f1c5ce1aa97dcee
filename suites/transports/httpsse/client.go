package httpsse

import (
	"fmt"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/forms"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("HTTP with SSE", func() {
		for at, some := range forms.OverSSE() {
			scenario := UsualSteps(fmt.Sprintf("other-streams-of-http-and-sse-%d", at+1), some)
			scenario.Over = protocol.SSE
			endpoint := some[slices.IndexFunc(some, func(one forms.ServerForm) bool { return one.Class == forms.Endpoint })]
			It("continues with a server "+endpoint.Name+", and that writes its stream in other legal forms",
				Verifies("transports.sse.forms"), In(scenario), func(t *T) { RunScenario(t).ContinuesInEachForm(some) })
		}
	})
}
