package asking

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Numbers are arguments of the tool that every scripted server has.
var Numbers = check.Object{"a": 5, "b": 3}

// Tool adds a tool to a scripted server that asks the client some questions before it
// ends.
func Tool(server *scripted.Server, name string, questions ...scripted.ServerRequest) {
	server.AddTool(name, nil, func(call *scripted.Call) {
		if call.SendRequests(questions...) {
			call.Answer(scripted.Text("done"))
		}
	})
}

// DuringCalls makes a scripted server ask some questions before it answers any call of
// a tool.
func DuringCalls(server *scripted.Server, questions ...scripted.ServerRequest) {
	server.On("tools/call", func(call *scripted.Call) {
		if call.SendRequests(questions...) {
			call.Good()
		}
	})
}

// On returns the requests whose question is illegal for a reason on purpose.
func On(requests []clientrun.AnsweredRequest, deliberate string) []clientrun.AnsweredRequest {
	var all []clientrun.AnsweredRequest
	for _, request := range requests {
		if request.Message.Event.Deliberate == deliberate {
			all = append(all, request)
		}
	}
	return all
}

// Undeclared is a client that is asked for everything that it has not declared.
var Undeclared = &scenario.Scenario{
	Name:  "undeclared-questions",
	Says:  "During each of two calls the server requests roots, sampling and a form elicitation, which the client does not declare.",
	Until: "2025-11-25",
	Steps: scenario.Steps{
		scenario.ToConnect(), scenario.ToList("tools"), scenario.ToCall(scripted.AddNumbers, Numbers),
		scenario.ToCall(scripted.AddNumbers, Numbers), scenario.ToList("prompts"), scenario.ToClose(),
	},
	Server: func(server *scripted.Server) {
		const reason = "the client does not declare this capability"
		DuringCalls(server,
			scripted.ServerRequest{Method: "roots/list", Deliberate: reason},
			scripted.ServerRequest{Method: "sampling/createMessage", Deliberate: reason, Params: check.Object{
				"messages":  []any{check.Object{"role": "user", "content": check.Object{"type": "text", "text": "Say hello."}}},
				"maxTokens": 100,
			}},
			scripted.ServerRequest{Method: "elicitation/create", Deliberate: reason, Params: check.Object{
				"message":         "Who are you?",
				"requestedSchema": check.Object{"type": "object", "properties": check.Object{"name": check.Object{"type": "string"}}},
			}},
		)
	},
}

// Tools of Declared, each of which asks for one thing.
const (
	SamplingTool    = "ask_for_sampling"
	ElicitationTool = "ask_for_a_form"
	RootsTool       = "ask_for_roots"
)

// greeting tells the questions of Declared from others.
const greeting = "Are you there?"

// Declared is a client that is asked for everything that it declares.
var Declared = &scenario.Scenario{
	Name:  "declared-questions",
	Says:  "During calls the server requests sampling, a form elicitation and roots, which the steps ask the client to declare and answer.",
	Until: "2025-11-25",
	Steps: scenario.Steps{
		scenario.ToAnswer("sampling/createMessage", check.Object{
			"role":       "assistant",
			"content":    check.Object{"type": "text", "text": "I am."},
			"model":      "a-model",
			"stopReason": "endTurn",
		}),
		scenario.ToAnswer("elicitation/create", check.Object{"action": "accept", "content": check.Object{"there": true}}),
		scenario.ToAnswer("roots/list", check.Object{"roots": []any{check.Object{"uri": "file:///home/user/project"}}}),
		scenario.ToConnect(),
		scenario.ToList("tools"),
		scenario.ToCall(SamplingTool, nil),
		scenario.ToCall(ElicitationTool, nil),
		scenario.ToCall(RootsTool, nil),
		scenario.ToList("tools"),
		scenario.ToClose(),
	},
	Server: func(server *scripted.Server) {
		Tool(server, SamplingTool, scripted.ServerRequest{Method: "sampling/createMessage", Params: check.Object{
			"messages":  []any{check.Object{"role": "user", "content": check.Object{"type": "text", "text": greeting}}},
			"maxTokens": 100,
		}})
		Tool(server, ElicitationTool, scripted.ServerRequest{Method: "elicitation/create", Params: check.Object{
			"message":         greeting,
			"requestedSchema": check.Object{"type": "object", "properties": check.Object{"there": check.Object{"type": "boolean"}}},
		}})
		Tool(server, RootsTool, scripted.ServerRequest{Method: "roots/list"})
	},
}

