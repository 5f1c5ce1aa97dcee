package tasks

import (
	"slices"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ClientChecks registers the checks of a target client. What the scenarios provoke is
// judged by the rules about tasks, too.
func ClientChecks() {
	Describe("Tasks", func() {
		followingTasks()
		askingAfterTasks()
		takingTasksOn()
		takingTime()
		givingUp()
	})
}

// revision is the only one that has these tasks.
const revision = "2025-11-25"

// Tools of the scripted server.
const (
	background = "run_in_background" // may be called as a task
	taskOnly   = "run_as_task"       // must be
	taskNever  = "run_at_once"       // must not be
)

// toolsAsTasks is a server whose tools can, must or must not be called as tasks.
var toolsAsTasks = &Scenario{
	Name:  "tools-as-tasks",
	Waits: true,
	Says:  "The server has tools with taskSupport optional, required and forbidden, and sends no notifications/tasks/status.",
	Since: revision,
	Until: revision,
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(background, nil).AsTask(keptFor),
		ToCall(taskOnly, nil).AsTask(keptFor),
		ToCall(taskNever, nil),
		ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}),
		ToList("tasks"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		storeTasks(server, "working", "working", "completed").patience = patientFor
	},
}

// toolsWithoutTasks is a server that declares no tasks, though a tool has taskSupport.
var toolsWithoutTasks = &Scenario{
	Name:  "tools-without-tasks",
	Says:  "A tool has taskSupport, but the server does not declare tasks.",
	Since: revision,
	Until: revision,
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToClose()},
	Server: func(server *scripted.Server) {
		server.Tools[0].Definition["execution"] = Object{"taskSupport": "optional"}
	},
}

// taskThatAsks is a server whose task needs something of the client.
var taskThatAsks = &Scenario{
	Name:  "task-that-asks",
	Says:  "A tool that is called as a task sends an elicitation, on the GET stream if there is one.",
	Since: revision,
	Until: revision,
	Steps: Steps{
		ToAnswer(elicitation, Object{"action": "accept", "content": Object{"name": "Ada"}}),
		ToConnect(), ToList("tools"), ToCall(background, nil).AsTask(keptFor), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		storeTasks(server, "input_required", "input_required", "input_required", "input_required", "completed").asks = true
	},
}

func followingTasks() {
	It("calls no tool as a task if the server does not declare tasks", Verifies("tasks.tool.undeclared"), In(toolsWithoutTasks), func(t *T) {
		client := RunScenario(t)

		calls := client.NeedCalls(scripted.AddNumbers)
		for _, call := range calls {
			if task, asks := call.ParamsObject()["task"]; asks {
				client.Fail(call, Mismatch{Wanted: "no task, since the server does not declare tasks", Found: Show(task), Where: "/params/task"})
			}
		}
		if elsewhere := AlsoRun(t, toolsAsTasks); elsewhere == nil ||
			!slices.ContainsFunc(elsewhere.Calls(background), func(call *Message) bool { return call.ParamsObject()["task"] != nil }) {
			client.Inconclusive("the client did not call a tool as a task of a server that supports tasks", "tools/call")
		}
		client.Judging(calls[0])
	})

	It("sends tasks/get or tasks/result without waiting for notifications/tasks/status",
		Verifies("tasks.notification.not-awaited"), In(toolsAsTasks), func(t *T) {
			client := RunScenario(t)

			id := begunTask(client)
			asked := askedAfter(client, id)
			if len(asked) == 0 {
				client.Inconclusive("the client never sent tasks/get for its task", "tools/call")
			}
			client.Judging(asked[0])
			for _, told := range client.FromServer("notifications/tasks/status") {
				waited := asked[0].Event.At.Sub(told.Event.At)
				if waited >= 0 && waited < patientFor/2 { // later than that it asks by itself
					client.Missing(asked[0], Mismatch{
						Wanted: "tasks/get or tasks/result, though no notifications/tasks/status comes",
						Found:  "none in " + patientFor.String() + ", and one after that notification",
					})
				}
			}
		})

	It("sends tasks/get until its task has a terminal status, or sends tasks/result", Verifies("tasks.poll.continued"), In(toolsAsTasks), func(t *T) {
		client := RunScenario(t)

		id := begunTask(client)
		asked := askedAfter(client, id)
		if len(asked) == 0 {
			client.Inconclusive("the client never sent tasks/get for its task", "tools/call")
		}
		last := asked[len(asked)-1]
		if t.Observed(last.Method == "tasks/result" || isOver(statusIn(last))) {
			return
		}
		client.NeedMore(last, "tasks/")
		client.Missing(last, Mismatch{
			Wanted: "tasks/get until the task has ended, or tasks/result",
			Found:  "no more of them after the status " + Show(statusIn(last)),
		})
	})

	waitingForInput()
}

func waitingForInput() {
	It("sends tasks/result for its task in the status input_required", Verifies("tasks.input.fetched"), In(taskThatAsks), func(t *T) {
		client := RunScenario(t)

		id := begunTask(client)
		fetched := about(client.Requests("tasks/result"), id)
		looks := about(client.Requests("tasks/get"), id)
		finds := func(status string) int {
			return slices.IndexFunc(looks, func(message *Message) bool { return statusIn(message) == status })
		}
		waits, over := finds("input_required"), finds("completed")
		if t.Observed(len(fetched) > 0 && (over < 0 || fetched[0].Event.At.Before(looks[over].Event.At))) {
			return
		}
		if waits < 0 {
			client.Inconclusive("the client never sent tasks/get for its task", "tools/call")
		}
		client.NeedMore(looks[waits], "tasks/")
		client.Missing(looks[waits], Mismatch{Wanted: "tasks/result of a task in the status input_required", Found: "none until it had ended"})
	})

	It("answers the elicitation/create of its task on any SSE stream", Verifies("tasks.input.any-stream"), In(taskThatAsks), func(t *T) {
		client := RunScenario(t)

		begunTask(client)
		if !client.Declares("elicitation") {
			t.NotApplicable("the client does not declare elicitation")
		}
		questions := client.FromServer(elicitation)
		if len(questions) == 0 {
			client.Inconclusive("the client received no elicitation/create", "tools/call")
		}
		question := questions[0]
		answer := AnswerTo(question)
		if answer == nil {
			client.NeedMore(question, "tasks/")
			client.Missing(question, Mismatch{Wanted: "an answer to the request of the task", Found: "none"})
		}
		if !t.Observed(answer.ResultObject() != nil) {
			client.Inconclusive("the client rejected "+elicitation, elicitation)
		}
	})
}

// begunTask returns the id of the task that the client has begun. Without one there
// is nothing to judge.
func begunTask(client *Client) string {
	for _, call := range client.NeedCalls(background) {
		if id := idOf(ResultTo(call)["task"]); id != "" {
			return id
		}
	}
	client.Inconclusive("the client called no tool as a task", "tools/call")
	return ""
}

// askedAfter returns what the client asked about a task that tells how it goes on.
func askedAfter(client *Client, id string) []*Message {
	return about(client.Requests("tasks/get", "tasks/result"), id)
}

// about keeps the requests about a task.
func about(requests []*Message, id string) []*Message {
	return slices.DeleteFunc(requests, func(message *Message) bool { return message.ParamsObject()["taskId"] != id })
}

func statusIn(request *Message) any { return ResultTo(request)["status"] }

// patientFor is how long the scripted server waits for a client to ask after its
// task, before it tells: much longer than it asks the client to wait.
const patientFor = 2 * time.Second
