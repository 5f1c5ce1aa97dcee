package tasks

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/server/features"
)

// ClientChecks registers the checks of a target client. What the scenarios provoke is
// judged by the rules about the extension, too.
func ClientChecks() {
	Describe("Tasks extension", func() {
		following()
		askingAfterTasks()
		givingInput()
		endingEarly()
	})
}

// since is the revision that has the extension.
const since = "2026-07-28"

var addition = Object{"a": 5, "b": 3}

// callsBecomeTasks is a server that answers one call with a task, and another not.
var callsBecomeTasks = &Scenario{
	Name:  "calls-become-tasks",
	Waits: true,
	Says:  "Of three calls of one tool the first and the last are answered with tasks; the last has ended, has no ttl limit, and a non-ASCII taskId.",
	Since: since,
	Steps: Steps{
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, addition).ID("first-task"),
		ToCall(scripted.AddNumbers, addition).ID("plain-call"), ToCall(scripted.AddNumbers, addition).ID("last-task"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		store := storeTasks(server, Object{"status": "working"}, Object{"status": "working"}, completed())
		server.On("tools/call", func(call *scripted.Call) {
			switch {
			case !declaredBy(call), call.Nth == 2:
				call.Good()
			case call.Nth == 1:
				store.begin(call, "mcpconform-0c7f3ad19be24c6fb3a8")
			default:
				call.Answer(store.ended("mcpconform tâche n° 5d9c1f0a7be2"))
			}
		})
	},
}

// taskNeedsInput is a server whose task asks the client for something.
var taskNeedsInput = &Scenario{
	Name:  "task-needs-input",
	Says:  "A call is answered with a task that needs input, and repeats its input request after the answer.",
	Since: since,
	Steps: Steps{
		ToAnswer("elicitation/create", Object{"action": "accept", "content": Object{"name": "Ada"}}),
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, addition), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		asks := Object{"status": "input_required", "inputRequests": Object{inputKey: Object{
			"method": "elicitation/create",
			"params": Object{
				"mode": "form", "message": "What is your name?",
				"requestedSchema": Object{"type": "object", "properties": Object{"name": Object{"type": "string"}}},
			},
		}}}
		store := storeTasks(server, asks, asks, asks, asks, completed())
		store.updated = []Object{asks, {"status": "working"}, completed()}
		server.On("tools/call", func(call *scripted.Call) {
			if !declaredBy(call) || !call.Declares("elicitation") {
				call.Good()
				return
			}
			store.begin(call, "mcpconform-71e0b4d2a9c34f55")
		})
	},
}

const inputKey = "the name"

// promptBecomesTask is a server that answers with a task what cannot become one.
var promptBecomesTask = &Scenario{
	Name:  "prompt-becomes-task",
	Says:  "The server answers prompts/get with a task, which is not allowed, and the next one with a prompt.",
	Since: since,
	Steps: Steps{ToConnect(), ToGet(scripted.PromptName, Object{"name": "Ada"}).ID("get-as-task"), ToGet(scripted.PromptName, Object{"name": "Grace"}).ID("get-plainly"), ToClose()},
	Server: func(server *scripted.Server) {
		store := storeTasks(server, Object{"status": "completed", "result": Object{
			"resultType": "complete",
			"messages":   []any{Object{"role": "user", "content": Object{"type": "text", "text": "Greet Ada."}}},
		}})
		server.On("prompts/get", func(call *scripted.Call) {
			if call.Nth > 1 || !declaredBy(call) {
				call.Good()
				return
			}
			call.Finally(jsonrpc.NewResult(call.Message.ID, store.created(promptTask)), "answers prompts/get with a task")
		})
	},
}

// promptTask is the id of a task in the result of prompts/get, for which the client must not poll.
const promptTask = "mcpconform-9b1f64c07de84a02"

// taskGivenUp is a server whose task never ends.
var taskGivenUp = &Scenario{
	Name: "task-given-up", Says: "A call is answered with a task that runs until the client cancels it.",
	Since: since,
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(scripted.AddNumbers, addition).As("sum"),
		ToList("prompts"),
		ToCancel("sum"),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		store := storeTasks(server, Object{"status": "working"})
		server.On("tools/call", func(call *scripted.Call) {
			if !declaredBy(call) {
				call.Good()
				return
			}
			store.begin(call, "mcpconform-2fd81c5ab0934e17")
		})
		server.On("prompts/list", func(call *scripted.Call) {
			if declaredBy(call) {
				call.Await(func(received scripted.Received) bool { return received.Method == "tasks/get" }) // or the client does not ask
			}
			call.Good()
		})
	},
}

// endedTask is the id of a task that has ended when a client is told to ask about it.
const endedTask = "mcpconform-83a1f7c05e2d4b69"

