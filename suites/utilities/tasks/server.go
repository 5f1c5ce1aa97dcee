// Package tasks checks the page basic/utilities/tasks.
package tasks

import (
	"maps"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	. "github.com/mcpconform/mcpconform/internal/requests"
	. "github.com/mcpconform/mcpconform/internal/session"
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
	// Tools that run as tasks take seconds: those of each group wait beside the others.
	Describe("Tasks", Together("tasks"), func() {
		negotiation()
		creation()
		polling()
		listing()
		asRequestor()
	})
	Describe("Tasks", Together("tasks that end"), func() {
		results()
		failures()
	})
	Describe("Tasks", Together("tasks that ask"), input)
	Describe("Tasks", Together("tasks that are cancelled"), cancellation)
}

func negotiation() {
	It("rejects a task-augmented tools/call with -32601 if taskSupport is forbidden or absent",
		Verifies("tasks.tool.forbidden-refused"), NeedsCapability(callable), func(t *T) {
			server := TaskSession(t)
			tool := toolWith(t, "that does not support tasks", "", "forbidden")

			reply := CallWrong(t, server, Request{
				Method:     "tools/call",
				Params:     asTask(tool),
				Deliberate: "calls a tool without task support as a task",
			}, Request{Method: "tools/call", Params: tool.Call()})

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		})

	It("rejects a tools/call without task with -32601 if taskSupport is required",
		Verifies("tasks.tool.required-refused"), NeedsCapability(callable), func(t *T) {
			server := TaskSession(t)
			tool := toolWith(t, "that can be called only as a task", "required")

			reply := CallWrong(t, server, Request{
				Method: "tools/call", Params: tool.Call(), Deliberate: "calls a tool that requires a task without one",
			}, Request{Method: "tools/call", Params: asTask(tool)})

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		})

	unusedTask()
}

func unusedTask() {
	It("ignores task in the params of ping", Verifies("tasks.undeclared.ignored"), func(t *T) {
		server := Session(t)
		server.Call("ping", nil).Need().Result()

		reply := server.Call("ping", Object{"task": Object{"ttl": keptFor}}, Illegal("requests a task of a method that has none")).Must()

		t.Expect(reply).To(BeResult())
		t.Expect(reply).NotTo(HaveMember("task"))
	})

	It("ignores task in the params of each request other than tools/call", Verifies("tasks.undeclared.ignored"), func(t *T) {
		server := Session(t)

		AcceptInEachMethod(t, func(request Harmless) any {
			if request.Method == "tools/call" {
				return server.Call(request.Method, request.With(nil)).Must()
			}
			params := Object{"task": Object{"ttl": keptFor}}
			maps.Copy(params, request.Params)
			return server.Call(request.Method, params, Illegal("requests a task of a method that has none")).Must()
		})
	})

	It("ignores task in tools/call if it does not declare tasks.requests.tools.call",
		Verifies("tasks.undeclared.ignored"), NeedsCapability("tools"), func(t *T) {
			if Declares(t, callable) {
				t.NotApplicable("the server supports tasks for tools/call")
			}
			server := Session(t)
			tool := workingTool(t, server)

			reply := server.Call("tools/call", asTask(tool), Illegal("requests a task that the server does not declare")).Must()

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
			server := TaskSession(t)

			tool := aTool(t)
			reply := server.Call("tools/call", asTask(tool)).Must()

			if supportOf(t, tool.Tool) == "optional" {
				NeedContrast(t, server, reply, "task", Request{Method: "tools/call", Params: tool.Call(), Name: tool.Tool})
			}
			t.Expect(reply).To(HaveMember("task", HaveMember("taskId", BeText())))
			t.Expect(reply.Object()["task"]).To(HaveMember("status", "working"))
			leave(t, server, idOf(reply.Object()["task"]))
		},
	)

	It("returns CreateTaskResult before the task is completed",
		Verifies("tasks.create.prompt"), NeedsCapability(callable), NeedsProvocation("task-slow"), func(t *T) {
			server := TaskSession(t)

			slow := tool(t, "task-slow")

			var state Object
			for range lookedAt {
				id := begin(t, server, slow)
				if state = server.Call("tasks/get", Object{"taskId": id}).Need().Result(); state["status"] == "working" {
					break
				}
			}

			demandStatus(t, state)
			t.Expect(state).NotTo(HaveMember("status", "completed"))
		})

	separateTasks()
}

