package mrtr

import (
	"maps"
	"slices"
	"strings"
	"time"

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
	Describe("Requests that need input", func() {
		retriesOfClients()
		simultaneous()
		undeclared()
	})
}

// What the scripted server asks for.
var (
	confirmation = scripted.ServerRequest{Method: "elicitation/create", Params: Object{
		"mode": "form", "message": "Are you sure?",
		"requestedSchema": Object{"type": "object", "properties": Object{"confirmed": Object{"type": "boolean"}}},
	}}
	sampling = scripted.ServerRequest{Method: "sampling/createMessage", Params: Object{
		"messages":  []any{Object{"role": "user", "content": Object{"type": "text", "text": "Say hello."}}},
		"maxTokens": 100,
	}}
	roots = scripted.ServerRequest{Method: "roots/list"}
)

// answers are what the client is told to answer.
var answers = Steps{
	ToAnswer(confirmation.Method, Object{"action": "accept", "content": Object{"confirmed": true}}),
	ToAnswer(sampling.Method, Object{
		"role":       "assistant",
		"content":    Object{"type": "text", "text": "Hello."},
		"model":      "a-model",
		"stopReason": "endTurn",
	}),
	ToAnswer(roots.Method, Object{"roots": []any{Object{"uri": "file:///home/user/project"}}}),
}

// need asks for those of some inputs, by key, that the client has declared, and gives it
// a state; "" for none. It reports false when there is nothing to ask.
func need(call *scripted.Call, state string, questions map[string]scripted.ServerRequest) bool {
	var requests Object
	for key, question := range questions {
		if !call.MayAsk(question) {
			continue
		}
		if requests == nil {
			requests = Object{}
		}
		request := Object{"method": question.Method}
		if question.Params != nil {
			request["params"] = question.Params
		}
		requests[key] = request
	}
	if requests == nil && state == "" {
		return false
	}
	call.Need(requests, state)
	return true
}

// isRetry tells whether a call brings what a result has asked for.
func isRetry(call *scripted.Call) bool {
	_, remembers := call.Params()["requestState"]
	return remembers || call.Responses() != nil
}

// stateOnly is a tool whose calls need no input, and come again with a state.
const stateOnly = "state_only"

// emptyState is a tool whose calls need input, and come again with a state that is empty.
const emptyState = "empty_state"

// Tools of the scenario of the official suite.
const (
	echoState    = "test_mrtr_echo_state"
	noState      = "test_mrtr_no_state"
	unrelated    = "test_mrtr_unrelated"
	noResultType = "test_mrtr_no_result_type"
)

// oddState is a state that comes back as it is only from a client that leaves it alone.
var oddState = " {\"a\":1}\t\"\\ \u00e9\u2028\U0001F600 +/=%20&amp; " + strings.Repeat("0123456789abcdef", 256)

// needing is a server that needs input for all that it may need it for.
var needing = &Scenario{
	Name: "input-required", Says: "The server needs input to answer calls of tools, a prompt and a resource.",
	Official: "sep-2322-client-request-state",
	Since:    "2026-07-28",
	Steps: append(
		append(Steps{}, answers...),
		ToConnect(),
		ToList("tools"),
		ToCall(echoState, nil),
		ToCall(noState, nil),
		ToCall(unrelated, nil),
		ToCall(noResultType, nil),
		ToCall(stateOnly, nil),
		ToCall("sampling_only", nil),
		ToCall("roots_only", nil),
		ToCall("all_kinds", nil),
		ToCall("two_rounds", nil),
		ToCall(emptyState, nil),
		ToGet(scripted.PromptName, Object{"name": "you"}),
		ToRead(scripted.ResourceURI),
		ToList("tools"),
		ToClose(),
	),
	Server: func(server *scripted.Server) {
		tool := func(name, state string, questions map[string]scripted.ServerRequest) {
			server.AddTool(name, nil, func(call *scripted.Call) {
				if isRetry(call) || !need(call, state, questions) {
					call.Answer(scripted.Text("done"))
				}
			})
		}
		confirm := map[string]scripted.ServerRequest{"confirm": confirmation}
		tool(echoState, oddState, confirm)
		tool(noState, "", confirm)
		tool(stateOnly, "only a state", nil)
		tool("sampling_only", "", map[string]scripted.ServerRequest{"answer": sampling})
		tool("roots_only", "", map[string]scripted.ServerRequest{"roots": roots})
		tool("all_kinds", "", map[string]scripted.ServerRequest{"a/b": confirmation, "~c": sampling, "": roots})
		server.AddTool(unrelated, nil, func(call *scripted.Call) { call.Answer(scripted.Text("done")) })
		server.AddTool(noResultType, nil, func(call *scripted.Call) { call.Finally(jsonrpc.NewResult(call.Message.ID, scripted.Text("done")), "") })
		server.AddTool("two_rounds", nil, twoRounds)
		server.AddTool(emptyState, nil, func(call *scripted.Call) {
			if isRetry(call) || !call.MayAsk(confirmation) {
				call.Answer(scripted.Text("done"))
				return
			}
			request := Object{"method": confirmation.Method, "params": confirmation.Params}
			call.Answer(Object{"resultType": "input_required", "requestState": "", "inputRequests": Object{"confirm": request}})
		})
		for _, method := range []string{"prompts/get", "resources/read"} {
			server.On(method, func(call *scripted.Call) {
				if isRetry(call) || !need(call, "the state of "+method, confirm) {
					call.Good()
				}
			})
		}
	},
}

