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
	It("rejects a task-augmented tools/call with -32601 if taskSupport is forbidden or absent",
		Verifies("tasks.tool.forbidden-refused"), NeedsCapability(callable), func(t *T) {
			server := SessionWithTasks(t)
			tool := toolWith(t, "that does not support tasks", "", "forbidden")

			reply := server.AskWrong(t, Request{
				Method:     "tools/call",
				Params:     asTask(tool),
				Deliberate: "calls a tool without task support as a task",
			}, Request{Method: "tools/call", Params: tool.Call()})

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		})

	It("rejects a tools/call without task with -32601 if taskSupport is required",
		Verifies("tasks.tool.required-refused"), NeedsCapability(callable), func(t *T) {
			server := SessionWithTasks(t)
			tool := toolWith(t, "that can be called only as a task", "required")

			reply := server.AskWrong(t, Request{
				Method: "tools/call", Params: tool.Call(), Deliberate: "calls a tool that requires a task without one",
			}, Request{Method: "tools/call", Params: asTask(tool)})

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		})

	It("ignores task in the params of ping", Verifies("tasks.undeclared.ignored"), func(t *T) {
		server := Session(t)
		server.Need(t, "ping", nil)

		reply := server.Await(t, server.StartRaw(
			t,
			server.NextID(),
			"ping",
			scripted.Outgoing{Deliberate: "requests a task of a method that has none"},
			Object{"task": Object{"ttl": keptFor}},
		))

		t.Expect(reply).To(BeResult())
		t.Expect(reply).NotTo(HaveMember("task"))
	})

	It("ignores task in the params of each request other than tools/call", Verifies("tasks.undeclared.ignored"), func(t *T) {
		server := Session(t)

		AcceptInEachMethod(t, func(request Harmless) any {
			if request.Method == "tools/call" {
				return server.Ask(t, request.Method, request.With(nil))
			}
			params := Object{"task": Object{"ttl": keptFor}}
			maps.Copy(params, request.Params)
			return server.Await(t, server.StartRaw(t, server.NextID(), request.Method, scripted.Outgoing{
				Deliberate: "requests a task of a method that has none",
			}, params))
		})
	})

	It("ignores task in tools/call if it does not declare tasks.requests.tools.call",
		Verifies("tasks.undeclared.ignored"), NeedsCapability("tools"), func(t *T) {
			if Declares(t, callable) {
				t.NotApplicable("the server supports tasks for tools/call")
			}
			server := Session(t)
			tool := workingTool(t, server)

			reply := server.Await(t, server.StartRaw(t, server.NextID(), "tools/call",
				scripted.Outgoing{Deliberate: "requests a task that the server does not declare"}, asTask(tool)))

			t.Expect(reply).To(BeResult())
			t.Expect(reply).NotTo(HaveMember("task"))
			t.Expect(reply).To(HaveMember("content", BeAList()))
		})
}

func creation() {
	It(
		"returns a task with a taskId and the status working for a task-augmented tools/call",
		Verifies("tasks.create.answered", "tasks.id.string", "tasks.status.begins-working"),
		NeedsCapability(callable),
		func(t *T) {
			server := SessionWithTasks(t)

			tool := aTool(t)
			reply := server.Ask(t, "tools/call", asTask(tool))

			if supportOf(t, tool.Tool) == "optional" {
				server.NeedContrast(t, reply, "task", Request{Method: "tools/call", Params: tool.Call(), Name: tool.Tool})
			}
			t.Expect(reply).To(HaveMember("task", HaveMember("taskId", BeText())))
			t.Expect(reply.Object()["task"]).To(HaveMember("status", "working"))
			leave(t, server, idOf(reply.Object()["task"]))
		},
	)

	It("returns CreateTaskResult before the task is completed",
		Verifies("tasks.create.prompt"), NeedsCapability(callable), NeedsProvocation("task-slow"), func(t *T) {
			server := SessionWithTasks(t)

			slow := tool(t, "task-slow")

			var state Object
			for range lookedAt {
				id := begin(t, server, slow)
				if state = server.Need(t, "tasks/get", Object{"taskId": id}); state["status"] == "working" {
					break
				}
			}

			demandStatus(t, state)
			t.Expect(state).NotTo(HaveMember("status", "completed"))
		})

	It("generates a new taskId for every task",
		Verifies("tasks.id.generated", "tasks.id.unique"), NeedsCapability(callable), func(t *T) {
			server, other := SessionWithTasks(t), SessionWithTasks(t)
			tool := aTool(t)

			first, second, third := begin(t, server, tool), begin(t, server, tool), begin(t, other, tool)

			t.Demand(
				first != second && first != third && second != third,
				"three tasks with three ids",
				Show([]string{first, second, third}),
			)
			leave(t, server, first, second)
			leave(t, other, third)
		})

	It("limits the ttl that a task request asks for", Verifies("tasks.ttl.limited"), NeedsCapability(callable), func(t *T) {
		server := SessionWithTasks(t)
		tool := aTool(t)
		call := asTask(tool)
		call["task"] = Object{"ttl": tenYears}

		id := beginBy(t, server, tool, call)
		state := server.Need(t, "tasks/get", Object{"taskId": id})

		demandTTL(t, state)
		t.Expect(state).To(HaveMember("ttl", lessThan(tenYears)))
		leave(t, server, id)
	})
}

