// Package completion checks the page server/utilities/completion.
package completion

import (
	"context"
	"maps"
	"reflect"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/suites/server/arguments"
)

const (
	method = "completion/complete"
	// unknownPrompt is a name that no server gives a prompt.
	unknownPrompt = "mcpconform_prompt_that_does_not_exist"
	// maxControls bounds the arguments that are completed beside one that is refused.
	maxControls = 2
	// maxCompleted bounds the arguments that are completed.
	maxCompleted = 10
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Completion", func() {

		It("declares completions if completion/complete returns values", Verifies("completion.capability.declared"),
			func(ctx SpecContext) {
				NeedDeclarations()
				server := Session(ctx)

				for _, argument := range arguments.Completable(maxCompleted) {
					reply, _ := server.Try(ctx, method, argument.Completion("", nil))

					if values := valuesOf(reply); len(values) > 0 {
						Demand(Declares("completions"), `the capability "completions", or no completions`,
							"no such capability, and completions of "+argument.Name+": "+Show(values))
						return
					}
				}
				NotApplicable("the server returns no completions")
			})

		It(
			"answers completion/complete for arguments of its prompts or resource templates",
			Verifies("completion.answered"),
			NeedsCapability("completions"),
			func(ctx SpecContext) {
				all := completable()
				server := Session(ctx)

				answered, refused := false, 0
				var reply Reply
				for _, argument := range all {
					reply = server.Ask(ctx, method, argument.Completion("", nil))

					_, completes := reply.Object()["completion"].(map[string]any)
					answered = answered || completes
					if reply.Refuses() {
						refused++
					}
				}
				if !answered && refused < len(all) {
					Inconclusive(
						"completion/complete was answered with "+reply.Describe(),
						"fix the schema violation of the result first",
					)
				}
				DemandOf(reply, answered, "a result of completion/complete for some argument of a prompt or template")
			},
		)

		It(
			"answers completion/complete with other completed arguments in context.arguments",
			Verifies("completion.answered"),
			NeedsCapability("completions"),
			func(ctx SpecContext) {
				server := Session(ctx)

				judged := false
				for _, argument := range completable() {
					known := knownBeside(ctx, server, argument)
					if len(known) == 0 || !completes(server.Ask(ctx, method, argument.Completion("", nil))) {
						continue
					}
					reply := server.Ask(ctx, method, argument.Completion("", known))

					DemandOf(reply, completes(reply), "a completion of "+argument.Name+" beside "+Show(known))
					judged = true
				}
				if !judged {
					NotApplicable("no prompt or template has two arguments that the server completes")
				}
			},
		)

		It(
			"rejects completion/complete with -32601 if it does not support completions",
			Verifies("completion.unsupported.code"),
			ByBarrier(),
			func(ctx SpecContext) {
				if Declares("completions") {
					NotApplicable("the server declares completions")
				}
				server := Session(ctx)

				reply := server.Ask(ctx, method, anyArgument().Completion("", nil))

				if len(valuesOf(reply)) > 0 {
					NotApplicable("the server completes arguments, see the result of completion.capability.declared")
				}
				Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
			},
		)

		It(
			"rejects completion/complete for an unknown prompt with -32602",
			Verifies("completion.unknown-prompt.code"),
			NeedsCapability("completions"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.AskWrong(ctx, unknown(), inOrder()...)

				Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			},
		)

		It(
			"completes arguments after it rejected an unknown prompt",
			Verifies("completion.answered"),
			NeedsCapability("completions"),
			func(ctx SpecContext) {
				plain := inOrder()
				if len(plain) == 0 {
					NotApplicable("the server has no prompt with an argument and no resource template")
				}

				StillServes(ctx, unknown(), plain[0], completes)
			},
		)

		It("rejects completion/complete without argument with -32602", Verifies("completion.missing-argument.code"),
			NeedsCapability("completions"),
			func(ctx SpecContext) {
				argument := completable()[0]
				server := Session(ctx)

				reply := server.AskWrong(
					ctx,
					Request{Method: method, Name: "argument", Params: Object{"ref": argument.Ref}},
					inOrder()...)

				Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			})

		It(
			"rejects completion/complete with a ref of an unknown type",
			Verifies("completion.inputs.validated"),
			NeedsCapability("completions"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.AskWrong(ctx, Request{Method: method, Name: "ref/unknown", Params: Object{
					"ref":      Object{"type": "ref/unknown", "name": "any"},
					"argument": Object{"name": "any", "value": ""},
				}}, inOrder()...)

				Expect(reply).To(BeJSONRPCError())
			},
		)

		It(
			"rejects completion/complete with an argument value that is not a string",
			Verifies("completion.inputs.validated"),
			NeedsCapability("completions"),
			func(ctx SpecContext) {
				argument := completable()[0]
				server := Session(ctx)

				reply := server.AskWrong(ctx, Request{Method: method, Name: "value", Params: Object{
					"ref":      argument.Ref,
					"argument": Object{"name": argument.Name, "value": Object{"not": "a string"}},
				}}, inOrder()...)

				Expect(reply).To(BeJSONRPCError())
			},
		)

		It(
			"rejects completion/complete with context.arguments that are not strings",
			Verifies("completion.inputs.validated"),
			NeedsCapability("completions"),
			func(ctx SpecContext) {
				argument := completable()[0]
				server := Session(ctx)
				wrong := argument.Completion("", nil)
				wrong["context"] = Object{"arguments": Object{"mcpconform": 4711}}

				reply := server.AskWrong(ctx, Request{Method: method, Name: "context", Params: wrong}, inOrder()...)

				Expect(reply).To(BeJSONRPCError())
			},
		)
	})
}

// completable returns some arguments of the target's prompts and templates; a
// check without any ends.
func completable() []arguments.Argument {
	all := arguments.Completable(maxCompleted)
	if len(all) == 0 {
		NotApplicable("the server has no prompt with an argument and no resource template")
	}
	return all
}

// unknown completes an argument of a prompt that there is not.
func unknown() Request {
	return Request{Method: method, Name: unknownPrompt, Params: Object{
		"ref":      Object{"type": "ref/prompt", "name": unknownPrompt},
		"argument": Object{"name": "any", "value": ""},
	}}
}

// knownBeside is what the server itself completes the other arguments of the same prompt or
// template with.
func knownBeside(ctx context.Context, server *Server, argument arguments.Argument) map[string]string {
	known := map[string]string{}
	for _, other := range completable() {
		if other.Name == argument.Name || !reflect.DeepEqual(other.Ref, argument.Ref) {
			continue
		}
		values, _ := arguments.Completed(ctx, server, []arguments.Argument{other})
		maps.Copy(known, values)
	}
	return known
}

func completes(reply Reply) bool {
	_, there := reply.Object()["completion"].(map[string]any)
	return there
}

// inOrder completes arguments of the target: beside that shows what a refusal is about.
func inOrder() []Request {
	var requests []Request
	for _, argument := range arguments.Completable(maxControls) {
		name, _ := argument.Ref["name"].(string)
		requests = append(requests, Request{Method: method, Params: argument.Completion("", nil), Name: name})
	}
	return requests
}

// anyArgument returns one of the target's, or one that is made up.
func anyArgument() arguments.Argument {
	if all := arguments.Completable(1); len(all) > 0 {
		return all[0]
	}
	return arguments.Argument{Ref: Object{"type": "ref/prompt", "name": unknownPrompt}, Name: "any"}
}

// valuesOf returns the values of a completion; none, if it is none.
func valuesOf(reply Reply) []any {
	completion, _ := reply.Object()["completion"].(map[string]any)
	values, _ := completion["values"].([]any)
	return values
}