// untold is a server that needs input of what a client declares without having been told to.
var untold = &Scenario{
	Name:  "input-required-of-the-untold",
	Says:  "The server needs input to answer tool calls, if the client declares the capability, which the steps do not ask for.",
	Since: "2026-07-28",
	Steps: Steps{
		ToConnect(), ToList("tools"),
		ToCall(noState, nil), ToCall("sampling_only", nil), ToCall("roots_only", nil),
		ToList("prompts"), ToClose(),
	},
	Server: needing.Server,
}

// twoRounds asks twice, with another state each time.
func twoRounds(call *scripted.Call) {
	switch call.Text("requestState") {
	case "":
		need(call, "round 1", map[string]scripted.ServerRequest{"first": confirmation})
	case "round 1":
		need(call, "round 2", map[string]scripted.ServerRequest{"second": roots})
	default:
		call.Answer(scripted.Text("done"))
	}
}

// simpleNeeds are tools whose calls need one input, each with what it asks for.
var simpleNeeds = map[string]scripted.ServerRequest{echoState: confirmation, noState: confirmation, "sampling_only": sampling, "roots_only": roots}

// asksForInput tells whether a result asks for anything: one with a state alone may be left
// where it is.
func asksForInput(result *Message) bool {
	return len(mcp.Object(result.ResultObject(), "inputRequests")) > 0
}

// retriesSimply wants a client to make calls again of tools that need one input, and tells
// whether it was asked for any.
func retriesSimply(t *T, client *Client) (asked bool) {
	for _, tool := range slices.Sorted(maps.Keys(simpleNeeds)) {
		for _, call := range client.Calls(tool) {
			result := AnswerTo(call)
			if result == nil || !asksForInput(result) {
				continue
			}
			if asked = true; !t.Observed(isMadeAgain(client, result)) {
				client.NeedRequestAfter(result)
				client.Missing(result, Mismatch{
					Wanted: "a retry of the call with inputResponses, as the client declares the capability for " + simpleNeeds[tool].Method,
					Found:  "no such call, though the client continues",
				})
			}
		}
	}
	return asked
}

func retriesOfClients() {
	It("retries a call with the requested inputResponses", Verifies("mrtr.client.retried"), In(needing), func(t *T) {
		client := RunScenario(t)

		if !retriesSimply(t, client) {
			client.Inconclusive("the client received no inputRequests, as it declares no such capability, or made no call", confirmation.Method)
		}
	})

	It("retries a call with input that it declares to give, or declares none", Verifies("mrtr.client.retried"), In(untold), func(t *T) {
		client := RunScenario(t)
		client.NeedRequests("tools/call")

		if !retriesSimply(t, client) {
			t.NotApplicable("the client declares only what the steps ask for")
		}
	})

	It("returns requestState unchanged when it retries a call", Verifies("mrtr.client.state.echoed"), In(needing), func(t *T) {
		client := RunScenario(t)

		for retry := range ObserveEach(t, needRetries(client, echoState)) {
			if state := retry.ParamsObject()["requestState"]; state != oddState {
				client.Fail(retry, Mismatch{
					Wanted: "the requestState of the result, " + Show(oddState),
					Found:  Show(state),
					Where:  "/params/requestState",
				})
			}
		}
	})

	It("retries a call without requestState if the result had none", Verifies("mrtr.client.state.none"), In(needing), func(t *T) {
		client := RunScenario(t)

		for retry := range ObserveEach(t, needRetries(client, noState)) {
			if state, brings := retry.ParamsObject()["requestState"]; brings {
				client.Fail(retry, Mismatch{Wanted: "no requestState, as the result had none", Found: Show(state), Where: "/params/requestState"})
			}
		}
	})

	It("sends no inputResponses or requestState in unrelated calls", Verifies("mrtr.client.only-retry"), In(needing), func(t *T) {
		client := RunScenario(t)

		retry := needRetries(client, echoState)[0]
		for _, call := range client.NeedCalls(unrelated) {
			t.Observed(call.Event.At.After(retry.Event.At)) // by then there is something to bring
			for _, name := range []string{"inputResponses", "requestState"} {
				if value, brings := call.ParamsObject()[name]; brings {
					client.Fail(call, Mismatch{
						Wanted: "no " + name + ", as this call had no inputRequests",
						Found:  Show(value),
						Where:  "/params/" + name,
					})
				}
			}
		}
	})
}

