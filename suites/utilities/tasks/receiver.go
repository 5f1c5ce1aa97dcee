package tasks

import (
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

// What the client answers with, at last.
var (
	generated = Object{"role": "assistant", "content": Object{"type": "text", "text": "Hello there."}, "model": "mcpconform", "stopReason": "endTurn"}
	entered   = Object{"action": "accept", "content": Object{"name": "Ada"}}
)

const (
	declined = -1                       // the code of an error that the client answers with
	because  = "User rejected sampling" // its message
	unheard  = "mcpconform-no-such-cursor"
)

// askedForTasks is a server that has its client do something as tasks.
var askedForTasks = &Scenario{
	Name:  "asked-for-tasks",
	Says:  "During a call the server sends two task-augmented requests, then one that is rejected, and inspects their tasks by each tasks/* request.",
	Since: revision,
	Until: revision,
	Steps: Steps{
		ToAnswer(rootsList, Object{"roots": []any{Object{"uri": "file:///home/ada"}}}),
		ToAnswer(sampling, generated), ToAnswer(sampling, generated), ToRefuse(sampling, declined, because),
		ToAnswer(elicitation, entered), ToAnswer(elicitation, entered), ToRefuse(elicitation, declined, because),
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			asksForTasks(newServerRequests(call))
			call.Good()
		})
	},
}

func asksForTasks(i *serverRequests) {
	i.ask("ping", nil)
	i.askOddly("ping", Object{"task": Object{"ttl": keptFor}}, "requests a task of a method that has none")
	for _, method := range []string{rootsList, sampling, elicitation} {
		if i.may(method) && !i.makesTasks(method) {
			i.askOddly(method, i.wish(method, keptFor), "requests a task that the client does not declare")
		}
	}
	if i.method == "" {
		return
	}
	one, other := i.begin(keptFor), i.begin(keptFor)
	if one == "" || other == "" {
		return
	}
	i.ask("tasks/result", Object{"taskId": one})
	i.ask("tasks/result", Object{"taskId": other})
	i.ask("tasks/result", Object{"taskId": one})
	i.askOddly("tasks/get", misleading(one, other), "names another task in the metadata")
	i.ask("tasks/get", Object{"taskId": unknownTask})
	i.ask("tasks/result", Object{"taskId": unknownTask})
	if i.call.Declares("tasks", "list") {
		i.all()
		i.askOddly("tasks/list", Object{"cursor": unheard}, "uses a cursor that was never issued")
	}
	if i.call.Declares("tasks", "cancel") {
		i.ask("tasks/cancel", Object{"taskId": unknownTask})
		i.ask("tasks/cancel", Object{"taskId": one})
	}
	refused := i.begin(tenYears)
	i.ask("tasks/result", Object{"taskId": refused})
	i.ask("tasks/get", Object{"taskId": refused})
}

// longTasks is a server whose client takes its time.
var longTasks = &Scenario{
	Name:  "asked-for-long-tasks",
	Waits: true,
	Says:  "The client takes a while to answer two task-augmented requests; the server waits for one, and cancels the other.",
	Since: revision,
	Until: revision,
	Steps: Steps{
		ToAnswer(sampling, generated).Late(longFor), ToAnswer(elicitation, entered).Late(longFor),
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			asksForLongTasks(newServerRequests(call))
			call.Good()
		})
	},
}

// longFor is how long the client takes over an answer, in milliseconds: so long that
// what is not done at once shows, on a machine that is busy.
const longFor = 300

func asksForLongTasks(i *serverRequests) {
	if i.method == "" {
		return
	}
	waited := i.begin(keptFor)
	if waited == "" {
		return
	}
	i.ask("tasks/get", Object{"taskId": waited})
	stopped := i.begin(keptFor)
	both(func() {
		i.ask("tasks/result", Object{"taskId": waited})
		i.ask("tasks/get", Object{"taskId": waited})
	}, func() {
		if stopped == "" || !i.call.Declares("tasks", "cancel") {
			return
		}
		i.ask("tasks/cancel", Object{"taskId": stopped})
		i.ask("tasks/cancel", Object{"taskId": stopped})
		i.pause(longFor)
		i.ask("tasks/get", Object{"taskId": stopped})
	})
}

