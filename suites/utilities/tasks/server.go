// Package tasks checks the page basic/utilities/tasks.
package tasks

import (
	"maps"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
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
	Describe("Tasks", Together("tasks"), func() {
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
	It(
		"rejects a task-augmented tools/call with -32601 if taskSupport is forbidden or absent",
		Verifies("tasks.tool.forbidden-refused"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			tool := toolWith("that does not support tasks", "", "forbidden")

			reply := server.AskWrong(ctx, Request{
				Method:     "tools/call",
				Params:     asTask(tool),
				Deliberate: "calls a tool without task support as a task",
			}, Request{Method: "tools/call", Params: tool.Call()})

			Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		},
	)

	It(
		"rejects a tools/call without task with -32601 if taskSupport is required",
		Verifies("tasks.tool.required-refused"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			tool := toolWith("that can be called only as a task", "required")

			reply := server.AskWrong(ctx, Request{
				Method: "tools/call", Params: tool.Call(), Deliberate: "calls a tool that requires a task without one",
			}, Request{Method: "tools/call", Params: asTask(tool)})

			Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		},
	)

	It("ignores task in the params of ping", Verifies("tasks.undeclared.ignored"),
		func(ctx SpecContext) {
			server := Session(ctx)
			server.Need(ctx, "ping", nil)

			reply := server.Await(ctx, server.StartRaw(
				ctx,
				server.NextID(),
				"ping",
				scripted.Outgoing{
					Deliberate: "requests a task of a method that has none",
				},
				Object{"task": Object{"ttl": keptFor}},
			))

			Expect(reply).To(BeResult())
			Expect(reply).NotTo(HaveMember("task"))
		})

	It("ignores task in the params of each request that is no tools/call", Verifies("tasks.undeclared.ignored"),
		func(ctx SpecContext) {
			server := Session(ctx)

			AcceptInEachMethod(ctx, func(request Harmless) any {
				if request.Method == "tools/call" {
					return server.Ask(ctx, request.Method, request.With(nil))
				}
				params := Object{"task": Object{"ttl": keptFor}}
				maps.Copy(params, request.Params)
				return server.Await(ctx, server.StartRaw(ctx, server.NextID(), request.Method, scripted.Outgoing{
					Deliberate: "requests a task of a method that has none",
				}, params))
			})
		})

	It(
		"ignores task in tools/call if it does not declare tasks.requests.tools.call",
		Verifies("tasks.undeclared.ignored"),
		NeedsCapability("tools"),
		func(ctx SpecContext) {
			if Declares(callable) {
				NotApplicable("the server supports tasks for tools/call")
			}
			server := Session(ctx)
			tool := workingTool(ctx, server)

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tools/call",
				scripted.Outgoing{Deliberate: "requests a task that the server does not declare"}, asTask(tool)))

			Expect(reply).To(BeResult())
			Expect(reply).NotTo(HaveMember("task"))
			Expect(reply).To(HaveMember("content", BeAList()))
		},
	)
}

func creation() {
	It(
		"returns a task with a taskId and the status working for a task-augmented tools/call",
		Verifies("tasks.create.answered", "tasks.id.string", "tasks.status.begins-working"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)

			tool := aTool()
			reply := server.Ask(ctx, "tools/call", asTask(tool))

			if supportOf(tool.Tool) == "optional" {
				server.NeedContrast(
					ctx,
					reply,
					"task",
					Request{Method: "tools/call", Params: tool.Call(), Name: tool.Tool},
				)
			}
			Expect(reply).To(HaveMember("task", HaveMember("taskId", BeText())))
			Expect(reply.Object()["task"]).To(HaveMember("status", "working"))
			leave(ctx, server, idOf(reply.Object()["task"]))
		},
	)

	It(
		"returns CreateTaskResult before the task is completed",
		Verifies("tasks.create.prompt"),
		NeedsCapability(callable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)

			slow := tool("task-slow")

			var state Object
			for range lookedAt {
				id := begin(ctx, server, slow)
				if state = server.Need(ctx, "tasks/get", Object{"taskId": id}); state["status"] == "working" {
					break
				}
			}

			demandStatus(state)
			Expect(state).NotTo(HaveMember("status", "completed"))
		},
	)

	It(
		"generates a new taskId for every task",
		Verifies("tasks.id.generated", "tasks.id.unique"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server, other := SessionWithTasks(ctx), SessionWithTasks(ctx)
			tool := aTool()

			first, second, third := begin(ctx, server, tool), begin(ctx, server, tool), begin(ctx, other, tool)

			Demand(
				first != second && first != third && second != third,
				"three tasks with three ids",
				Show([]string{first, second, third}),
			)
			leave(ctx, server, first, second)
			leave(ctx, other, third)
		},
	)

	It("limits the ttl that a task request asks for", Verifies("tasks.ttl.limited"), NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			tool := aTool()
			call := asTask(tool)
			call["task"] = Object{"ttl": tenYears}

			id := beginBy(ctx, server, tool, call)
			state := server.Need(ctx, "tasks/get", Object{"taskId": id})

			demandTTL(state)
			Expect(state).To(HaveMember("ttl", lessThan(tenYears)))
			leave(ctx, server, id)
		})
}

