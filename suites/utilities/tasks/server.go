// Package tasks checks the page basic/utilities/tasks.
package tasks

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

const (
	// callable is the capability of a server whose tools can be called as tasks.
	callable   = "tasks.requests.tools.call"
	cancelable = "tasks.cancel"
	listable   = "tasks.list"
)

// ServerChecks registers the checks of a target server. What they provoke is
// judged by the rules about tasks, too.
func ServerChecks() {
	Describe("Tasks", func() {
		negotiation()
		creation()
		polling()
		results()
		failures()
		input()
		listing()
		cancellation()
		asRequestor()
	})
}

func negotiation() {
	It("refuses to run a tool as a task that does not support it", Verifies("tasks.tool.forbidden-refused"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			tool := toolWith("that does not support tasks", "", "forbidden")

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tools/call",
				scripted.Outgoing{Deliberate: "calls a tool as a task that does not support it"}, asTask(tool)))

			Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		})

	It("refuses to run a tool other than as a task that demands it", Verifies("tasks.tool.required-refused"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			tool := toolWith("that can be called only as a task", "required")

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tools/call",
				scripted.Outgoing{Deliberate: "calls a tool without a task that demands one"}, tool.Call()))

			Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		})

	It("answers a ping as usual that asks for a task", Verifies("tasks.undeclared.ignored"),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "ping",
				scripted.Outgoing{Deliberate: "asks for a task with a kind of request that makes none"}, Object{"task": Object{"ttl": keptFor}}))

			Expect(reply).To(BeResult())
			Expect(reply).To(BeEmptyObject())
		})

	It("runs tools as usual that it was asked to run as tasks, if it declares none", Verifies("tasks.undeclared.ignored"), NeedsCapability("tools"),
		func(ctx SpecContext) {
			if Declares(callable) {
				NotApplicable("the server takes calls of tools as tasks")
			}
			server := Session(ctx)
			tool := workingTool(ctx, server)

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tools/call",
				scripted.Outgoing{Deliberate: "asks for a task, though the server declares none"}, asTask(tool)))

			Expect(reply).To(BeResult())
			Expect(reply).NotTo(HaveMember("task"))
			Expect(reply).To(HaveMember("content", BeAList()))
		})
}

func creation() {
	It("answers a call as a task with a task", Verifies("tasks.create.answered", "tasks.id.string", "tasks.status.begins-working"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			result := server.Call(ctx, "tools/call", asTask(aTool()))

			Expect(result).To(HaveMember("task", HaveMember("taskId", BeText())))
			Expect(result["task"]).To(HaveMember("status", "working"))
			leave(ctx, server, idOf(result["task"]))
		})

	It("announces a task before it is done", Verifies("tasks.create.prompt"), NeedsCapability(callable), NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			slow := tool("task-slow")

			var state Object
			for range lookedAt {
				id := begin(ctx, server, slow)
				if state = server.Need(ctx, "tasks/get", Object{"taskId": id}); state["status"] == "working" {
					break
				}
			}

			Expect(state).NotTo(HaveMember("status", "completed"))
		})

	It("makes an id of its own for every task", Verifies("tasks.id.generated", "tasks.id.unique"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server, other := FreshSession(ctx), FreshSession(ctx)
			tool := aTool()

			first, second, third := begin(ctx, server, tool), begin(ctx, server, tool), begin(ctx, other, tool)

			Demand(first != second && first != third && second != third, "three tasks with three ids", Show([]string{first, second, third}))
			leave(ctx, server, first, second)
			leave(ctx, other, third)
		})

	It("keeps no task for as long as anybody asks", Verifies("tasks.ttl.limited"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			call := asTask(aTool())
			call["task"] = Object{"ttl": tenYears}

			id := idOf(server.Need(ctx, "tools/call", call)["task"])

			Expect(server.Need(ctx, "tasks/get", Object{"taskId": id})).To(HaveMember("ttl", lessThan(tenYears)))
			leave(ctx, server, id)
		})
}