// takingTasksOn registers the checks of a client that answers with tasks.
func takingTasksOn() {
	It("ignores task in the params of ping", Verifies("tasks.undeclared.ignored"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		client.NeedCalls(scripted.AddNumbers)
		for _, answer := range client.NeedResponses("ping") {
			if _, refused := answer.Error(); refused && answer.Request.ParamsObject()["task"] == nil {
				client.Inconclusive("the client also rejects ping without task", "tools/call")
			}
			t.Expect(client.Judging(answer)).To(BeResult())
			t.Expect(client.Judging(answer)).NotTo(HaveMember("task"))
		}
	})

	It("ignores task in the params of requests that it does not declare in tasks.requests",
		Verifies("tasks.undeclared.ignored"), In(askedForTasks), func(t *T) {
			client := RunScenario(t)

			answers := slices.Concat(client.Responses(rootsList), plainAnswers(client, sampling), plainAnswers(client, elicitation))
			if len(answers) == 0 {
				client.Inconclusive("the client received no task request that it does not declare", sampling)
			}
			for _, answer := range answers {
				if _, refused := answer.Error(); refused && !answersPlainly(t, answer.Request.Method) {
					client.Inconclusive("the client refuses "+answer.Request.Method+" without task", answer.Request.Method)
				}
				t.Expect(client.Judging(answer)).To(BeResult())
				t.Expect(client.Judging(answer)).NotTo(HaveMember("task"))
			}
		})

	creatingTasks()

	namingTasks()

	returningResults()

	listingTasks()
}

func creatingTasks() {
	It("returns a task with a taskId and the status working for a task-augmented request",
		Verifies("tasks.create.answered", "tasks.id.string", "tasks.status.begins-working"), In(askedForTasks), func(t *T) {
			client := RunScenario(t)

			for _, answer := range begunByClient(t, client) {
				if _, refused := answer.Error(); refused {
					continue // it takes on no such task
				}
				reply := client.Judging(answer)
				t.Expect(reply).To(HaveMember("task", HaveMember("taskId", BeText())))
				t.Expect(reply).To(HaveMember("task", HaveMember("status", "working")))
			}
		})

	It("generates a new taskId for every task", Verifies("tasks.id.generated", "tasks.id.unique"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		made := map[string][]string{} // ids by connection
		for _, answer := range created(t, client) {
			id := idOf(answer.ResultObject()["task"])
			if answer.ID.String() == id {
				client.Fail(answer, Mismatch{
					Wanted: "an id that the client generates",
					Found:  "the id of the request: " + Show(id),
					Where:  "/result/task/taskId",
				})
			}
			before := made[answer.Event.Connection]
			if t.Observed(len(before) > 0) && slices.Contains(before, id) {
				client.Fail(answer, Mismatch{
					Wanted: "a different id for each task",
					Found:  "the same id again: " + Show(id),
					Where:  "/result/task/taskId",
				})
			}
			made[answer.Event.Connection] = append(before, id)
		}
	})

	It("limits the ttl that a task request asks for", Verifies("tasks.ttl.limited"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		state := lastAnswer(client, "tasks/get", idOf(thirdTask(t, client).ResultObject()["task"]))
		demandTTL(t, state.ResultObject())
		t.Expect(client.Judging(state)).To(HaveMember("ttl", lessThan(tenYears)))
	})
}