func polling() {
	It(
		"uses taskId in tasks/get even if the related-task metadata differs",
		Verifies("tasks.target.parameter"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			named, other := beginTwo(ctx, server, aTool())
			server.Need(ctx, "tasks/get", Object{"taskId": named})

			reply := server.Await(ctx, server.StartRaw(ctx, server.NextID(), "tasks/get",
				scripted.Outgoing{Deliberate: "names another task in the metadata"}, misleading(named, other)))

			Expect(reply).To(BeResult())
			demandID(reply)
			Expect(reply).To(HaveMember("taskId", named))
			leave(ctx, server, named, other)
		},
	)

	It(
		"uses taskId in tasks/result even if the related-task metadata differs",
		Verifies("tasks.target.parameter"),
		NeedsCapability(callable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			named, other := beginTwo(ctx, server, aTool())
			demandNamed(result(ctx, server, named), named)

			reply := server.MustAwait(ctx, server.StartRaw(ctx, server.NextID(), "tasks/result",
				scripted.Outgoing{Deliberate: "names another task in the metadata"}, misleading(named, other)))

			Expect(reply).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", named))))
			leave(ctx, server, other)
		},
	)

	It(
		"uses taskId in tasks/cancel even if the related-task metadata differs",
		Verifies("tasks.target.parameter"),
		NeedsCapability(callable, "tasks.cancel"),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			named, other := beginTwo(ctx, server, tool("task-slow"))

			reply := server.MustAwait(ctx, server.StartRaw(ctx, server.NextID(), "tasks/cancel",
				scripted.Outgoing{Deliberate: "names another task in the metadata"}, misleading(named, other)))

			if reply.Refuses() {
				Inconclusive("the server cannot cancel the task: "+reply.Describe(),
					"name a slower tool under provocations.task-slow in mcpconform.yaml")
			}
			demandID(reply)
			Expect(reply).To(HaveMember("taskId", named))
			Expect(server.Need(ctx, "tasks/get", Object{"taskId": other})).NotTo(HaveMember("status", "cancelled"))
			leave(ctx, server, other)
		},
	)

	for _, method := range []string{"tasks/get", "tasks/result"} {
		It(
			"rejects "+method+" of an unknown taskId with -32602",
			Verifies("tasks.error.unknown-task"),
			NeedsCapability("tasks"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.AskWrong(
					ctx,
					Request{Method: method, Params: Object{"taskId": unknownTask}, Name: unknownTask},
					knownTask(ctx, server)...)

				Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			},
		)
	}

	It(
		"rejects tasks/cancel of an unknown taskId with -32602",
		Verifies("tasks.error.unknown-task"),
		NeedsCapability(cancelable),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply := server.AskWrong(
				ctx,
				Request{Method: "tasks/cancel", Params: Object{"taskId": unknownTask}, Name: unknownTask},
				knownTask(ctx, server)...)

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		},
	)

	It(
		"rejects tasks/get with a number as taskId with -32602",
		Verifies("tasks.error.unknown-task"),
		NeedsCapability("tasks"),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply := server.AskWrong(ctx, Request{
				Method:     "tasks/get",
				Params:     Object{"taskId": 7},
				Name:       "taskId",
				Deliberate: "has a number as taskId",
			}, knownTask(ctx, server)...)

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		},
	)
}