// isMadeAgain tells whether the client repeated a call after a result that asks for input,
// with any input or state.
func isMadeAgain(client *Client, result *Message) bool {
	return slices.ContainsFunc(client.Calls(mcp.Text(result.Request.ParamsObject(), "name")), func(call *Message) bool {
		return call.Event.At.After(result.Event.At) && bringsAny(call)
	})
}

// needRetries returns the calls of a tool that bring input or a state after a result has
// asked for it, of which the check needs one. Others may be new ones, of a client that
// plays twice.
func needRetries(client *Client, tool string) []*Message {
	retries := slices.DeleteFunc(client.NeedCalls(tool)[1:], func(call *Message) bool { return !bringsAny(call) })
	if len(retries) == 0 {
		client.Inconclusive("the client did not retry the call of "+tool+", which needs input", "elicitation/create")
	}
	return retries
}

// bringsAny tells whether a call brings input or a state.
func bringsAny(call *Message) bool {
	params := call.ParamsObject()
	return params["inputResponses"] != nil || params["requestState"] != nil
}

// atOnce is a server that needs input for two calls at a time.
var atOnce = &Scenario{
	Name: "input-required-at-once", Says: "The server needs input for two concurrent calls.",
	Since: "2026-07-28",
	Steps: append(append(Steps{}, answers...),
		ToConnect(), ToList("tools"),
		ToCall("one", nil).As("one"), ToCall("other", nil).As("other"), ToAwait("one"), ToAwait("other"),
		ToList("tools"), ToClose(),
	),
	Server: func(server *scripted.Server) {
		for name, neighbour := range neighbours {
			server.AddTool(name, nil, func(call *scripted.Call) {
				if isRetry(call) {
					call.Answer(scripted.Text("done"))
					return
				}
				call.Session.Within(besideTime, 0, func(received scripted.Received) bool { return mcp.Value(received.Params(), "name") == neighbour })
				need(call, stateOf(name), map[string]scripted.ServerRequest{name: confirmation})
			})
		}
	},
}

// neighbours are the tools that are called at the same time.
var neighbours = map[string]string{"one": "other", "other": "one"}

// besideTime is how long the server waits for the other of two calls at once.
const besideTime = 1500 * time.Millisecond

func stateOf(tool string) string { return "the state of " + tool }

func simultaneous() {
	It("keeps inputResponses and requestState of concurrent calls apart", Verifies("mrtr.client.only-retry"), In(atOnce), func(t *T) {
		client := RunScenario(t)

		one, other := needRetries(client, "one")[0], needRetries(client, "other")[0]
		for _, call := range client.Requests("tools/call") {
			tool := mcp.Text(call.ParamsObject(), "name")
			state, brings := call.ParamsObject()["requestState"]
			if brings && state == stateOf(neighbours[tool]) {
				client.Fail(call, Mismatch{Wanted: "the state of the call of " + tool, Found: Show(state), Where: "/params/requestState"})
			}
			responses := mcp.Object(call.ParamsObject(), "inputResponses")
			for key := range responses {
				if key == neighbours[tool] {
					client.Fail(call, Mismatch{Wanted: "the input for the call of " + tool, Found: Show(responses), Where: "/params/inputResponses"})
				}
			}
		}
		if one.Event.At.Before(client.Calls("other")[0].Event.At) ||
			other.Event.At.Before(client.Calls("one")[0].Event.At) {
			client.Inconclusive("the client did not make its calls concurrently", "tools/call")
		}
		t.Observe()
	})
}

// uninvited is a server that needs input which the client has not declared.
var uninvited = &Scenario{
	Name: "input-undeclared", Says: "To answer a call the server needs sampling, which the client does not declare.",
	Since: "2026-07-28",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		question := sampling
		question.Deliberate = "the client does not declare sampling"
		asking.DuringCalls(server, question)
	},
}

func undeclared() {
	It("does not retry a call whose inputRequests it cannot answer", Verifies("mrtr.client.inputs"), In(uninvited), func(t *T) {
		client := RunScenario(t)

		client.NeedCalls(scripted.AddNumbers)
		if client.Declares("sampling") {
			t.NotApplicable("the client declares sampling regardless of the steps")
		}
		for _, request := range client.NeedServerRequests(sampling.Method) {
			retry := client.RetryOf(request.Message)
			if retry != nil && !request.Answered() {
				client.Fail(retry, Mismatch{
					Wanted: "the answer to " + sampling.Method + ", or no retry",
					Found:  "a retry without it", Where: "/params/inputResponses",
				})
			}
			if !t.Observed(retry != nil) {
				client.Refrained(request.Message, client.CallOf(scripted.AddNumbers))
			}
		}
	})
}
