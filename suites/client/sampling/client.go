package sampling

import (
	"maps"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Sampling", func() {
		samplings()
		rejections()
		wrongRequests()
	})
}

// question is a request for sampling.
func question(deliberate string, more Object, messages ...any) scripted.ServerRequest {
	params := Object{"messages": messages, "maxTokens": 100}
	maps.Copy(params, more)
	return scripted.ServerRequest{Method: method, Params: params, Deliberate: deliberate}
}

func message(role string, content any) Object { return Object{"role": role, "content": content} }

func text(words string) Object { return Object{"type": "text", "text": words} }

// hello is a message that nothing is wrong with.
var hello = message("user", text("Say hello."))

// greeting is what the model says.
const greeting = "Hello."

// spoken and used are what a model answers: with words, or with the use of a tool.
var (
	spoken = Object{"role": "assistant", "content": text(greeting), "model": "a-model", "stopReason": "endTurn"}
	used   = Object{"role": "assistant", "content": use("use-1"), "model": "a-model", "stopReason": "toolUse"}
)

func use(id string) Object {
	return Object{"type": "tool_use", "id": id, "name": "weather", "input": Object{"city": "Paris"}}
}

func result(id string) Object {
	return Object{"type": "tool_result", "toolUseId": id, "content": []any{text("It rains.")}}
}

// lending are the params of a request that lends a tool, to be used in a mode.
func lending(mode string) Object {
	return Object{
		"tools": []any{Object{
			"name": "weather", "description": "Tells the weather of a city",
			"inputSchema": Object{"type": "object", "properties": Object{"city": Object{"type": "string"}}},
		}},
		"toolChoice": Object{"mode": mode},
	}
}

// model is a client whose model answers.
var model = &Scenario{
	Name: "sampling", Says: "During a call the server sends two sampling/createMessage requests.",
	Since: "2026-07-28",
	Steps: Steps{ToAnswer(method, spoken), ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers), ToList("prompts"), ToClose()},
	Server: func(server *scripted.Server) {
		asking.DuringCalls(server,
			question("", Object{
				"systemPrompt": "Be short.", "temperature": 0.5,
				"modelPreferences": Object{"hints": []any{Object{"name": "small"}}, "speedPriority": 1},
			}, hello),
			question("", nil, hello, message("assistant", text("Hello.")), hello),
		)
	},
}