func namingTasks() {
	It("uses taskId in tasks/get even if the related-task metadata differs", Verifies("tasks.target.parameter"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		created(t, client)
		for _, answer := range client.Responses("tasks/get") {
			if answer.Request.Meta()[mcp.RelatedTask] != nil {
				demandID(t, client.Judging(answer))
				t.Expect(client.Judging(answer)).To(HaveMember("taskId", answer.Request.ParamsObject()["taskId"]))
				return
			}
		}
		client.Inconclusive("the client received no tasks/get", "tools/call")
	})

	It("rejects tasks/* requests with an unknown taskId with -32602", Verifies("tasks.error.unknown-task"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		created(t, client)
		refusals := slices.DeleteFunc(client.Sent(), func(message *Message) bool {
			return message.Kind != jsonrpc.Response || message.Request == nil ||
				message.Request.ParamsObject()["taskId"] != unknownTask
		})
		if len(refusals) == 0 {
			client.Inconclusive("the client answered nothing about an unknown task", "tools/call")
		}
		for _, refusal := range refusals {
			t.Expect(client.Judging(refusal)).To(BeJSONRPCError(jsonrpc.InvalidParams))
		}
	})
}

func returningResults() {
	It("returns the result of the original request for tasks/result", Verifies("tasks.result.same"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		own := "model"
		if created(t, client)[0].Request.Method == elicitation {
			own = "action"
		}
		id := idOf(created(t, client)[0].ResultObject()["task"])
		if slices.ContainsFunc(client.Responses("tasks/get"), func(state *Message) bool {
			return state.ResultObject()["taskId"] == id && state.ResultObject()["status"] == "failed"
		}) {
			client.Inconclusive("the client rejected the task-augmented request", sampling)
		}
		for _, answer := range fetched(client, id) {
			t.Expect(client.Judging(answer)).To(BeResult())
			t.Expect(client.Judging(answer)).To(HaveMember(own))
		}
	})

	It("returns the same content when tasks/result is sent twice", Verifies("tasks.result.same"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		answers := fetched(client, idOf(created(t, client)[0].ResultObject()["task"]))
		if len(answers) < 2 || answers[0].ResultObject() == nil {
			client.Inconclusive("the client did not answer tasks/result twice", "tools/call")
		}
		t.Expect(client.Judging(answers[1])).To(haveContentOf(answers[0].ResultObject()))
	})

	It("returns the error code of the original request for tasks/result", Verifies("tasks.result.same-error"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		answers := fetched(client, idOf(thirdTask(t, client).ResultObject()["task"]))
		t.Expect(client.Judging(answers[0])).To(BeJSONRPCError(declined))
	})

	It("sets the status failed for a task whose request ends with an error", Verifies("tasks.failure.status"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		id := idOf(thirdTask(t, client).ResultObject()["task"])
		if _, refused := fetched(client, id)[0].Error(); !refused {
			client.Inconclusive("the task did not end with an error", "tools/call")
		}
		t.Expect(client.Judging(lastAnswer(client, "tasks/get", id))).To(HaveMember("status", "failed"))
	})
}

func listingTasks() {
	It("returns a list of tasks for tasks/list", Verifies("tasks.list.answered"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		t.Expect(client.Judging(pagesOfTasks(t, client)[0])).To(HaveMember("tasks", BeAList()))
	})

	It("returns every task on the pages of tasks/list", Verifies("tasks.list.complete", "tasks.list.next-cursor"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		pages := pagesOfTasks(t, client)
		var all []Object
		for _, page := range pages {
			all = append(all, mcp.Objects(page.ResultObject(), "tasks")...)
		}
		last := pages[len(pages)-1]
		if last.ResultObject()["tasks"] == nil || last.ResultObject()["nextCursor"] != nil {
			client.Inconclusive("the client did not return all pages of tasks/list", "tools/call")
		}
		for _, answer := range created(t, client)[:2] {
			client.Judging(last)
			t.Expect(all).To(includeTask(idOf(answer.ResultObject()["task"])))
		}
	})

	It("rejects tasks/list with an unknown cursor with -32602", Verifies("tasks.error.unknown-cursor"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		pagesOfTasks(t, client)
		for _, answer := range client.Responses("tasks/list") {
			if answer.Request.ParamsObject()["cursor"] == unheard {
				t.Expect(client.Judging(answer)).To(BeJSONRPCError(jsonrpc.InvalidParams))
				return
			}
		}
		client.Inconclusive("the client did not answer tasks/list with an unknown cursor", "tools/call")
	})

	It("rejects tasks/cancel of a finished task with -32602", Verifies("tasks.cancel.refused"), In(askedForTasks), func(t *T) {
		client := RunScenario(t)

		demandCancel(t, client)
		id := idOf(created(t, client)[0].ResultObject()["task"])
		fetched(client, id)
		t.Expect(client.Judging(lastAnswer(client, "tasks/cancel", id))).To(BeJSONRPCError(jsonrpc.InvalidParams))
	})
}