func polling() {
	It("tells of the task that taskId names, whatever the metadata say", Verifies("tasks.target.parameter"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			tool := aTool()
			named, other := begin(ctx, server, tool), begin(ctx, server, tool)

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tasks/get",
				scripted.Outgoing{Deliberate: "names another task in the metadata"}, misleading(named, other)))

			Expect(reply).To(HaveMember("taskId", named))
			leave(ctx, server, named, other)
		})

	It("gives the result of the task that taskId names, whatever the metadata say", Verifies("tasks.target.parameter"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			tool := aTool()
			named, other := begin(ctx, server, tool), begin(ctx, server, tool)
			result(ctx, server, named)

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tasks/result",
				scripted.Outgoing{Deliberate: "names another task in the metadata"}, misleading(named, other)))

			Expect(reply).To(HaveMember("_meta", HaveMember(RelatedTask, HaveMember("taskId", named))))
			leave(ctx, server, other)
		})

	for _, method := range []string{"tasks/get", "tasks/result"} {
		It("refuses "+method+" of an unknown task", Verifies("tasks.error.unknown-task"), NeedsCapability("tasks"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.Ask(ctx, method, Object{"taskId": unknownTask})

				Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			})
	}

	It("refuses tasks/cancel of an unknown task", Verifies("tasks.error.unknown-task"), NeedsCapability(cancelable),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply := server.Ask(ctx, "tasks/cancel", Object{"taskId": unknownTask})

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})

	It("refuses tasks/get with a taskId that is a number", Verifies("tasks.error.unknown-task"), NeedsCapability("tasks"),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tasks/get",
				scripted.Outgoing{Deliberate: "names a task by a number"}, Object{"taskId": 7}))

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})
}

func results() {
	It("gives the result of the call by tasks/result", Verifies("tasks.result.same"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, aTool())

			reply := result(ctx, server, id)

			Expect(reply).To(BeResult())
			Expect(reply).To(HaveMember("content", BeAList()))
		})

	It("gives the same result of a task as often as it is asked", Verifies("tasks.result.same"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, aTool())

			first := result(ctx, server, id)
			second := server.Ask(ctx, "tasks/result", Object{"taskId": id})

			Expect(first).To(BeResult())
			Expect(second).To(HaveMember("content", first.Object()["content"]))
		})

	It("ties the result to its task", Verifies("tasks.related.response"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, aTool())

			reply := result(ctx, server, id)

			Expect(reply).To(HaveMember("_meta", HaveMember(RelatedTask, HaveMember("taskId", id))))
		})

	It("names the task in the progress that it reports", Verifies("tasks.related.notification"), NeedsCapability(callable), NeedsProvocation("task-progress"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			_, _ = server.Listen(ctx) // where there is no such stream, progress comes beside the result
			call := asTask(tool("task-progress"))
			call["_meta"] = Object{"progressToken": 424242}
			mark := server.Mark()

			id := idOf(server.Need(ctx, "tools/call", call)["task"])
			result(ctx, server, id)

			_, err := server.Connection.Await(ctx, mark, Notification("notifications/progress")) // it may come on another stream
			reports := server.Sent(mark, Notification("notifications/progress"))
			if err != nil {
				Inconclusive("the task reported no progress", "name a tool that does under provocations.task-progress in mcpconform.yaml")
			}
			for _, report := range reports {
				Expect(report.Params()).To(HaveMember("_meta", HaveMember(RelatedTask, HaveMember("taskId", id))))
			}
		})

	It("answers tasks/result only when the task is over", Verifies("tasks.result.blocks"), NeedsCapability(callable), NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-slow"))

			result(ctx, server, id)

			Expect(server.Need(ctx, "tasks/get", Object{"taskId": id})).To(HaveMember("status", BeOneOf(over...)))
		})

	It("answers tasks/get while tasks/result waits", Verifies("tasks.result.blocks"), NeedsCapability(callable), NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-slow"))

			server.Start(ctx, "tasks/result", Object{"taskId": id})

			Expect(server.Ask(ctx, "tasks/get", Object{"taskId": id})).To(HaveMember("taskId", id))
			leave(ctx, server, id)
		})
}

func failures() {
	It("lets a task fail whose tool reports an error", Verifies("tasks.failure.status", "tasks.failure.message"),
		NeedsCapability(callable), NeedsProvocation("task-failing"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-failing"))

			reply := result(ctx, server, id)

			if reply.Object()["isError"] != true {
				Inconclusive("the tool ended without isError: "+reply.Describe(), "name one that fails under provocations.task-failing in mcpconform.yaml")
			}
			state := server.Need(ctx, "tasks/get", Object{"taskId": id})
			Expect(state).To(HaveMember("status", "failed"))
			Expect(state).To(HaveMember("statusMessage", BeText()))
		})

	It("answers tasks/result with the error that the call would have had", Verifies("tasks.result.same-error"),
		NeedsCapability(callable), NeedsProvocation("task-refused"),
		func(ctx SpecContext) {
			plain, server := FreshSession(ctx), FreshSession(ctx)
			refused := tool("task-refused")
			refusal, isRefusal := plain.Ask(ctx, "tools/call", refused.Call()).Error()
			if !isRefusal {
				Inconclusive("the call did not end with an error", "name a tool that does under provocations.task-refused in mcpconform.yaml")
			}

			id := begin(ctx, server, refused)
			reply := result(ctx, server, id)

			Expect(reply).To(BeJSONRPCError(refusal.Code))
		})

	It("lets a task fail whose call ends with an error", Verifies("tasks.failure.status"), NeedsCapability(callable), NeedsProvocation("task-refused"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-refused"))

			if reply := result(ctx, server, id); reply.Object() != nil {
				Inconclusive("the task did not end with an error: "+reply.Describe(), "name a tool that does under provocations.task-refused in mcpconform.yaml")
			}

			Expect(server.Need(ctx, "tasks/get", Object{"taskId": id})).To(HaveMember("status", "failed"))
		})
}

