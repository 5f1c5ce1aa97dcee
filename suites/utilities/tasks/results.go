package tasks

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

func results() {
	It("returns the result of the tools/call for tasks/result", Verifies("tasks.result.same"), NeedsCapability(callable), func(t *T) {
		server := TaskSession(t)
		id := begin(t, server, aTool(t))

		reply := result(t, server, id)

		t.Expect(reply).To(BeResult())
		t.Expect(reply).To(HaveMember("content", BeAList()))
	})

	It("returns the same content when tasks/result is sent twice", Verifies("tasks.result.same"), NeedsCapability(callable), func(t *T) {
		server := TaskSession(t)
		id := begin(t, server, aTool(t))

		waiting := server.Call("tasks/result", Object{"taskId": id})
		beside := result(t, server, id) // which may come first
		atOnce := waiting.Must()
		later := server.Call("tasks/result", Object{"taskId": id}).Must()

		replies := []Reply{beside, atOnce, later}
		given := beside
		if first := slices.IndexFunc(replies, func(reply Reply) bool { return !reply.Refuses() }); first >= 0 {
			given = replies[first]
		}
		demandResult(t, given)
		for _, reply := range replies {
			t.Expect(reply).To(haveContentOf(given.Object()))
		}
	})

	relatedResults()

	pendingResults()
}

func relatedResults() {
	It("returns related-task metadata in the result of tasks/result", Verifies("tasks.related.response"), NeedsCapability(callable), func(t *T) {
		server := TaskSession(t)
		id := begin(t, server, aTool(t))

		reply := result(t, server, id)

		demandResult(t, reply)
		t.Expect(reply).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", id))))
	})

	It("sends related-task metadata in notifications/progress of a task",
		Verifies("tasks.related.notification"), NeedsCapability(callable), NeedsProvocation("task-progress"), func(t *T) {
			server := TaskSession(t)
			_, _ = server.Listen(t) // where there is no such stream, progress comes beside the result
			reporting := tool(t, "task-progress")
			call := asTask(reporting)
			call["_meta"] = Object{"progressToken": 424242}
			mark := server.Mark()

			id := beginBy(t, server, reporting, call)
			result(t, server, id)

			server.NeedMessage(
				mark,
				Notification("notifications/progress"), // it may come on another stream
				"the task reported no progress",
				"name a tool that does under provocations.task-progress in mcpconform.yaml",
			)
			for _, report := range server.Sent(mark, Notification("notifications/progress")) {
				t.Expect(report.Params()).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", id))))
			}
		})
}

func pendingResults() {
	It("answers tasks/result only when the task has a terminal status",
		Verifies("tasks.result.blocks"), NeedsCapability(callable), NeedsProvocation("task-slow"), func(t *T) {
			server := TaskSession(t)
			id := begin(t, server, tool(t, "task-slow"))

			result(t, server, id)

			t.Expect(server.Call("tasks/get", Object{"taskId": id}).Need().Result()).To(HaveMember("status", BeOneOf(over...)))
		})

	It("answers tasks/result of a task that needs input only in a terminal status",
		Verifies("tasks.result.blocks"), NeedsCapability(callable), NeedsProvocation("task-input"), func(t *T) {
			server := TaskSession(t)
			id := begin(t, server, tool(t, "task-input"))

			result(t, server, id) // brings the request for input, which is answered

			t.Expect(server.Call("tasks/get", Object{"taskId": id}).Need().Result()).To(HaveMember("status", BeOneOf(over...)))
		})

	It("answers tasks/get while tasks/result is pending",
		Verifies("tasks.result.blocks"), NeedsCapability(callable), NeedsProvocation("task-slow"), func(t *T) {
			server := TaskSession(t)
			id := begin(t, server, tool(t, "task-slow"))
			server.Call("tasks/get", Object{"taskId": id}).Need().Result()

			waiting := server.Call("tasks/result", Object{"taskId": id})
			reply := server.Call("tasks/get", Object{"taskId": id}).Must(BeAnswered)

			answered := func(received scripted.Received) bool {
				return received.Kind == jsonrpc.Response && received.ID == waiting.ID && received.Index < reply.Index
			}
			if len(server.Sent(waiting.Mark, answered)) > 0 {
				t.TooLate("tasks/result was answered before tasks/get", "name a slower tool under provocations.task-slow in mcpconform.yaml")
			}
			t.Expect(reply).To(BeResult())
			leave(t, server, id)
		})
}

func failures() {
	It(
		"sets the status failed and a statusMessage for a task whose tool returns isError",
		Verifies("tasks.failure.status", "tasks.failure.message"),
		NeedsCapability(callable),
		NeedsProvocation("task-failing"),
		func(t *T) {
			server := TaskSession(t)
			id := begin(t, server, tool(t, "task-failing"))

			reply := result(t, server, id)

			if reply.Object()["isError"] != true {
				t.Inconclusive(
					"the tool ended without isError: "+reply.Describe(),
					"name one that fails under provocations.task-failing in mcpconform.yaml",
				)
			}
			state := server.Call("tasks/get", Object{"taskId": id}).Need().Result()
			t.Expect(state).To(HaveMember("status", "failed"))
			t.Expect(state).To(HaveMember("statusMessage", BeText()))
		},
	)

	It("returns isError for tasks/result if a plain tools/call returns it",
		Verifies("tasks.result.same"), NeedsCapability(callable), NeedsProvocation("task-failing"), func(t *T) {
			plain, server := TaskSession(t), TaskSession(t)
			failing := optionally(t, "task-failing")
			if plain.Call("tools/call", failing.Call()).Need().Object()["isError"] != true {
				t.Inconclusive("the call ended without isError", "name a tool that fails under provocations.task-failing in mcpconform.yaml")
			}

			id := begin(t, server, failing)
			reply := result(t, server, id)
			again := server.Call("tasks/result", Object{"taskId": id}).Must()

			t.Expect(reply).To(HaveMember("isError", true))
			t.Expect(again).To(HaveMember("isError", true))
			t.Expect(again).To(haveContentOf(reply.Object()))
		})

	failedCalls()
}

