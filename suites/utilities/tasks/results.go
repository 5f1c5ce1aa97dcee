package tasks

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

func results() {
	It(
		"returns the result of the tools/call for tasks/result",
		Verifies("tasks.result.same"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, aTool())

			reply := result(ctx, server, id)

			Expect(reply).To(BeResult())
			Expect(reply).To(HaveMember("content", BeAList()))
		},
	)

	It(
		"returns the same content when tasks/result is sent twice",
		Verifies("tasks.result.same"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, aTool())

			waiting := server.Start(ctx, "tasks/result", Object{"taskId": id})
			beside := result(ctx, server, id) // which may come first
			atOnce := server.Await(ctx, waiting)
			later := server.Ask(ctx, "tasks/result", Object{"taskId": id})

			replies := []Reply{beside, atOnce, later}
			given := beside
			if first := slices.IndexFunc(replies, func(reply Reply) bool { return !reply.Refuses() }); first >= 0 {
				given = replies[first]
			}
			demandResult(given)
			for _, reply := range replies {
				Expect(reply).To(haveContentOf(given.Object()))
			}
		},
	)

	It(
		"returns related-task metadata in the result of tasks/result",
		Verifies("tasks.related.response"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, aTool())

			reply := result(ctx, server, id)

			demandResult(reply)
			Expect(reply).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", id))))
		},
	)

	It(
		"sends related-task metadata in notifications/progress of a task",
		Verifies("tasks.related.notification"),
		NeedsCapability(callable),
		NeedsProvocation("task-progress"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			_, _ = server.Listen(ctx) // where there is no such stream, progress comes beside the result
			reporting := tool("task-progress")
			call := asTask(reporting)
			call["_meta"] = Object{"progressToken": 424242}
			mark := server.Mark()

			id := beginBy(ctx, server, reporting, call)
			result(ctx, server, id)

			server.NeedMessage(
				ctx,
				mark,
				Notification("notifications/progress"), // it may come on another stream
				"the task reported no progress",
				"name a tool that does under provocations.task-progress in mcpconform.yaml",
			)
			for _, report := range server.Sent(mark, Notification("notifications/progress")) {
				Expect(report.Params()).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", id))))
			}
		},
	)

	It(
		"answers tasks/result only when the task has a terminal status",
		Verifies("tasks.result.blocks"),
		NeedsCapability(callable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, tool("task-slow"))

			result(ctx, server, id)

			Expect(server.Need(ctx, "tasks/get", Object{"taskId": id})).To(HaveMember("status", BeOneOf(over...)))
		},
	)

	It("answers tasks/result of a task that needs input only in a terminal status", Verifies("tasks.result.blocks"),
		NeedsCapability(callable), NeedsProvocation("task-input"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, tool("task-input"))

			result(ctx, server, id) // brings the request for input, which is answered

			Expect(server.Need(ctx, "tasks/get", Object{"taskId": id})).To(HaveMember("status", BeOneOf(over...)))
		})

	It(
		"answers tasks/get while tasks/result is pending",
		Verifies("tasks.result.blocks"),
		NeedsCapability(callable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, tool("task-slow"))
			server.Need(ctx, "tasks/get", Object{"taskId": id})

			waiting := server.Start(ctx, "tasks/result", Object{"taskId": id})
			reply := server.MustAsk(ctx, "tasks/get", Object{"taskId": id})

			answered := func(received scripted.Received) bool {
				return received.Kind == jsonrpc.Response && received.ID == waiting.ID && received.Index < reply.Index
			}
			if len(server.Sent(waiting.Mark, answered)) > 0 {
				Inconclusive(
					"tasks/result was answered before tasks/get",
					"name a slower tool under provocations.task-slow in mcpconform.yaml",
				)
			}
			Expect(reply).To(BeResult())
			leave(ctx, server, id)
		},
	)
}

