// Package sampling checks the page client/sampling.
package sampling

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/schema"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

const method = "sampling/createMessage"

// rejected is the code that the page gives to a refusal by the user.
const rejected = -1

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Sampling", Together("asking"), func() {
		requests()
		toolLoops()
		answers()
	})
}

func requests() {
	It("requests sampling/createMessage only from a client that declares sampling",
		Verifies("lifecycle.capabilities.of-peer", "mrtr.requests.declared"), NeedsProvocation("sampling"), func(t *T) {
			server := DeclaringSession(t, scripted.Everything(t.Revision()).Without("sampling"))

			requests := asking.Unasked(t, Session(t), server, "sampling", method)

			asking.DemandNone(t, requests...)
		})

	It("sends sampling/createMessage without includeContext thisServer or allServers",
		Verifies("sampling.request.no-context"), NeedsProvocation("sampling"), func(t *T) {
			server := DeclaringSession(t, scripted.Everything(t.Revision()).With("sampling", Object{"context": Object{}, "tools": Object{}}))

			question := asking.Provoke(t, server, "sampling", method)

			t.Expect(question.Params()).NotTo(HaveMember("includeContext", BeOneOf("thisServer", "allServers")))
			question.GiveUp(t)
		})

	It("includes no tools in sampling requests to a client that does not declare sampling.tools",
		Verifies("sampling.request.tools"), NeedsProvocation("sampling-tools"), func(t *T) {
			server := FreshSession(t)

			requests := asking.Unasked(t, DeclaringSession(t, lendable(t)), server, "sampling-tools", method)

			asking.DemandNone(t, slices.DeleteFunc(requests, func(asked ServerRequest) bool {
				_, tools := asked.Parameters["tools"]
				_, choice := asked.Parameters["toolChoice"]
				return !tools && !choice
			})...)
		})
}

func toolLoops() {
	It("sends a tool_result for each tool_use of the model in its next sampling request",
		Verifies("sampling.results.balanced", "sampling.results.unmixed"), NeedsProvocation("sampling-tools"), func(t *T) {
			server := DeclaringSession(t, lendable(t))
			server.Answer(method, usingTools(1))

			question := asking.Provoke(t, server, "sampling-tools", method)
			question.Outcome()

			requests := question.Since(method)
			if len(requests) < 2 {
				t.Inconclusive("the server sent no further sampling request after the tool_use of the model",
					"name a tool that does under provocations.sampling-tools in mcpconform.yaml")
			}
			t.Expect(lastMessage(requests[1])).To(HaveMember("content", answerUses("use-1-1", "use-1-2")))
		})

	It("limits the rounds of a sampling loop in which the model always returns tool_use",
		Verifies("sampling.tool-loop.limited"), NeedsProvocation("sampling-tools"), func(t *T) {
			server := DeclaringSession(t, lendable(t))
			server.Answer(method, usingTools(tooManyRounds))

			question := asking.Provoke(t, server, "sampling-tools", method)
			question.MustEnd()

			rounds := len(question.Since(method))
			if rounds < 2 {
				t.Inconclusive("the server sent no further sampling request after the tool_use of the model",
					"name a tool that does under provocations.sampling-tools in mcpconform.yaml")
			}
			t.Demand(rounds <= tooManyRounds, "an end after some rounds", fmt.Sprintf("%d rounds, until the model stopped by itself", rounds))
		})
}

// tooManyRounds is more than a sensible server lets a model use tools, and few
// enough that what is said in them, again in each round, can be kept.
const tooManyRounds = 50

// lendable is a client whose model can use tools.
func lendable(t *T) scripted.Capabilities {
	return scripted.Everything(t.Revision()).With("sampling", Object{"tools": Object{}})
}

// usingTools answers for a model that uses the first tool twice in each of
// some rounds, and then says something.
func usingTools(rounds int64) scripted.Answer {
	var asked atomic.Int64
	return scripted.Answering(func(params Object) Object {
		round := asked.Add(1)
		tools := mcp.List(params, "tools")
		if round > rounds || len(tools) == 0 {
			return scripted.Generation(params)
		}
		tool := mcp.Object(tools[0])
		use := func(number int) Object {
			return Object{"type": "tool_use", "id": fmt.Sprintf("use-%d-%d", round, number), "name": tool["name"], "input": inputFor(tool)}
		}
		return Object{"role": "assistant", "model": "scripted", "stopReason": "toolUse", "content": []any{use(1), use(2)}}
	})
}

// inputFor makes an input that a tool takes.
func inputFor(tool Object) any {
	input, err := schema.Example(tool["inputSchema"], 0)
	if err != nil {
		return Object{}
	}
	return input
}

// answerUses matches the content of a message that consists of the results of
// uses of tools, one of each.
func answerUses(ids ...string) types.GomegaMatcher {
	return Be("the results of "+strings.Join(ids, " and ")+", and nothing else", func(content any) bool {
		var answered []string
		for _, block := range mcp.Objects(content) {
			id := mcp.Text(block, "toolUseId")
			if block["type"] != "tool_result" {
				return false
			}
			answered = append(answered, id)
		}
		slices.Sort(answered)
		return slices.Equal(answered, ids)
	})
}

func lastMessage(request ServerRequest) Object {
	messages := mcp.List(request.Parameters, "messages")
	if len(messages) == 0 {
		return nil
	}
	return mcp.Object(messages[len(messages)-1])
}

func answers() {
	asking.Answered("continues after sampling/createMessage returned a message", "sampling.answer.handled", "sampling", method, nil)

	asking.Answered("continues after the user rejected sampling/createMessage (-1)", "sampling.answer.handled", "sampling", method,
		scripted.Refusal(rejected, "User rejected sampling request"))

	asking.Answered("continues after sampling/createMessage was rejected with -32601", "sampling.answer.handled", "sampling", method,
		scripted.Refusal(jsonrpc.MethodNotFound, "Method not found"))

	asking.Unanswered("continues while sampling/createMessage is not answered", "sampling.answer.handled", "sampling", method)

	It("rejects a sampling/createMessage result whose text is not a string",
		Verifies("sampling.content.validated"), NeedsProvocation("sampling"), func(t *T) {
			server := Session(t)
			good := asking.NeedSuccess(t, server, "sampling")
			server.Answer(method, scripted.Answering(func(Object) Object {
				return Object{"role": "assistant", "model": "scripted", "content": Object{"type": "text", "text": Object{"wrong": asking.Marker}}}
			}))

			question := asking.Provoke(t, server, "sampling", method)
			outcome := question.Outcome()

			question.JudgeValidation(t, outcome, good, "the message in the answer has a text that is not a string")
			server.StaysUsable()
		})

}