func input() {
	const asks = "elicitation/create"

	It("says of a task that it needs input", Verifies("tasks.status.input-required"), NeedsCapability(callable), NeedsProvocation("task-input"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			server.Answer(asks, scripted.Silence)
			id := begin(ctx, server, tool("task-input"))

			server.Start(ctx, "tasks/result", Object{"taskId": id})
			awaitQuestion(ctx, server, id, asks)

			Expect(settled(ctx, server, id)).To(HaveMember("status", "input_required"))
			give(ctx, server, id)
		})

	It("names the task in its request for input", Verifies("tasks.related.request"), NeedsCapability(callable), NeedsProvocation("task-input"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-input"))

			result(ctx, server, id) // brings the request for input, if it has not come before

			requests := server.Sent(0, RequestOf(asks))
			if len(requests) == 0 {
				Inconclusive("the task was over without having asked for input", inputHint)
			}
			for _, request := range requests {
				Expect(request.Params()).To(HaveMember("_meta", HaveMember(RelatedTask, HaveMember("taskId", id))))
			}
		})

	It("takes up a task again that has its input", Verifies("tasks.status.input-received"), NeedsCapability(callable), NeedsProvocation("task-input"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-input"))

			result(ctx, server, id) // brings the request for input, which is answered

			Expect(server.Need(ctx, "tasks/get", Object{"taskId": id})).NotTo(HaveMember("status", "input_required"))
		})
}

func listing() {
	It("answers tasks/list with tasks", Verifies("tasks.list.answered"), NeedsCapability(listable),
		func(ctx SpecContext) {
			server := Session(ctx)

			result := server.Call(ctx, "tasks/list", nil)

			Expect(result).To(HaveMember("tasks", BeAList()))
		})

	It("lists every task, on as many pages as it takes", Verifies("tasks.list.complete", "tasks.list.next-cursor"),
		NeedsCapability(callable, listable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			tool := aTool()
			var begun []string
			for range listed {
				begun = append(begun, begin(ctx, server, tool))
			}

			all := server.All(ctx, "tasks/list")

			for _, id := range begun {
				if found := server.Ask(ctx, "tasks/get", Object{"taskId": id}); found.Object() != nil {
					Expect(all).To(includeTask(id))
				}
			}
			leave(ctx, server, begun...)
		})

	It("refuses a cursor of tasks/list that it never gave", Verifies("tasks.error.unknown-cursor"), NeedsCapability(listable),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tasks/list",
				scripted.Outgoing{Deliberate: "uses a cursor that no list gave"}, Object{"cursor": "mcpconform-no-such-cursor"}))

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})
}

func cancellation() {
	It("answers tasks/cancel with the task, cancelled", Verifies("tasks.cancel.done"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-slow"))

			reply := cancel(ctx, server, id)

			Expect(reply).To(BeResult())
			Expect(reply).To(HaveMember("status", "cancelled"))
			Expect(reply).To(HaveMember("taskId", id))
		})

	It("leaves a cancelled task cancelled", Verifies("tasks.cancel.stays"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			slow := tool("task-slow")
			stopped, other := begin(ctx, server, slow), begin(ctx, server, slow)

			cancelled(ctx, server, stopped)

			// The same call, begun later, ends when the work of this one would have.
			result(ctx, server, other)
			state := server.Ask(ctx, "tasks/get", Object{"taskId": stopped})
			if _, forgotten := state.Error(); !forgotten {
				Expect(state).To(HaveMember("status", "cancelled"))
			}
		})

	It("answers tasks/result of a cancelled task", Verifies("tasks.result.same"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-slow"))
			waiting := server.Start(ctx, "tasks/result", Object{"taskId": id})

			cancelled(ctx, server, id)

			server.Await(ctx, waiting)
			server.Ask(ctx, "tasks/result", Object{"taskId": id})
		})

	It("refuses to cancel a task that is done", Verifies("tasks.cancel.refused"), NeedsCapability(callable, cancelable),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, aTool())
			result(ctx, server, id)

			reply := server.Ask(ctx, "tasks/cancel", Object{"taskId": id})

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})

	It("refuses to cancel a task twice", Verifies("tasks.cancel.refused"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			id := begin(ctx, server, tool("task-slow"))
			cancelled(ctx, server, id)

			reply := server.Ask(ctx, "tasks/cancel", Object{"taskId": id})

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})
}
