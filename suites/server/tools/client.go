package tools

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/server/tools/results"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Calling tools", takingResults)
}

// structuredResults is a server of which one tool does not keep what it promises.
var structuredResults = &Scenario{
	Name: "structured-results", Says: "Two tools have the same outputSchema; the second returns a result that breaks it.",
	Steps:  Steps{ToConnect(), ToList("tools"), ToCall(results.Right, nil), ToCall(results.Wrong, nil), ToClose()},
	Server: func(server *scripted.Server) { results.Add(server) },
}

func takingResults() {
	It("rejects structuredContent that does not conform to the tool's outputSchema",
		Verifies("tools.structured.validated"), In(structuredResults), func(t *T) {
			client := RunScenario(t)

			wrong := client.NeedCalls(results.Wrong)[0]
			right := client.NeedOutcome(client.CallOf(results.Right))
			if right.Failed() {
				client.Inconclusive("the client accepts no structuredContent at all", "tools/call")
			}
			if outcome := client.NeedOutcome(client.CallOf(results.Wrong)); !t.Observed(results.Refused(outcome)) {
				client.NeedResult(client.CallOf(results.Wrong))
				client.Fail(wrong, Mismatch{
					Wanted: `that the client rejects {"count":"one"}, where the outputSchema requires an integer`,
					Found:  "the client reports the call as done: " + ShowOutcome(outcome),
				})
			}
		})
}
