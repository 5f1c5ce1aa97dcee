// Package completion checks the page server/utilities/completion.
package completion

import (
	"maps"
	"reflect"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	. "github.com/mcpconform/mcpconform/internal/session"
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

		completing()

		refusingCompletions()

		malformedCompletions()
	})
}

func completing() {
	It("declares completions if completion/complete returns values", Verifies("completion.capability.declared"), func(t *T) {
		NeedDeclarations(t)
		server := Session(t)

		for _, argument := range arguments.Completable(t, maxCompleted) {
			reply := server.Call(method, argument.Completion("", nil)).May()

			if values := valuesOf(reply); len(values) > 0 {
				t.Demand(Declares(t, "completions"), `the capability "completions", or no completions`,
					"no such capability, and completions of "+argument.Name+": "+Show(values))
				return
			}
		}
		t.NotApplicable("the server returns no completions")
	})

	It("answers completion/complete for arguments of its prompts or resource templates",
		Verifies("completion.answered"), NeedsCapability("completions"), func(t *T) {
			all := completable(t)
			server := Session(t)

			answered, refused := false, 0
			var reply Reply
			for _, argument := range all {
				reply = server.Call(method, argument.Completion("", nil)).Must()

				_, completes := reply.Object()["completion"].(map[string]any)
				answered = answered || completes
				if reply.Refuses() {
					refused++
				}
			}
			if !answered && refused < len(all) {
				t.Inconclusive("completion/complete was answered with "+reply.Describe(), "fix the schema violation of the result first")
			}
			t.DemandOf(reply, answered, "a result of completion/complete for some argument of a prompt or template")
		})

	It("answers completion/complete with other completed arguments in context.arguments",
		Verifies("completion.answered"), AtRevisionsWith(protocol.CompletionContext), NeedsCapability("completions"), func(t *T) {
			server := Session(t)

			judged := false
			for _, argument := range completable(t) {
				known := knownBeside(t, server, argument)
				if len(known) == 0 || !completes(server.Call(method, argument.Completion("", nil)).Must()) {
					continue
				}
				reply := server.Call(method, argument.Completion("", known)).Must()

				t.DemandOf(reply, completes(reply), "a completion of "+argument.Name+" beside "+Show(known))
				judged = true
			}
			if !judged {
				t.NotApplicable("no prompt or template has two arguments that the server completes")
			}
		})
}

func refusingCompletions() {
	It("rejects completion/complete with -32601 if it does not support completions",
		Verifies("completion.unsupported.code"), ByBarrier(), func(t *T) {
			if Declares(t, "completions") {
				t.NotApplicable("the server declares completions")
			}
			server := Session(t)

			reply := server.Call(method, anyArgument(t).Completion("", nil)).Must()

			if len(valuesOf(reply)) > 0 {
				t.NotApplicable("the server completes arguments, see the result of completion.capability.declared")
			}
			t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		})

	It("rejects completion/complete for an unknown prompt with -32602",
		Verifies("completion.unknown-prompt.code"), NeedsCapability("completions"), func(t *T) {
			server := Session(t)

			reply := CallWrong(t, server, unknown(), inOrder(t)...)

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})

	It("completes arguments after it rejected an unknown prompt", Verifies("completion.answered"), NeedsCapability("completions"), func(t *T) {
		plain := inOrder(t)
		if len(plain) == 0 {
			t.NotApplicable("the server has no prompt with an argument and no resource template")
		}

		StillServes(t, unknown(), plain[0], completes)
	})
}

func malformedCompletions() {
	It("rejects completion/complete without argument with -32602",
		Verifies("completion.missing-argument.code"), NeedsCapability("completions"), func(t *T) {
			argument := completable(t)[0]
			server := Session(t)

			reply := CallWrong(t, server, Request{Method: method, Name: "argument", Params: Object{"ref": argument.Ref}}, inOrder(t)...)

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})

	It("rejects completion/complete with a ref of an unknown type",
		Verifies("completion.inputs.validated"), NeedsCapability("completions"), func(t *T) {
			server := Session(t)

			reply := CallWrong(t, server, Request{Method: method, Name: "ref/unknown", Params: Object{
				"ref":      Object{"type": "ref/unknown", "name": "any"},
				"argument": Object{"name": "any", "value": ""},
			}}, inOrder(t)...)

			t.Expect(reply).To(BeJSONRPCError())
		})

	It("rejects completion/complete with an argument value that is not a string",
		Verifies("completion.inputs.validated"), NeedsCapability("completions"), func(t *T) {
			argument := completable(t)[0]
			server := Session(t)

			reply := CallWrong(t, server, Request{Method: method, Name: "value", Params: Object{
				"ref":      argument.Ref,
				"argument": Object{"name": argument.Name, "value": Object{"not": "a string"}},
			}}, inOrder(t)...)

			t.Expect(reply).To(BeJSONRPCError())
		})

	It("rejects completion/complete with context.arguments that are not strings",
		Verifies("completion.inputs.validated"), AtRevisionsWith(protocol.CompletionContext), NeedsCapability("completions"), func(t *T) {
			argument := completable(t)[0]
			server := Session(t)
			wrong := argument.Completion("", nil)
			wrong["context"] = Object{"arguments": Object{"mcpconform": 4711}}

			reply := CallWrong(t, server, Request{Method: method, Name: "context", Params: wrong}, inOrder(t)...)

			t.Expect(reply).To(BeJSONRPCError())
		})
}

// completable returns some arguments of the target's prompts and templates; a
// check without any ends.
func completable(t *T) []arguments.Argument {
	all := arguments.Completable(t, maxCompleted)
	if len(all) == 0 {
		t.NotApplicable("the server has no prompt with an argument and no resource template")
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
func knownBeside(t *T, server *Server, argument arguments.Argument) map[string]string {
	known := map[string]string{}
	for _, other := range completable(t) {
		if other.Name == argument.Name || !reflect.DeepEqual(other.Ref, argument.Ref) {
			continue
		}
		values, _ := arguments.Completed(t, server, []arguments.Argument{other})
		maps.Copy(known, values)
	}
	return known
}

func completes(reply Reply) bool {
	_, there := reply.Object()["completion"].(map[string]any)
	return there
}

// inOrder completes arguments of the target: beside that shows what a refusal is about.
func inOrder(t *T) []Request {
	var requests []Request
	for _, argument := range arguments.Completable(t, maxControls) {
		name := mcp.Text(argument.Ref, "name")
		requests = append(requests, Request{Method: method, Params: argument.Completion("", nil), Name: name})
	}
	return requests
}

// anyArgument returns one of the target's, or one that is made up.
func anyArgument(t *T) arguments.Argument {
	if all := arguments.Completable(t, 1); len(all) > 0 {
		return all[0]
	}
	return arguments.Argument{Ref: Object{"type": "ref/prompt", "name": unknownPrompt}, Name: "any"}
}

// valuesOf returns the values of a completion; none, if it is none.
func valuesOf(reply Reply) []any {
	return mcp.List(reply.Object(), "completion", "values")
}