// NeedDeclared returns what came of a question of Declared, and the call during which it
// was asked. Of a client that does not declare the capability nothing is shown.
func NeedDeclared(
	client *clientrun.Client,
	tool, method, capability string,
) (call *rules.Message, request clientrun.AnsweredRequest) {
	call = client.NeedCalls(tool)[0]
	if !client.Declares(capability) {
		client.Inconclusive("the client does not declare "+capability, method)
	}
	return call, client.NeedServerRequests(method)[0]
}

// JudgeFulfilment judges that the client answers what it was asked for by a question of
// Declared. One that refuses may have its reasons, but not that it knows no such request.
func JudgeFulfilment(t *check.T, client *clientrun.Client, call *rules.Message, request clientrun.AnsweredRequest) {
	switch {
	case t.Observed(request.Answered()):
	case request.Refused && disowns(request.Refusal.Code):
		client.Fail(request.Answer, rules.Mismatch{
			Wanted: "an answer to " + request.Method + ", whose capability the client declares",
			Found:  request.Describe(),
		})
	case request.Refused:
		client.Inconclusive("the client rejected "+request.Method, request.Method)
	default:
		client.NeedRequestAfter(clientrun.AnswerTo(call)) // which came when the server had waited for the answer
		client.Missing(request.Message, rules.Mismatch{
			Wanted: "an answer to " + request.Method + ", whose capability the client declares",
			Found:  "none, though the client continues",
		})
	}
}

// disowns tells whether the code of a refusal says that the client knows no such request, or
// takes one that is valid for none.
func disowns(code int64) bool {
	return code == jsonrpc.MethodNotFound || code == jsonrpc.InvalidRequest
}

// JudgeUntold judges that a client which declares a capability without a step for it
// does not reject requests of it with -32601 or -32600.
func JudgeUntold(t *check.T, client *clientrun.Client, method, capability string) {
	client.NeedRequests("tools/call")
	if !client.Declares(capability) {
		t.NotApplicable("the client declares " + capability + " only if the steps ask for it")
	}
	answered := false
	for _, request := range client.NeedServerRequests(method) {
		if request.Refused && disowns(request.Refusal.Code) {
			client.Fail(request.Answer, rules.Mismatch{
				Wanted: "an answer to " + method + ", whose capability the client declares, or no such capability",
				Found:  request.Describe(),
			})
		}
		answered = t.Observed(request.Answered()) || answered
	}
	if !answered {
		client.Inconclusive("the client neither answered "+method+" nor rejected it as unknown", method)
	}
}

// NeedUndeclared returns what came of a question of Undeclared, of which the check needs
// an answer. Of a client that declares the capability nothing is shown.
func NeedUndeclared(t *check.T, client *clientrun.Client, method, capability string) clientrun.AnsweredRequest {
	client.NeedRequests("tools/call")
	if client.Declares(capability) {
		t.NotApplicable("the client declares " + capability + " regardless of the steps")
	}
	request := client.NeedServerRequests(method)[0]
	if request.Answer == nil {
		client.Inconclusive("the client did not answer "+method, "tools/call")
	}
	return request
}

// Abstained observes that the client gave nothing to what it has not declared, though it
// gives that where it has: to a question of Declared by the same method.
func Abstained(t *check.T, client *clientrun.Client, request clientrun.AnsweredRequest) {
	if declared := clientrun.AlsoRun(t, Declared); declared != nil &&
		slices.ContainsFunc(declared.ServerRequests(request.Method), clientrun.AnsweredRequest.Answered) {
		client.Judging(request.Answer)
		return
	}
	client.Inconclusive("it is unknown whether the client would answer "+request.Method+" if it had declared it", request.Method)
}

// JudgeDeclaration judges that the client has declared a capability of which it makes
// use: in the handshake, or with the very request that brings its answer.
func JudgeDeclaration(t *check.T, client *clientrun.Client, request clientrun.AnsweredRequest, capability string) {
	for _, conversation := range client.Conversations {
		if !slices.Contains(conversation.Messages, request.Answer) {
			continue
		}
		declared := conversation.ClientDeclared(request.Answer)
		if _, there := declared[capability]; !t.Observed(there) {
			client.Fail(request.Answer, rules.Mismatch{
				Wanted: "the capability " + capability + " declared, since it answers", Found: rules.Show(declared),
			})
		}
	}
}