func failures() {
	It(
		"sets the status failed and a statusMessage for a task whose tool returns isError",
		Verifies("tasks.failure.status", "tasks.failure.message"),
		NeedsCapability(callable),
		NeedsProvocation("task-failing"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, tool("task-failing"))

			reply := result(ctx, server, id)

			if reply.Object()["isError"] != true {
				Inconclusive(
					"the tool ended without isError: "+reply.Describe(),
					"name one that fails under provocations.task-failing in mcpconform.yaml",
				)
			}
			state := server.Need(ctx, "tasks/get", Object{"taskId": id})
			Expect(state).To(HaveMember("status", "failed"))
			Expect(state).To(HaveMember("statusMessage", BeText()))
		},
	)

	It("returns isError for tasks/result if a plain tools/call returns it", Verifies("tasks.result.same"),
		NeedsCapability(callable), NeedsProvocation("task-failing"),
		func(ctx SpecContext) {
			plain, server := SessionWithTasks(ctx), SessionWithTasks(ctx)
			failing := optionally("task-failing")
			if plain.NeedReply(ctx, "tools/call", failing.Call()).Object()["isError"] != true {
				Inconclusive(
					"the call ended without isError",
					"name a tool that fails under provocations.task-failing in mcpconform.yaml",
				)
			}

			id := begin(ctx, server, failing)
			reply := result(ctx, server, id)
			again := server.Ask(ctx, "tasks/result", Object{"taskId": id})

			Expect(reply).To(HaveMember("isError", true))
			Expect(again).To(HaveMember("isError", true))
			Expect(again).To(haveContentOf(reply.Object()))
		})

	It("returns the error code of the plain tools/call for tasks/result", Verifies("tasks.result.same-error"),
		NeedsCapability(callable), NeedsProvocation("task-refused"),
		func(ctx SpecContext) {
			plain, server := FreshSession(ctx), FreshSession(ctx) // they remember what was visited
			refused := optionally("task-refused")
			refusal, isRefusal := plain.NeedReply(ctx, "tools/call", refused.Call()).Error()
			if !isRefusal {
				Inconclusive(
					"the call did not end with an error",
					"name a tool that does under provocations.task-refused in mcpconform.yaml",
				)
			}

			id := begin(ctx, server, refused)
			reply := result(ctx, server, id)
			again := server.Ask(ctx, "tasks/result", Object{"taskId": id})

			Expect(reply).To(BeJSONRPCError(refusal.Code))
			Expect(again).To(BeJSONRPCError(refusal.Code))
		})

	It(
		"sets the status failed for a task whose tools/call ends with an error",
		Verifies("tasks.failure.status"),
		NeedsCapability(callable),
		NeedsProvocation("task-refused"),
		func(ctx SpecContext) {
			server := FreshSession(ctx) // which remembers what was visited
			id := begin(ctx, server, tool("task-refused"))

			if reply := result(ctx, server, id); reply.Object() != nil {
				Inconclusive(
					"the task did not end with an error: "+reply.Describe(),
					"name a tool that does under provocations.task-refused in mcpconform.yaml",
				)
			}

			Expect(server.Need(ctx, "tasks/get", Object{"taskId": id})).To(HaveMember("status", "failed"))
		},
	)
}

func input() {
	const asks = "elicitation/create"

	It(
		"sets the status input_required while a task waits for input",
		Verifies("tasks.status.input-required"),
		NeedsCapability(callable),
		NeedsProvocation("task-input"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			server.Answer(asks, scripted.Silence)
			id := begin(ctx, server, tool("task-input"))

			server.Start(ctx, "tasks/result", Object{"taskId": id})
			awaitQuestion(ctx, server, id, asks)

			Expect(settled(ctx, server, id)).To(HaveMember("status", "input_required"))
			give(ctx, server, id)
		},
	)

	It(
		"sets the status input_required while a task waits for sampling",
		Verifies("tasks.status.input-required"),
		NeedsCapability(callable),
		NeedsProvocation("sampling"),
		func(ctx SpecContext) {
			const samples = "sampling/createMessage"
			asking := Provoking("sampling")
			if !takesTasks(asking) {
				NotApplicable("the tool " + asking.Tool + " does not support tasks in execution.taskSupport")
			}
			server := SessionWithTasks(ctx)
			server.Answer(samples, scripted.Silence)
			id := begin(ctx, server, asking)

			server.Start(ctx, "tasks/result", Object{"taskId": id})
			awaitQuestion(ctx, server, id, samples)

			Expect(settled(ctx, server, id)).To(HaveMember("status", "input_required"))
			leave(ctx, server, id)
			server.Answer(samples, Answering(Generation)) // for others that use the connection
		},
	)

	It(
		"lists a task that waits for input with the status input_required",
		Verifies("tasks.status.input-required"),
		NeedsCapability(callable, listable),
		NeedsProvocation("task-input"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			server.Answer(asks, scripted.Silence)
			id := begin(ctx, server, tool("task-input"))
			server.Start(ctx, "tasks/result", Object{"taskId": id})
			awaitQuestion(ctx, server, id, asks)
			if status := settled(ctx, server, id)["status"]; status != "input_required" {
				Inconclusive("tasks/get returns the status "+Show(status), fixOthers)
			}

			all := server.All(ctx, "tasks/list")

			for _, task := range all {
				if task["taskId"] == id {
					Expect(task).To(HaveMember("status", "input_required"))
				}
			}
			give(ctx, server, id)
		},
	)

	It(
		"sends related-task metadata in the elicitation/create of a task",
		Verifies("tasks.related.request"),
		NeedsCapability(callable),
		NeedsProvocation("task-input"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, tool("task-input"))

			result(ctx, server, id) // brings the request for input, if it has not come before

			for _, request := range demandQuestions(server, asks) {
				Expect(request.Params()).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", id))))
			}
		},
	)

	It(
		"leaves the status input_required once the task has its input",
		Verifies("tasks.status.input-received"),
		NeedsCapability(callable),
		NeedsProvocation("task-input"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			declining := func(Object) Object { return Object{"action": "decline"} }

			for _, answer := range []func(Object) Object{Acceptance, declining} {
				server.Answer(asks, Answering(answer))
				id := begin(ctx, server, tool("task-input"))

				result(ctx, server, id) // brings the request for input, which is answered

				demandQuestions(server, asks)
				state := server.Need(ctx, "tasks/get", Object{"taskId": id})
				demandStatus(state)
				Expect(state).NotTo(HaveMember("status", "input_required"))
			}
			server.Answer(asks, Answering(Acceptance)) // for others that use the connection
		},
	)
}