func listing() {
	It("returns a list of tasks for tasks/list", Verifies("tasks.list.answered"), NeedsCapability(listable),
		func(ctx SpecContext) {
			server := Session(ctx)

			result := server.Call(ctx, "tasks/list", nil)

			Expect(result).To(HaveMember("tasks", BeAList()))
		})

	It("returns every task on the pages of tasks/list", Verifies("tasks.list.complete", "tasks.list.next-cursor"),
		NeedsCapability(callable, listable),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			tool := aTool()
			var begun []string
			for range listed {
				begun = append(begun, begin(ctx, server, tool))
			}

			all := server.All(ctx, "tasks/list")

			known := false
			for _, id := range begun {
				if found := server.Ask(ctx, "tasks/get", Object{"taskId": id}); found.Object() != nil {
					known = true
					Expect(all).To(includeTask(id))
				}
			}
			leave(ctx, server, begun...)
			if !known {
				Inconclusive(
					"tasks/get finds none of the tasks that tools/call created",
					"make sure that the server keeps a task until its ttl has passed",
				)
			}
		})

	It(
		"rejects tasks/list with an unknown cursor with -32602",
		Verifies("tasks.error.unknown-cursor"),
		NeedsCapability(listable),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply := server.AskWrong(ctx, Request{
				Method:     "tasks/list",
				Params:     Object{"cursor": unknownCursor},
				Name:       unknownCursor,
				Deliberate: "uses a cursor that was never issued",
			}, Request{Method: "tasks/list"})

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		},
	)
}

func cancellation() {
	It(
		"returns the task with the status cancelled for tasks/cancel",
		Verifies("tasks.cancel.done"),
		NeedsCapability(callable, cancelable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, tool("task-slow"))

			reply := cancel(ctx, server, id)

			Expect(reply).To(BeResult())
			Expect(reply).To(HaveMember("status", "cancelled"))
		},
	)

	It(
		"keeps the status cancelled after tasks/cancel",
		Verifies("tasks.cancel.stays"),
		NeedsCapability(callable, cancelable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			slow := tool("task-slow")
			stopped, other := begin(ctx, server, slow), begin(ctx, server, slow)

			cancelled(ctx, server, stopped)

			// The same call, begun later, ends when the work of this one would have.
			result(ctx, server, other)
			state := server.Ask(ctx, "tasks/get", Object{"taskId": stopped})
			if _, forgotten := state.Error(); forgotten {
				NotApplicable("the server no longer has the task")
			}
			Expect(state).To(HaveMember("status", "cancelled"))
		},
	)

	It(
		"includes a cancelled task in tasks/list as long as tasks/get finds it",
		Verifies("tasks.list.complete"),
		NeedsCapability(callable, cancelable, listable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			id, all := listedAfterCancel(ctx)

			Expect(all).To(includeTask(id))
		},
	)

	It(
		"lists a cancelled task with the status cancelled",
		Verifies("tasks.cancel.stays"),
		NeedsCapability(callable, cancelable, listable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			id, all := listedAfterCancel(ctx)

			for _, task := range all {
				if task["taskId"] == id {
					Expect(task).To(HaveMember("status", "cancelled"))
				}
			}
		},
	)

	It(
		"returns a tool result or an error for tasks/result of a cancelled task",
		Verifies("tasks.result.same"),
		NeedsCapability(callable, cancelable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, tool("task-slow"))
			waiting := server.Start(ctx, "tasks/result", Object{"taskId": id})

			cancelled(ctx, server, id)

			Expect(server.MustAwait(ctx, waiting)).To(beTheOutcomeOfACall)
			Expect(server.MustAsk(ctx, "tasks/result", Object{"taskId": id})).To(beTheOutcomeOfACall)
		},
	)

	It(
		"rejects tasks/cancel of a finished task with -32602",
		Verifies("tasks.cancel.refused"),
		NeedsCapability(callable, cancelable),
		func(ctx SpecContext) {
			tools := []Provocation{aTool()}
			if failing, known := Provocable("task-failing"); known && takesTasks(failing) {
				tools = append(tools, failing)
			}

			for _, tool := range tools {
				server := SessionWithTasks(ctx)
				id := begin(ctx, server, tool)
				result(ctx, server, id)

				reply := server.AskWrong(
					ctx,
					Request{Method: "tasks/cancel", Params: Object{"taskId": id}, Name: id},
					working(ctx, server, id),
				)

				Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			}
		},
	)

	It(
		"rejects a second tasks/cancel of the same task with -32602",
		Verifies("tasks.cancel.refused"),
		NeedsCapability(callable, cancelable),
		NeedsProvocation("task-slow"),
		func(ctx SpecContext) {
			server := SessionWithTasks(ctx)
			id := begin(ctx, server, tool("task-slow"))
			cancelled(ctx, server, id)

			reply := server.Ask(ctx, "tasks/cancel", Object{"taskId": id})

			Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		},
	)
}