func failedCalls() {
	It("returns the error code of the plain tools/call for tasks/result",
		Verifies("tasks.result.same-error"), NeedsCapability(callable), NeedsProvocation("task-refused"), func(t *T) {
			plain, server := FreshSession(t), FreshSession(t) // they remember what was visited
			refused := optionally(t, "task-refused")
			refusal, isRefusal := plain.Call("tools/call", refused.Call()).Need().Error()
			if !isRefusal {
				t.Inconclusive("the call did not end with an error", "name a tool that does under provocations.task-refused in mcpconform.yaml")
			}

			id := begin(t, server, refused)
			reply := result(t, server, id)
			again := server.Call("tasks/result", Object{"taskId": id}).Must()

			t.Expect(reply).To(BeJSONRPCError(refusal.Code))
			t.Expect(again).To(BeJSONRPCError(refusal.Code))
		})

	It("sets the status failed for a task whose tools/call ends with an error",
		Verifies("tasks.failure.status"), NeedsCapability(callable), NeedsProvocation("task-refused"), func(t *T) {
			server := FreshSession(t) // which remembers what was visited
			id := begin(t, server, tool(t, "task-refused"))

			if reply := result(t, server, id); reply.Object() != nil {
				t.Inconclusive(
					"the task did not end with an error: "+reply.Describe(),
					"name a tool that does under provocations.task-refused in mcpconform.yaml",
				)
			}

			t.Expect(server.Call("tasks/get", Object{"taskId": id}).Need().Result()).To(HaveMember("status", "failed"))
		})
}

const asks = "elicitation/create"

func input() {
	It("sets the status input_required while a task waits for input",
		Verifies("tasks.status.input-required"), NeedsCapability(callable), NeedsProvocation("task-input"), func(t *T) {
			server := TaskSession(t)
			server.Answer(asks, scripted.Silence)
			id := begin(t, server, tool(t, "task-input"))

			server.Call("tasks/result", Object{"taskId": id})
			awaitQuestion(t, server, id, asks)

			t.Expect(settled(t, server, id)).To(HaveMember("status", "input_required"))
			give(t, server, id)
		})

	It("sets the status input_required while a task waits for sampling",
		Verifies("tasks.status.input-required"), NeedsCapability(callable), NeedsProvocation("sampling"), func(t *T) {
			const samples = "sampling/createMessage"
			asking := Provoking(t, "sampling")
			if !takesTasks(t, asking) {
				t.NotApplicable("the tool " + asking.Tool + " does not support tasks in execution.taskSupport")
			}
			server := TaskSession(t)
			server.Answer(samples, scripted.Silence)
			id := begin(t, server, asking)

			server.Call("tasks/result", Object{"taskId": id})
			awaitQuestion(t, server, id, samples)

			t.Expect(settled(t, server, id)).To(HaveMember("status", "input_required"))
			leave(t, server, id)
			server.Answer(samples, scripted.Answering(scripted.Generation)) // for others that use the connection
		})

	It("lists a task that waits for input with the status input_required",
		Verifies("tasks.status.input-required"), NeedsCapability(callable, listable), NeedsProvocation("task-input"), func(t *T) {
			server := TaskSession(t)
			server.Answer(asks, scripted.Silence)
			id := begin(t, server, tool(t, "task-input"))
			server.Call("tasks/result", Object{"taskId": id})
			awaitQuestion(t, server, id, asks)
			if status := settled(t, server, id)["status"]; status != "input_required" {
				t.Inconclusive("tasks/get returns the status "+Show(status), fixOthers)
			}

			all := server.All("tasks/list")

			for _, task := range all {
				if task["taskId"] == id {
					t.Expect(task).To(HaveMember("status", "input_required"))
				}
			}
			give(t, server, id)
		})

	metadataOfInput()
}

func metadataOfInput() {
	It("sends related-task metadata in the elicitation/create of a task",
		Verifies("tasks.related.request"), NeedsCapability(callable), NeedsProvocation("task-input"), func(t *T) {
			server := TaskSession(t)
			id := begin(t, server, tool(t, "task-input"))

			result(t, server, id) // brings the request for input, if it has not come before

			for _, request := range demandQuestions(t, server, asks) {
				t.Expect(request.Params()).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", id))))
			}
		})

	It("leaves the status input_required once the task has its input",
		Verifies("tasks.status.input-received"), NeedsCapability(callable), NeedsProvocation("task-input"), func(t *T) {
			server := TaskSession(t)
			declining := func(Object) Object { return Object{"action": "decline"} }

			for _, answer := range []func(Object) Object{scripted.Acceptance, declining} {
				server.Answer(asks, scripted.Answering(answer))
				id := begin(t, server, tool(t, "task-input"))

				result(t, server, id) // brings the request for input, which is answered

				demandQuestions(t, server, asks)
				state := server.Call("tasks/get", Object{"taskId": id}).Need().Result()
				demandStatus(t, state)
				t.Expect(state).NotTo(HaveMember("status", "input_required"))
			}
			server.Answer(asks, scripted.Answering(scripted.Acceptance)) // for others that use the connection
		})
}
