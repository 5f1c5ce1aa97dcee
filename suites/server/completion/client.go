package completion

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Completion", askingForCompletions)
}

// Arguments of the prompt that clients are told to complete.
const (
	prompt   = "translation"
	language = "language"
	dialect  = "dialect"
)

// Steps of completions.
const (
	someValues = "some-values"
	noValues   = "no-values"
	moreValues = "more-values"
	manyValues = "many-values"
)

// inTurn are those that complete.
var inTurn = []string{someValues, noValues, moreValues, manyValues}

// completions is a server that has less and less to propose.
var completions = &Scenario{
	Name: "completions",
	Says: "The server completes an argument: with values, with none, with hasMore and no total, and with some of a large total.",
	Steps: Steps{
		ToConnect(),
		ToComplete(Object{"type": "ref/prompt", "name": prompt}, Object{"name": dialect, "value": "q"}).
			Given(Object{language: "french"}).ID(someValues),
		ToComplete(Object{"type": "ref/prompt", "name": prompt}, Object{"name": language, "value": "x"}).ID(noValues),
		ToComplete(Object{"type": "ref/prompt", "name": prompt}, Object{"name": language, "value": "f"}).ID(moreValues),
		ToComplete(Object{"type": "ref/prompt", "name": prompt}, Object{"name": language, "value": ""}).ID(manyValues),
		ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.Prompts = append(server.Prompts, Object{"name": prompt, "arguments": []any{
			Object{"name": language, "required": true}, Object{"name": dialect},
		}})
		server.On("completion/complete", func(call *scripted.Call) {
			completion := Object{"values": []any{"québécois"}, "total": 1, "hasMore": false}
			step := someValues // also for what comes after them all
			if call.Nth <= len(inTurn) {
				step = inTurn[call.Nth-1]
			}
			switch step {
			case noValues:
				completion = Object{"values": []any{}}
			case moreValues:
				completion = Object{"values": []any{"french"}, "hasMore": true}
			case manyValues:
				completion = Object{"values": []any{"arabic", "bengali"}, "total": 7000, "hasMore": true}
			}
			call.Answer(Object{"completion": completion})
		})
	},
}

func askingForCompletions() {
	It("sends arguments that are already completed in context.arguments of completion/complete",
		Verifies("completion.context.sent"), In(completions), func(t *T) {
			client := RunScenario(t)

			request := client.NeedRequests("completion/complete")[0]
			if mcp.Value(request.ParamsObject(), "argument", "name") != dialect {
				client.Inconclusive("the client requested other completions than its steps ask for", "completion/complete")
			}
			client.Judging(request)
			if mcp.Value(request.ParamsObject(), "context", "arguments", language) != "french" {
				client.Fail(request, Mismatch{
					Wanted: `the other argument of the prompt, from the step: {"language":"french"}`,
					Found:  Show(request.ParamsObject()["context"]), Where: "/params/context/arguments",
				})
			}
		})

	continues(noValues, "a completion without values")
	continues(moreValues, "a completion with hasMore and without total")
	continues(manyValues, "a completion with fewer values than its total")
}

// continues declares that the client goes on after an answer to completion/complete.
func continues(step, what string) {
	It("continues after "+what, Row(), Verifies("completion.partial.handled"), In(completions), func(t *T) {
		client := RunScenario(t)

		requests := client.NeedRequests("completion/complete")
		nth := slices.Index(inTurn, step)
		if len(requests) <= nth {
			client.Inconclusive("the client requested no more completions", "completion/complete")
		}
		client.DemandStep(step, someValues, what)
		client.Continues(AnswerTo(requests[nth]), what)
	})
}