// whoAsksAfterTasks are the steps of a client that asks about a task after a call.
var whoAsksAfterTasks = Steps{
	ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, addition),
	ToGetTask(endedTask), ToFetchTask(endedTask), ToCancelTask(endedTask), ToList("tools"), ToClose(),
}

// endedTaskIsKept is a server that keeps a task when it has ended.
var endedTaskIsKept = &Scenario{
	Name:  "tasks-ended-and-kept",
	Says:  "A call is answered with a task, and the client sends tasks/get after the task has ended.",
	Since: since,
	Steps: whoAsksAfterTasks,
	Server: func(server *scripted.Server) {
		store := storeTasks(server, Object{"status": "working"}, completed())
		store.silent = true // the steps are done one right after the other
		server.On("tools/call", func(call *scripted.Call) {
			if !declaredBy(call) {
				call.Good()
				return
			}
			store.begin(call, endedTask)
		})
	},
}

// extensionUndeclared is a server without the extension.
var extensionUndeclared = &Scenario{
	Name:  "tasks-extension-undeclared",
	Waits: true,
	Says:  "The server does not declare the tasks extension, and the steps ask the client for tasks/get.",
	Since: since,
	Steps: whoAsksAfterTasks,
}

func askingAfterTasks() {
	It("sends tasks/get with a non-empty string as taskId", Verifies("base.schema.requests"), In(endedTaskIsKept),
		func(t *T) { features.DemandText(t, RunScenario(t), "tasks/get", "taskId") })

	It("sends tasks/cancel with a non-empty string as taskId", Verifies("base.schema.requests"), In(endedTaskIsKept),
		func(t *T) { features.DemandText(t, RunScenario(t), "tasks/cancel", "taskId") })

	It("sends no tasks/get or tasks/cancel if the server does not declare the tasks extension",
		Verifies("versioning.extensions.fallback"), In(extensionUndeclared), func(t *T) {
			features.DemandRestraint(t, RunScenario(t), AlsoRun(t, endedTaskIsKept), "the extension "+identifier, "tasks/get", "tasks/cancel")
		})
}

func following() {
	It("accepts a task as well as a result in answer to tools/call", Verifies("tasks-extension.created.either"), In(callsBecomeTasks), func(t *T) {
		client := RunScenario(t)

		call := becameTask(t, client)
		looks := about(client.Requests("tasks/get"), createdIn(call))
		first, isTold := client.Outcome("first-task")
		plain, _ := client.Outcome("plain-call")
		if isTold && first.Failed() {
			if plain.Outcome != "done" {
				client.Inconclusive("no call of the tool succeeds", "tools/call")
			}
			client.Fail(call.Answers[0], Mismatch{Wanted: "the result of the task", Found: "a failure of the call: " + first.Error})
		}
		if !t.Observed(len(looks) > 0) {
			client.Inconclusive("the client never sent tasks/get for its task", "tools/call")
		}
		calls := client.Calls(scripted.AddNumbers)
		for i, step := range []string{"plain-call", "last-task"} {
			if i+1 >= len(calls) || first.Outcome != "done" {
				break
			}
			answer := AnswerTo(calls[i+1])
			if outcome, isTold := client.Outcome(step); isTold && outcome.Failed() && answer != nil {
				client.Fail(answer, Mismatch{
					Wanted: "the result, as of the call that became a task",
					Found:  "a failure of the call: " + outcome.Error,
				})
			}
		}
	})

	It("sends tasks/get until the task has ended", Verifies("tasks-extension.poll.continued"), In(callsBecomeTasks), func(t *T) {
		client := RunScenario(t)

		last := lastLook(client, createdIn(becameTask(t, client)))
		status := ResultTo(last)["status"]
		if t.Observed(status == "completed") {
			return
		}
		client.NeedMore(last, "tasks/")
		client.Missing(last, Mismatch{Wanted: "tasks/get until the task has ended", Found: "none after the status " + Show(status)})
	})

	refusingTasks()
}

func refusingTasks() {
	It("rejects a task in answer to prompts/get as an invalid response",
		Verifies("tasks-extension.created.unsupported"), In(promptBecomesTask), func(t *T) {
			client := RunScenario(t)

			gets := client.NeedRequests("prompts/get")
			demandDeclared(t, client)
			for _, look := range about(client.Requests("tasks/get"), promptTask) {
				client.Fail(look, Mismatch{Wanted: "no tasks/get of a task that answers prompts/get", Found: "one"})
			}
			if len(gets) > 2 {
				client.Inconclusive("the client requested more prompts than its steps ask for, so its reports are ambiguous", "prompts/get")
			}
			outcome, plain := client.NeedOutcome("get-as-task"), client.NeedOutcome("get-plainly")
			if plain.Failed() {
				client.Inconclusive("prompts/get never succeeds", "prompts/get")
			}
			if createdIn(gets[0]) == "" {
				client.Inconclusive("the first prompt was not answered with a task", "prompts/get")
			}
			if !t.Observed(outcome.Failed()) {
				client.NeedResult("get-as-task")
				client.Fail(gets[0].Answers[0], Mismatch{
					Wanted: "that the client treats the response as invalid",
					Found:  "the client reports the step as done: " + ShowOutcome(outcome),
				})
			}
		})
}