func polling() {
	It("uses taskId in tasks/get even if the related-task metadata differs",
		Verifies("tasks.target.parameter"), NeedsCapability(callable), func(t *T) {
			server := SessionWithTasks(t)
			named, other := beginTwo(t, server, aTool(t))
			server.Need(t, "tasks/get", Object{"taskId": named})

			reply := server.Await(t, server.StartRaw(t, server.NextID(), "tasks/get",
				scripted.Outgoing{Deliberate: "names another task in the metadata"}, misleading(named, other)))

			t.Expect(reply).To(BeResult())
			demandID(t, reply)
			t.Expect(reply).To(HaveMember("taskId", named))
			leave(t, server, named, other)
		})

	It("uses taskId in tasks/result even if the related-task metadata differs",
		Verifies("tasks.target.parameter"), NeedsCapability(callable), func(t *T) {
			server := SessionWithTasks(t)
			named, other := beginTwo(t, server, aTool(t))
			demandNamed(t, result(t, server, named), named)

			reply := server.MustAwait(t, server.StartRaw(t, server.NextID(), "tasks/result",
				scripted.Outgoing{Deliberate: "names another task in the metadata"}, misleading(named, other)))

			t.Expect(reply).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", named))))
			leave(t, server, other)
		})

	It("uses taskId in tasks/cancel even if the related-task metadata differs",
		Verifies("tasks.target.parameter"), NeedsCapability(callable, "tasks.cancel"), NeedsProvocation("task-slow"), func(t *T) {
			server := SessionWithTasks(t)
			named, other := beginTwo(t, server, tool(t, "task-slow"))

			reply := server.MustAwait(t, server.StartRaw(t, server.NextID(), "tasks/cancel",
				scripted.Outgoing{Deliberate: "names another task in the metadata"}, misleading(named, other)))

			if reply.Refuses() {
				t.Inconclusive("the server cannot cancel the task: "+reply.Describe(),
					"name a slower tool under provocations.task-slow in mcpconform.yaml")
			}
			demandID(t, reply)
			t.Expect(reply).To(HaveMember("taskId", named))
			t.Expect(server.Need(t, "tasks/get", Object{"taskId": other})).NotTo(HaveMember("status", "cancelled"))
			leave(t, server, other)
		})

	for _, method := range []string{"tasks/get", "tasks/result"} {
		It("rejects "+method+" of an unknown taskId with -32602",
			Verifies("tasks.error.unknown-task"), NeedsCapability("tasks"), func(t *T) {
				server := Session(t)

				reply := server.AskWrong(
					t,
					Request{Method: method, Params: Object{"taskId": unknownTask}, Name: unknownTask},
					knownTask(t, server)...)

				t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			})
	}

	It("rejects tasks/cancel of an unknown taskId with -32602",
		Verifies("tasks.error.unknown-task"), NeedsCapability(cancelable), func(t *T) {
			server := Session(t)

			reply := server.AskWrong(
				t,
				Request{Method: "tasks/cancel", Params: Object{"taskId": unknownTask}, Name: unknownTask},
				knownTask(t, server)...)

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})

	It("rejects tasks/get with a number as taskId with -32602",
		Verifies("tasks.error.unknown-task"), NeedsCapability("tasks"), func(t *T) {
			server := Session(t)

			reply := server.AskWrong(t, Request{
				Method:     "tasks/get",
				Params:     Object{"taskId": 7},
				Name:       "taskId",
				Deliberate: "has a number as taskId",
			}, knownTask(t, server)...)

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})
}