// takingTime registers the checks of a client that takes a while over its answers.
func takingTime() {
	It("returns CreateTaskResult before the task is completed", Verifies("tasks.create.prompt"), In(longTasks), func(t *T) {
		client := RunScenario(t)

		answer := created(t, client)[0]
		state := firstAnswer(client, "tasks/get", idOf(answer.ResultObject()["task"]))
		taken := answer.Event.At.Sub(answer.Request.Event.At)
		status := state.ResultObject()["status"]
		if t.Observed(status == "working") {
			return
		}
		if !isOver(status) || taken < tasksTake*4/5 {
			client.Inconclusive("the client answers at once", sampling)
		}
		client.Missing(answer, Mismatch{
			Wanted: "a task at once",
			Found:  "one after " + taken.Round(time.Millisecond).String() + ", when it was " + Show(status),
		})
	})

	It("answers tasks/result only when the task has a terminal status", Verifies("tasks.result.blocks"), In(longTasks), func(t *T) {
		client := RunScenario(t)

		id := idOf(created(t, client)[0].ResultObject()["task"])
		demandWorking(client, id)
		result := fetched(client, id)[0]
		state := lastAnswer(client, "tasks/get", id)
		if state.Request.Index < result.Index {
			client.Inconclusive("the client received no tasks/get afterwards", "tools/call")
		}
		if !t.Observed(isOver(state.ResultObject()["status"])) {
			client.Fail(result, Mismatch{
				Wanted: "no answer before the task has ended",
				Found:  "one, and then the status " + Show(state.ResultObject()["status"]),
			})
		}
	})

	cancellingTasks()
}

func cancellingTasks() {
	It("returns the task with the status cancelled for tasks/cancel", Verifies("tasks.cancel.done"), In(longTasks), func(t *T) {
		client := RunScenario(t)

		reply := client.Judging(cancelledByServer(t, client))
		t.Expect(reply).To(BeResult())
		t.Expect(reply).To(HaveMember("status", "cancelled"))
	})

	It("keeps the status cancelled after tasks/cancel", Verifies("tasks.cancel.stays"), In(longTasks), func(t *T) {
		client := RunScenario(t)

		answer := cancelledByServer(t, client)
		if answer.ResultObject()["status"] != "cancelled" {
			t.Inconclusive("the task was not cancelled", fixOthers)
		}
		state := lastAnswer(client, "tasks/get", idOf(answer.ResultObject()))
		reply := client.Judging(state)
		if _, forgotten := state.Error(); !forgotten { // as it may be
			t.Expect(reply).To(HaveMember("status", "cancelled"))
		}
	})

	It("rejects a second tasks/cancel of the same task with -32602", Verifies("tasks.cancel.refused"), In(longTasks), func(t *T) {
		client := RunScenario(t)

		answer := cancelledByServer(t, client)
		if answer.ResultObject() == nil {
			t.Inconclusive("the task was not cancelled", fixOthers)
		}
		id := mcp.Text(answer.Request.ParamsObject(), "taskId")
		t.Expect(client.Judging(lastAnswer(client, "tasks/cancel", id))).To(BeJSONRPCError(jsonrpc.InvalidParams))
	})
}

const tasksTake = longFor * time.Millisecond