func givingInput() {
	It("answers the inputRequests of a task by tasks/update", Verifies("tasks-extension.input.answered"), In(taskNeedsInput), func(t *T) {
		client := RunScenario(t)

		id := createdIn(asksForInput(t, client))
		if t.Observed(len(updatesOf(client, id)) > 0) {
			return
		}
		look := lastLook(client, id)
		client.NeedMore(look, "tasks/")
		client.Missing(look, Mismatch{Wanted: "tasks/update with what the task asks for", Found: "none"})
	})

	It("continues to send tasks/get after tasks/update", Verifies("tasks-extension.input.observed"), In(taskNeedsInput), func(t *T) {
		client := RunScenario(t)

		id := createdIn(asksForInput(t, client))
		updates := updatesOf(client, id)
		if len(updates) == 0 {
			client.Inconclusive("the client sent no input for the task", "elicitation/create")
		}
		if !t.Observed(lastLook(client, id).Event.At.After(updates[0].Event.At)) {
			client.NeedMore(updates[0], "tasks/")
			client.Missing(updates[0], Mismatch{Wanted: "tasks/get after tasks/update", Found: "none"})
		}
	})
}

func endingEarly() {
	It("sends tasks/cancel to cancel a call that became a task", Verifies("tasks-extension.cancel.by-request"), In(taskGivenUp), func(t *T) {
		client := RunScenario(t)

		call := becameTask(t, client)
		id := createdIn(call)
		looks := about(client.Requests("tasks/get"), id)
		for _, cancelled := range client.Notifications("notifications/cancelled") {
			if jsonrpc.IDOf(cancelled.ParamsObject()["requestId"]) == call.ID && len(looks) > 0 &&
				looks[0].Event.At.Before(cancelled.Event.At) {
				client.Fail(cancelled, Mismatch{Wanted: "tasks/cancel for a call that became a task", Found: "notifications/cancelled"})
			}
		}
		if !t.Observed(len(about(client.Requests("tasks/cancel"), id)) > 0) {
			client.Inconclusive("the client cancelled no task", "notifications/cancelled")
		}
	})
}

// becameTask returns the call that was answered with a task, of which the check needs
// one.
func becameTask(t *T, client *Client) *Message {
	calls := client.NeedCalls(scripted.AddNumbers)
	demandDeclared(t, client)
	for _, call := range calls {
		if createdIn(call) != "" {
			return call
		}
	}
	client.Inconclusive("no call of the client became a task", "tools/call")
	return nil
}

func demandDeclared(t *T, client *Client) {
	if !client.Declares("extensions." + identifier) {
		t.NotApplicable("the client does not declare the extension " + identifier)
	}
}

// asksForInput returns the call whose task asks for input.
func asksForInput(t *T, client *Client) *Message {
	client.NeedCalls(scripted.AddNumbers)
	demandDeclared(t, client)
	if !client.Declares("elicitation") {
		client.Inconclusive("the client does not declare elicitation", "elicitation/create")
	}
	return becameTask(t, client)
}

// createdIn returns the id of the task that a call was answered with; "" for none.
func createdIn(call *Message) string {
	answer := ResultTo(call)
	if answer["resultType"] != "task" {
		return ""
	}
	return mcp.Text(answer, "taskId")
}

// about keeps the requests about a task.
func about(requests []*Message, id string) []*Message {
	return slices.DeleteFunc(requests, func(message *Message) bool { return message.ParamsObject()["taskId"] != id })
}

func updatesOf(client *Client, id string) []*Message {
	return slices.DeleteFunc(about(client.Requests("tasks/update"), id), func(message *Message) bool {
		return mcp.Value(message.ParamsObject(), "inputResponses", inputKey) == nil
	})
}

// lastLook returns the last tasks/get of a task, of which the check needs one. A
// client that waits to be told of the task need not ask.
func lastLook(client *Client, id string) *Message {
	for _, listen := range client.Requests("subscriptions/listen") {
		if mcp.Value(listen.ParamsObject(), "notifications", "taskIds") != nil {
			client.Inconclusive("the client waits for notifications about its task", "tools/call")
		}
	}
	looks := about(client.Requests("tasks/get"), id)
	if len(looks) == 0 {
		client.Inconclusive("the client never sent tasks/get for its task", "tools/call")
	}
	return looks[len(looks)-1]
}
