package roots

import (
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
	Describe("Listing roots", listing)
}

// The roots of the client in the scenarios.
var (
	project = Object{"uri": "file:///home/user/project", "name": "Project"}
	notes   = Object{"uri": "file:///home/user/my%20notes"}
	moved   = Object{"uri": "file:///home/user/moved", "name": "Moved"}
)

// changing is a client whose roots change.
var changing = &Scenario{
	Name:  "roots-change",
	Says:  "During two calls the server sends roots/list, and the roots change in between.",
	Until: "2025-11-25",
	Steps: Steps{
		ToAnswer(method, Object{"roots": []any{project, notes}}).Declaring(Object{"listChanged": true}),
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers),
		ToChangeRoots(moved), ToCall(scripted.AddNumbers, asking.Numbers), ToList("prompts"), ToClose(),
	},
	Server: func(server *scripted.Server) { asking.DuringCalls(server, scripted.ServerRequest{Method: method}) },
}

// input are roots that the server needs for the answer to a call.
var input = &Scenario{
	Name: "roots-as-input", Says: "The server needs the roots of the client to answer a call.",
	Since: "2026-07-28",
	Steps: Steps{
		ToAnswer(method, Object{"roots": []any{project, notes}}),
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers), ToList("prompts"), ToClose(),
	},
	Server: func(server *scripted.Server) { asking.DuringCalls(server, scripted.ServerRequest{Method: method}) },
}

func listing() {
	It("returns its roots in answer to roots/list", Verifies("roots.list.answered"), In(changing), func(t *T) {
		client := RunScenario(t)

		for _, request := range client.NeedServerRequests(method) {
			switch {
			case t.Observed(request.Answered()):
			case request.Answer == nil:
				client.Inconclusive("the client did not answer "+method, method)
			case request.Refused:
				client.Fail(request.Answer, Mismatch{Wanted: "the roots of its step", Found: request.Describe()})
			}
		}
	})

	It("returns its new roots after notifications/roots/list_changed", Verifies("roots.list.answered"), In(changing), func(t *T) {
		client := RunScenario(t)

		announced := client.Notifications(changed)
		if len(announced) == 0 {
			client.InconclusiveWithout(changed)
		}
		if outcome, there := client.Outcome("change-roots"); !there || outcome.Failed() {
			client.Inconclusive("the client does not report that its roots changed", changed)
		}
		before, after := lists(client)
		for _, request := range client.ServerRequests(method) {
			if !request.Answered() || !request.Answer.Event.At.After(announced[0].Event.At) {
				continue
			}
			if Same(before, after) && !Same(before, []any{project["uri"], notes["uri"]}) {
				client.Inconclusive("the client did not return its first roots before", method)
			}
			if !t.Observed(!Same(before, after)) {
				client.Fail(request.Answer, Mismatch{
					Wanted: "the new roots: " + Show([]any{moved["uri"]}),
					Found:  "the old ones",
					Where:  "/result/roots",
				})
			}
			return
		}
		client.Inconclusive("the client received no roots/list after the change", method)
	})

	declaringRoots()
}

func declaringRoots() {
	It("implements roots/list if it declares roots", Verifies("roots.list.answered"), In(asking.Declared), func(t *T) {
		client := RunScenario(t)

		call, request := asking.NeedDeclared(client, asking.RootsTool, method, "roots")
		asking.JudgeFulfilment(t, client, call, request)
	})

	It("implements roots/list or does not declare roots", Verifies("roots.list.answered"), In(asking.Undeclared),
		func(t *T) { asking.JudgeUntold(t, RunScenario(t), method, "roots") })

	It("sends notifications/roots/list_changed when its roots change, if it declares roots.listChanged",
		Verifies("roots.list-changed.sent"), In(changing), func(t *T) {
			client := RunScenario(t)

			client.NeedRequests("initialize")
			if !client.Declares("roots.listChanged") {
				t.NotApplicable("the client does not declare roots.listChanged")
			}
			if t.Observed(len(client.Notifications(changed)) > 0) {
				return
			}
			before, after := lists(client)
			if Same(before, after) {
				client.InconclusiveWithout(changed)
			}
			client.Missing(nil, Mismatch{
				Wanted: changed + " when the roots change",
				Found:  "none, but the roots were " + Show(before) + " and then " + Show(after),
			})
		})

	It("rejects roots/list with -32601 if it does not declare roots", Verifies("roots.error.unsupported"), In(asking.Undeclared), func(t *T) {
		client := RunScenario(t)

		asking.NeedUndeclared(t, client, method, "roots")
		for _, request := range client.ServerRequests(method) {
			if request.Answer != nil && !t.Observed(request.Refusal.Code == jsonrpc.MethodNotFound) {
				client.Fail(request.Answer, Mismatch{Wanted: "error -32601 (Method not found)", Found: request.Describe()})
			}
		}
	})

	It("declares roots in the request whose inputResponses contain its roots", Verifies("roots.capability.declared"), In(input), func(t *T) {
		client := RunScenario(t)

		for _, request := range client.NeedServerRequests(method) {
			if !request.Answered() {
				client.Inconclusive("the client did not retry the call with its roots", method)
			}
			asking.JudgeDeclaration(t, client, request, "roots")
		}
	})
}

// lists are the roots that the client told first and last: their URIs.
func lists(client *Client) (before, after []any) {
	for _, request := range client.ServerRequests(method) {
		if !request.Answered() {
			continue
		}
		after = []any{}
		for _, root := range mcp.Objects(request.Result, "roots") {
			after = append(after, root["uri"])
		}
		if before == nil {
			before = after
		}
	}
	return before, after
}