// begunByClient returns the answers to requests that ask for tasks. A client that
// makes no tasks has nothing to be judged.
func begunByClient(t *T, client *Client) []*Message {
	client.NeedCalls(scripted.AddNumbers)
	if !client.Declares(samples) && !client.Declares(elicits) {
		t.NotApplicable("the client does not declare tasks.requests")
	}
	method := sampling
	if !client.Declares(samples) {
		method = elicitation
	}
	answers := client.Responses(method)
	if len(answers) == 0 {
		client.InconclusiveWithout(method)
	}
	return answers
}

// plainAnswers returns the answers to requests of a method of which the client declares
// that it makes no tasks.
func plainAnswers(client *Client, method string) []*Message {
	if client.Declares("tasks.requests." + strings.ReplaceAll(method, "/", ".")) {
		return nil
	}
	return client.Responses(method)
}

// answersPlainly tells whether the client answers requests of a method with results when
// they ask for no task.
func answersPlainly(t *T, method string) bool {
	plain := AlsoRun(t, asking.Declared)
	return plain != nil && slices.ContainsFunc(plain.ServerRequests(method), AnsweredRequest.Answered)
}

// created returns the answers that are tasks, of which the check needs one.
func created(t *T, client *Client) []*Message {
	answers := slices.DeleteFunc(begunByClient(t, client), func(answer *Message) bool { return idOf(answer.ResultObject()["task"]) == "" })
	if len(answers) == 0 {
		t.Inconclusive("the client created no task", fixOthers)
	}
	return answers
}

// thirdTask is the one whose request the client refuses.
func thirdTask(t *T, client *Client) *Message {
	answers := created(t, client)
	if len(answers) < 3 {
		client.Inconclusive("the client created no task for the request that it rejects", sampling)
	}
	return answers[2]
}

// asked returns the answers to requests of a method about a task, of which the check
// needs one.
func asked(client *Client, method, id string) []*Message {
	answers := slices.DeleteFunc(client.Responses(method), func(answer *Message) bool { return answer.Request.ParamsObject()["taskId"] != id })
	if len(answers) == 0 {
		client.Inconclusive("the client answered no "+method, "tools/call")
	}
	return answers
}

func firstAnswer(client *Client, method, id string) *Message { return asked(client, method, id)[0] }

func lastAnswer(client *Client, method, id string) *Message {
	answers := asked(client, method, id)
	return answers[len(answers)-1]
}

func fetched(client *Client, id string) []*Message { return asked(client, "tasks/result", id) }

// pagesOfTasks returns the answers to tasks/list that a cursor of the client led to.
func pagesOfTasks(t *T, client *Client) []*Message {
	created(t, client)
	if !client.Declares(listable) {
		t.NotApplicable("the client does not declare " + listable)
	}
	pages := slices.DeleteFunc(client.Responses("tasks/list"), func(answer *Message) bool {
		return answer.Request.ParamsObject()["cursor"] == unheard
	})
	if len(pages) == 0 {
		client.Inconclusive("the client answered no tasks/list", "tools/call")
	}
	return pages
}

func demandCancel(t *T, client *Client) {
	created(t, client)
	if !client.Declares(cancelable) {
		t.NotApplicable("the client does not declare " + cancelable)
	}
}

// demandWorking wants that a task was still worked on when it was first looked at.
func demandWorking(client *Client, id string) {
	if firstAnswer(client, "tasks/get", id).ResultObject()["status"] != "working" {
		client.Inconclusive("the client answers at once", sampling)
	}
}

// cancelledByServer returns the first answer to tasks/cancel of a task that was still
// worked on.
func cancelledByServer(t *T, client *Client) *Message {
	demandCancel(t, client)
	answers := created(t, client)
	demandWorking(client, idOf(answers[0].ResultObject()["task"]))
	if len(answers) < 2 {
		client.Inconclusive("the client made no second task", sampling)
	}
	return firstAnswer(client, "tasks/cancel", idOf(answers[1].ResultObject()["task"]))
}