// lent is a client whose model uses tools.
var lent = &Scenario{
	Name:  "sampling-with-tools",
	Says:  "During calls the server sends sampling requests with a tool and toolChoice required, auto and none.",
	Since: "2025-11-25",
	Steps: Steps{
		ToAnswer(method, used).Declaring(Object{"tools": Object{}}),
		ToAnswer(method, spoken),
		ToConnect(),
		ToList("tools"),
		ToCall("must_use", nil),
		ToCall("must_not_use", nil),
		ToCall("may_use", nil),
		ToCall("has_used", nil),
		ToList("prompts"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		asking.Tool(server, "must_use", question("", lending("required"), hello))
		asking.Tool(server, "must_not_use", question("", lending("none"), hello))
		asking.Tool(server, "may_use", question("", lending("auto"), hello))
		asking.Tool(server, "has_used", question("", lending("auto"),
			hello, message("assistant", []any{use("a"), use("b")}), message("user", []any{result("a"), result("b")})))
	},
}

func samplings() {
	It("returns no message for sampling/createMessage if it does not declare sampling",
		Verifies("sampling.capability.declared"), In(asking.Undeclared), func(t *T) {
			client := RunScenario(t)

			request := asking.NeedUndeclared(t, client, method, "sampling")
			if request.Answered() {
				client.Fail(request.Answer, Mismatch{Wanted: "no message, as the client does not declare sampling", Found: request.Describe()})
			}
			asking.Abstained(t, client, request)
		})

	It("implements sampling/createMessage if it declares sampling", Verifies("sampling.capability.fulfilled"), In(asking.Declared), func(t *T) {
		client := RunScenario(t)

		call, request := asking.NeedDeclared(client, asking.SamplingTool, method, "sampling")
		asking.JudgeFulfilment(t, client, call, request)
	})

	It(
		"implements sampling/createMessage or does not declare sampling",
		Verifies("sampling.capability.fulfilled"),
		In(asking.Undeclared),
		func(t *T) { asking.JudgeUntold(t, RunScenario(t), method, "sampling") },
	)

	It("rejects no valid sampling request with tools, or with content in a list, as invalid",
		Verifies("sampling.capability.fulfilled"), In(lent), func(t *T) {
			client := RunScenario(t)

			if needResults(client); !client.Declares("sampling.tools") {
				client.Inconclusive("the client does not declare sampling.tools", method)
			}
			for request := range ObserveEach(t, client.ServerRequests(method)) {
				if request.Refusal.Code == jsonrpc.InvalidParams || request.Refusal.Code == jsonrpc.InvalidRequest {
					client.Fail(request.Answer, Mismatch{Wanted: "a message, as for the other sampling requests", Found: request.Describe()})
				}
			}
		})

	It("declares sampling in the request whose inputResponses contain a message", Verifies("sampling.capability.declared"), In(model), func(t *T) {
		client := RunScenario(t)

		for _, request := range needResults(client) {
			asking.JudgeDeclaration(t, client, request, "sampling")
		}
	})

	It("answers a sampling request with toolChoice required with tool_use", Verifies("sampling.tool-choice.required"), In(lent), func(t *T) {
		judgeChoice(RunScenario(t), "required", true)
	})

	It("answers a sampling request with toolChoice none without tool_use", Verifies("sampling.tool-choice.none"), In(lent), func(t *T) {
		judgeChoice(RunScenario(t), "none", false)
	})
}

// judgeChoice judges whether the model uses a tool where the toolChoice has a mode.
func judgeChoice(client *Client, mode string, wanted bool) {
	for _, request := range needResults(client) {
		choice := mcp.Object(request.Params, "toolChoice")
		if choice["mode"] != mode {
			continue
		}
		client.Judging(request.Answer)
		if uses(request.Result["content"]) != wanted {
			client.Fail(request.Answer, Mismatch{
				Wanted: "an answer that fits the toolChoice " + Show(choice),
				Found:  Show(request.Result["content"]),
				Where:  request.Where + "/content",
			})
		}
	}
}

// uses tells whether a model uses a tool in what it says.
func uses(content any) bool { return holds(content, "type", "tool_use") }

// holds tells whether what a model says, which may be one thing or many, has a member
// of a value. What else it has is left to the client.
func holds(content any, member, value string) bool {
	blocks, isList := content.([]any)
	if !isList {
		blocks = []any{content}
	}
	return slices.ContainsFunc(blocks, func(block any) bool { return mcp.Value(block, member) == value })
}

// needResults returns the requests for sampling that were answered by a result, of
// which the check needs one at least.
func needResults(client *Client) []AnsweredRequest {
	var all []AnsweredRequest
	for _, request := range client.NeedServerRequests(method) {
		if request.Answered() {
			all = append(all, request)
		}
	}
	if len(all) == 0 {
		client.Inconclusive("the client answered no sampling request with a result", method)
	}
	return all
}

// rejects is a client whose user does not want the model to be asked.
var rejects = &Scenario{
	Name:  "sampling-rejected",
	Says:  "During two calls the server sends sampling requests, the second of which the user rejects.",
	Until: "2025-11-25",
	Steps: Steps{
		ToAnswer(method, spoken),
		ToRefuse(method, rejected, "User rejected sampling request").ID(rejection),
		ToConnect(),
		ToList("tools"),
		ToCall(scripted.AddNumbers, asking.Numbers),
		ToCall(scripted.AddNumbers, asking.Numbers),
		ToClose(),
	},
	Server: func(server *scripted.Server) { asking.DuringCalls(server, question("", nil, hello)) },
}

func rejections() {
	It("answers sampling/createMessage with an error when the user rejects the request",
		Verifies("sampling.error.any", "sampling.error.rejected"), In(rejects), func(t *T) {
			client := RunScenario(t)

			request := needRejected(client)
			if !t.Observed(request.Refused) {
				client.Fail(request.Answer, Mismatch{Wanted: "an error, as the user rejects the request", Found: request.Describe()})
			}
		})

	It("uses -1 as error code when the user rejects sampling/createMessage", Verifies("sampling.error.rejected"), In(rejects), func(t *T) {
		client := RunScenario(t)

		request := needRejected(client)
		if !request.Refused {
			client.Inconclusive("the client did not reject "+method, method)
		}
		if !t.Observed(request.Refusal.Code == rejected) {
			client.Fail(request.Answer, Mismatch{Wanted: "the code -1", Found: request.Describe(), Where: "/error/code"})
		}
	})
}

// needRejected returns the request for sampling that the user rejects. That the client
// answers as it is told its answer to the one before shows, and its driver tells.
func needRejected(client *Client) AnsweredRequest {
	all := client.NeedServerRequests(method)
	if client.NeedOutcome(rejection).Failed() || len(all) < 2 || all[1].Answer == nil ||
		!holds(all[0].Result["content"], "text", greeting) {
		client.Inconclusive("the client does not answer "+method+" as it is told", method)
	}
	return all[1]
}

// rejection is the step by which the client is told to refuse.
const rejection = "rejection"

// What is wrong with the messages of requests for sampling.
const (
	noData          = "an image without data"
	noContent       = "a message without content"
	noSecondContent = "a second message without content"
	noSound         = "audio that is not Base64"
	otherRole       = "a message of the role system"
	resultMissing   = "the result of a tool use is missing"
	resultMixed     = "a tool result is mixed with text"
)

// wrongMessages is a server whose requests for sampling have messages that no model
// can make sense of.
var wrongMessages = &Scenario{
	Name: "sampling-wrong-messages", Says: "During calls the server sends sampling requests with malformed messages.",
	Steps: Steps{
		ToAnswer(method, spoken), ToConnect(), ToList("tools"),
		ToCall("well_formed", nil), ToCall("no_data", nil), ToCall("no_content", nil), ToCall("no_second_content", nil),
		ToCall("no_sound", nil), ToCall("other_role", nil),
		ToList("prompts"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		asking.Tool(server, "well_formed", question("", nil, hello))
		asking.Tool(server, "no_data", question(noData, nil, message("user", Object{"type": "image", "mimeType": "image/png"})))
		asking.Tool(server, "no_content", question(noContent, nil, Object{"role": "user"}))
		asking.Tool(server, "no_second_content", question(noSecondContent, nil, hello, Object{"role": "assistant"}))
		asking.Tool(server, "no_sound", question(noSound, nil, hello,
			message("user", Object{"type": "audio", "mimeType": "audio/wav", "data": "%%%"})))
		asking.Tool(server, "other_role", question(otherRole, nil, message("system", text("Be short.")), hello))
	},
}

// wrongResults is a server whose requests for sampling make wrong use of the results of
// tools.
var wrongResults = &Scenario{
	Name:  "sampling-wrong-results",
	Says:  "During calls the server sends sampling requests with tool results: valid, with one missing, and mixed with text.",
	Since: "2025-11-25",
	Until: "2025-11-25",
	Steps: Steps{
		ToAnswer(method, spoken).Declaring(Object{"tools": Object{}}),
		ToConnect(),
		ToList("tools"),
		ToCall("results_given", nil),
		ToCall("result_missing", nil),
		ToCall("result_mixed", nil),
		ToList("prompts"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		asking.Tool(server, "results_given", question("", lending("auto"),
			hello, message("assistant", []any{use("a"), use("b")}), message("user", []any{result("a"), result("b")})))
		asking.Tool(server, "result_missing", question(resultMissing, lending("auto"),
			hello, message("assistant", []any{use("a"), use("b")}), message("user", []any{result("a")})))
		asking.Tool(server, "result_mixed", question(
			resultMixed,
			lending("auto"),
			hello,
			message("assistant", []any{use("a")}),
			message("user", []any{result("a"), text("What about tomorrow?")}),
		))
	},
}

func wrongRequests() {
	It("returns no result for sampling/createMessage with malformed messages", Verifies("sampling.content.validated"), In(wrongMessages), func(t *T) {
		client := RunScenario(t)

		needResults(client)
		for _, wrong := range []string{noData, noContent, noSecondContent, noSound, otherRole} {
			for _, request := range needAsked(client, wrong) {
				if request.Answered() {
					client.Fail(request.Answer, Mismatch{
						Wanted: "no result, since the messages have " + wrong,
						Found:  Show(request.Result),
						Where:  request.Where,
					})
				}
				if !t.Observed(request.Refused || client.Continued(request.Message)) {
					client.Inconclusive("the client neither rejected the sampling request nor continued after "+wrong, method)
				}
			}
		}
	})

	It("rejects sampling messages without the tool_result of a tool_use with -32602",
		Verifies("sampling.error.result-missing"), In(wrongResults), func(t *T) {
			client := RunScenario(t)

			judgeInvalid(t, client, resultMissing)
		})

	It("rejects sampling messages that mix tool_result with other content with -32602",
		Verifies("sampling.error.result-mixed"), In(wrongResults), func(t *T) {
			client := RunScenario(t)

			judgeInvalid(t, client, resultMixed)
		})
}

func judgeInvalid(t *T, client *Client, wrong string) {
	if client.NeedRequests("tools/call"); !client.Declares("sampling.tools") {
		client.Inconclusive("the client does not declare sampling.tools", method)
	}
	needResults(client)
	for _, request := range needAsked(client, wrong) {
		switch {
		case request.Answer == nil:
			client.Inconclusive("the client did not answer "+method, method)
		case !t.Observed(request.Refusal.Code == jsonrpc.InvalidParams):
			client.Fail(request.Answer, Mismatch{Wanted: "error -32602 (Invalid params), since " + wrong, Found: request.Describe()})
		}
	}
}

// needAsked returns the requests for sampling that are wrong on purpose, of which the
// check needs one.
func needAsked(client *Client, wrong string) []AnsweredRequest {
	all := asking.On(client.ServerRequests(method), wrong)
	if len(all) == 0 {
		client.Inconclusive("the client did not make the call during which "+wrong+" would have been sent", "tools/call")
	}
	return all
}