func separateTasks() {
	It("generates a new taskId for every task", Verifies("tasks.id.generated", "tasks.id.unique"), NeedsCapability(callable), func(t *T) {
		server, other := TaskSession(t), TaskSession(t)
		tool := aTool(t)

		first, second, third := begin(t, server, tool), begin(t, server, tool), begin(t, other, tool)

		t.Demand(first != second && first != third && second != third, "three tasks with three ids", Show([]string{first, second, third}))
		leave(t, server, first, second)
		leave(t, other, third)
	})

	It("limits the ttl that a task request asks for", Verifies("tasks.ttl.limited"), NeedsCapability(callable), func(t *T) {
		server := TaskSession(t)
		tool := aTool(t)
		call := asTask(tool)
		call["task"] = Object{"ttl": tenYears}

		id := beginBy(t, server, tool, call)
		state := server.Call("tasks/get", Object{"taskId": id}).Need().Result()

		demandTTL(t, state)
		t.Expect(state).To(HaveMember("ttl", lessThan(tenYears)))
		leave(t, server, id)
	})
}

func polling() {
	It("uses taskId in tasks/get even if the related-task metadata differs",
		Verifies("tasks.target.parameter"), NeedsCapability(callable), func(t *T) {
			server := TaskSession(t)
			named, other := beginTwo(t, server, aTool(t))
			server.Call("tasks/get", Object{"taskId": named}).Need().Result()

			reply := server.Call("tasks/get", misleading(named, other), Illegal("names another task in the metadata")).Must()

			t.Expect(reply).To(BeResult())
			demandID(t, reply)
			t.Expect(reply).To(HaveMember("taskId", named))
			leave(t, server, named, other)
		})

	It("uses taskId in tasks/result even if the related-task metadata differs",
		Verifies("tasks.target.parameter"), NeedsCapability(callable), func(t *T) {
			server := TaskSession(t)
			named, other := beginTwo(t, server, aTool(t))
			demandNamed(t, result(t, server, named), named)

			reply := server.Call("tasks/result", misleading(named, other), Illegal("names another task in the metadata")).Must(BeAnswered)

			t.Expect(reply).To(HaveMember("_meta", HaveMember(mcp.RelatedTask, HaveMember("taskId", named))))
			leave(t, server, other)
		})

	It("uses taskId in tasks/cancel even if the related-task metadata differs",
		Verifies("tasks.target.parameter"), NeedsCapability(callable, "tasks.cancel"), NeedsProvocation("task-slow"), func(t *T) {
			server := TaskSession(t)
			named, other := beginTwo(t, server, tool(t, "task-slow"))

			reply := server.Call("tasks/cancel", misleading(named, other), Illegal("names another task in the metadata")).Must(BeAnswered)

			if reply.Refuses() {
				t.TooLate("the server cannot cancel the task: "+reply.Describe(),
					"name a slower tool under provocations.task-slow in mcpconform.yaml")
			}
			demandID(t, reply)
			t.Expect(reply).To(HaveMember("taskId", named))
			t.Expect(server.Call("tasks/get", Object{"taskId": other}).Need().Result()).NotTo(HaveMember("status", "cancelled"))
			leave(t, server, other)
		})

	unknownTasks()
}