func listing() {
	It("returns a list of tasks for tasks/list", Verifies("tasks.list.answered"), NeedsCapability(listable), func(t *T) {
		server := Session(t)

		result := server.Call(t, "tasks/list", nil)

		t.Expect(result).To(HaveMember("tasks", BeAList()))
	})

	It("returns every task on the pages of tasks/list",
		Verifies("tasks.list.complete", "tasks.list.next-cursor"), NeedsCapability(callable, listable), func(t *T) {
			server := SessionWithTasks(t)
			tool := aTool(t)
			var begun []string
			for range listed {
				begun = append(begun, begin(t, server, tool))
			}

			all := server.All(t, "tasks/list")

			known := false
			for _, id := range begun {
				if found := server.Ask(t, "tasks/get", Object{"taskId": id}); found.Object() != nil {
					known = true
					t.Expect(all).To(includeTask(id))
				}
			}
			leave(t, server, begun...)
			if !known {
				t.Inconclusive(
					"tasks/get finds none of the tasks that tools/call created",
					"make sure that the server keeps a task until its ttl has passed",
				)
			}
		})

	It("rejects tasks/list with an unknown cursor with -32602",
		Verifies("tasks.error.unknown-cursor"), NeedsCapability(listable), func(t *T) {
			server := Session(t)

			reply := server.AskWrong(t, Request{
				Method:     "tasks/list",
				Params:     Object{"cursor": unknownCursor},
				Name:       unknownCursor,
				Deliberate: "uses a cursor that was never issued",
			}, Request{Method: "tasks/list"})

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})
}

func cancellation() {
	It("returns the task with the status cancelled for tasks/cancel",
		Verifies("tasks.cancel.done"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"), func(t *T) {
			server := SessionWithTasks(t)
			id := begin(t, server, tool(t, "task-slow"))

			reply := cancel(t, server, id)

			t.Expect(reply).To(BeResult())
			t.Expect(reply).To(HaveMember("status", "cancelled"))
		})

	It("keeps the status cancelled after tasks/cancel",
		Verifies("tasks.cancel.stays"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"), func(t *T) {
			server := SessionWithTasks(t)
			slow := tool(t, "task-slow")
			stopped, other := begin(t, server, slow), begin(t, server, slow)

			cancelled(t, server, stopped)

			// The same call, begun later, ends when the work of this one would have.
			result(t, server, other)
			state := server.Ask(t, "tasks/get", Object{"taskId": stopped})
			if _, forgotten := state.Error(); forgotten {
				t.NotApplicable("the server no longer has the task")
			}
			t.Expect(state).To(HaveMember("status", "cancelled"))
		})

	It(
		"includes a cancelled task in tasks/list as long as tasks/get finds it",
		Verifies("tasks.list.complete"),
		NeedsCapability(callable, cancelable, listable),
		NeedsProvocation("task-slow"),
		func(t *T) {
			id, all := listedAfterCancel(t)

			t.Expect(all).To(includeTask(id))
		},
	)

	It(
		"lists a cancelled task with the status cancelled",
		Verifies("tasks.cancel.stays"),
		NeedsCapability(callable, cancelable, listable),
		NeedsProvocation("task-slow"),
		func(t *T) {
			id, all := listedAfterCancel(t)

			for _, task := range all {
				if task["taskId"] == id {
					t.Expect(task).To(HaveMember("status", "cancelled"))
				}
			}
		},
	)

	It("returns a tool result or an error for tasks/result of a cancelled task",
		Verifies("tasks.result.same"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"), func(t *T) {
			server := SessionWithTasks(t)
			id := begin(t, server, tool(t, "task-slow"))
			waiting := server.Start(t, "tasks/result", Object{"taskId": id})

			cancelled(t, server, id)

			t.Expect(server.MustAwait(t, waiting)).To(beTheOutcomeOfACall)
			t.Expect(server.MustAsk(t, "tasks/result", Object{"taskId": id})).To(beTheOutcomeOfACall)
		})

	It("rejects tasks/cancel of a finished task with -32602",
		Verifies("tasks.cancel.refused"), NeedsCapability(callable, cancelable), func(t *T) {
			tools := []Provocation{aTool(t)}
			if failing, known := Provocable(t, "task-failing"); known && takesTasks(t, failing) {
				tools = append(tools, failing)
			}

			for _, tool := range tools {
				server := SessionWithTasks(t)
				id := begin(t, server, tool)
				result(t, server, id)

				reply := server.AskWrong(
					t,
					Request{Method: "tasks/cancel", Params: Object{"taskId": id}, Name: id},
					working(t, server, id),
				)

				t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			}
		})

	It("rejects a second tasks/cancel of the same task with -32602",
		Verifies("tasks.cancel.refused"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"), func(t *T) {
			server := SessionWithTasks(t)
			id := begin(t, server, tool(t, "task-slow"))
			cancelled(t, server, id)

			reply := server.Ask(t, "tasks/cancel", Object{"taskId": id})

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})
}