func unknownTasks() {
	for _, method := range []string{"tasks/get", "tasks/result"} {
		It("rejects "+method+" of an unknown taskId with -32602", Verifies("tasks.error.unknown-task"), NeedsCapability("tasks"), func(t *T) {
			server := Session(t)

			reply := CallWrong(t, server, Request{Method: method, Params: Object{"taskId": unknownTask}, Name: unknownTask}, knownTask(t, server)...)

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})
	}

	It("rejects tasks/cancel of an unknown taskId with -32602", Verifies("tasks.error.unknown-task"), NeedsCapability(cancelable), func(t *T) {
		server := Session(t)

		reply := CallWrong(t, server, Request{Method: "tasks/cancel", Params: Object{"taskId": unknownTask}, Name: unknownTask}, knownTask(t, server)...)

		t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
	})

	It("rejects tasks/get with a number as taskId with -32602", Verifies("tasks.error.unknown-task"), NeedsCapability("tasks"), func(t *T) {
		server := Session(t)

		reply := CallWrong(t, server, Request{
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

		result := server.Call("tasks/list", nil).Must().Result()

		t.Expect(result).To(HaveMember("tasks", BeAList()))
	})

	It("returns every task on the pages of tasks/list",
		Verifies("tasks.list.complete", "tasks.list.next-cursor"), NeedsCapability(callable, listable), func(t *T) {
			server := TaskSession(t)
			tool := aTool(t)
			var begun []string
			for range listed {
				begun = append(begun, begin(t, server, tool))
			}

			all := server.All("tasks/list")

			known := false
			for _, id := range begun {
				if found := server.Call("tasks/get", Object{"taskId": id}).Must(); found.Object() != nil {
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

	It("rejects tasks/list with an unknown cursor with -32602", Verifies("tasks.error.unknown-cursor"), NeedsCapability(listable), func(t *T) {
		server := Session(t)

		reply := CallWrong(t, server, Request{
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
			server := TaskSession(t)
			id := begin(t, server, tool(t, "task-slow"))

			reply := cancel(t, server, id)

			t.Expect(reply).To(BeResult())
			t.Expect(reply).To(HaveMember("status", "cancelled"))
		})

	It("keeps the status cancelled after tasks/cancel",
		Verifies("tasks.cancel.stays"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"), func(t *T) {
			server := TaskSession(t)
			slow := tool(t, "task-slow")
			stopped, other := begin(t, server, slow), begin(t, server, slow)

			cancelled(t, server, stopped)

			// The same call, begun later, ends when the work of this one would have.
			result(t, server, other)
			state := server.Call("tasks/get", Object{"taskId": stopped}).Must()
			if _, forgotten := state.Error(); forgotten {
				t.NotApplicable("the server no longer has the task")
			}
			t.Expect(state).To(HaveMember("status", "cancelled"))
		})

	cancelledTasks()

	refusedCancellation()
}

func cancelledTasks() {
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
			server := TaskSession(t)
			id := begin(t, server, tool(t, "task-slow"))
			waiting := server.Call("tasks/result", Object{"taskId": id})

			cancelled(t, server, id)

			t.Expect(waiting.Must(BeAnswered)).To(beTheOutcomeOfACall)
			t.Expect(server.Call("tasks/result", Object{"taskId": id}).Must(BeAnswered)).To(beTheOutcomeOfACall)
		})
}

func refusedCancellation() {
	It("rejects tasks/cancel of a finished task with -32602", Verifies("tasks.cancel.refused"), NeedsCapability(callable, cancelable), func(t *T) {
		tools := []Provocation{aTool(t)}
		if failing, known := Provocable(t, "task-failing"); known && takesTasks(t, failing) {
			tools = append(tools, failing)
		}

		for _, tool := range tools {
			server := TaskSession(t)
			id := begin(t, server, tool)
			result(t, server, id)

			reply := CallWrong(t, server, Request{Method: "tasks/cancel", Params: Object{"taskId": id}, Name: id}, working(t, server, id))

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		}
	})

	It("rejects a second tasks/cancel of the same task with -32602",
		Verifies("tasks.cancel.refused"), NeedsCapability(callable, cancelable), NeedsProvocation("task-slow"), func(t *T) {
			server := TaskSession(t)
			id := begin(t, server, tool(t, "task-slow"))
			cancelled(t, server, id)

			reply := server.Call("tasks/cancel", Object{"taskId": id}).Must()

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		})
}
