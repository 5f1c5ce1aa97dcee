// Package tasks checks the tasks extension (SEP-2663).
package tasks

import (
	"maps"
	"net/http"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// ServerChecks registers the checks of a target server. What they provoke is judged
// by the rules about the extension, too.
func ServerChecks() {
	Describe("Tasks extension", func() {
		negotiation()
		creation()
		endings()
		input()
		cancellation()
		cancellationOfEnded()
		routing()
		notifications()
		unknown()
		former()
	})
}

func negotiation() {
	It("declares io.modelcontextprotocol/tasks if it answers tools/call with tasks",
		Verifies("tasks-extension.capability.declared"), NeedsCapability("tools"), func(t *T) {
			NeedDeclarations(t)
			server := declaring(t)

			tool, id := firstTask(t, server, fewTools)

			if id == "" {
				t.NotApplicable("no tool that was called answered with a task")
			}
			t.Demand(
				Declares(t, "extensions."+identifier),
				"the extension "+identifier+", or no tasks",
				"no such extension, and a task of "+tool.Tool,
			)
		})

	It("returns no task for a tools/call that does not declare the tasks extension",
		Verifies("tasks-extension.created.negotiated"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)
			tool, id := anyTask(t, server) // it was declared before, on this connection
			leave(server, id)

			reply := withoutTask(t, server, tool, undeclared(t, tool.Call()))

			t.DemandOf(reply, reply.Object()["resultType"] != "task", "a result of the tool, or an error")
		})

	undeclaredTasks()
}

func undeclaredTasks() {
	It("rejects a call that needs the undeclared tasks extension with -32021, naming the extension",
		Verifies("tasks-extension.created.unable"), NeedsExtension("tasks"), NeedsProvocation("task-required"), func(t *T) {
			able := declaring(t)
			leave(able, begin(t, able, "task-required")) // or else nothing shows what it is refused for
			server := Session(t)

			reply := server.Call("tools/call", Provoking(t, "task-required").Call()).Must()

			if _, refused := reply.Error(); !refused {
				t.NotApplicable("the server serves the call without a task, too")
			}
			demandMissing(t, reply)
		})

	It("rejects tasks/get, tasks/update and tasks/cancel with -32021 if the extension is undeclared",
		Verifies("tasks-extension.undeclared.refused"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)
			_, id := anyTask(t, server)
			update := Object{"taskId": id, "inputResponses": Object{}}

			replies := map[string]Reply{
				"tasks/get":    server.Call("tasks/get", undeclared(t, of(id))).Must(),
				"tasks/update": server.Call("tasks/update", undeclared(t, update)).Must(),
				"tasks/cancel": server.Call("tasks/cancel", undeclared(t, of(id))).Must(),
			}

			var wrong []Mismatch
			for _, method := range slices.Sorted(maps.Keys(replies)) {
				t.Observe()
				if refusal, _ := replies[method].Error(); refusal.Code != jsonrpc.MissingCapability {
					wrong = append(wrong, Wrong(replies[method], "error -32021 (Missing required client capability) to "+method))
				}
			}
			t.Judge(wrong...)
			leave(server, id)
		})
}

func creation() {
	It("answers tasks/get of a task as soon as it has returned the task",
		Verifies("tasks-extension.created.durable", "tasks-extension.get.answered"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)
			_, id := anyTask(t, server)

			reply := server.Call("tasks/get", of(id)).Must()

			t.Expect(reply).To(BeResult())
			t.Expect(reply).To(HaveMember("taskId", id))
			leave(server, id)
		})

	It("accepts tasks/get, tasks/update and tasks/cancel without clientInfo in _meta",
		Verifies("base.fields.optional"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)

			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
				_, id := anyTask(t, server)
				params := of(id)
				if method == "tasks/update" {
					params["inputResponses"] = Object{}
				}
				plain := server.Call(method, params).May()
				if plain.Object() == nil {
					continue // it is not refused for that
				}
				_, id = anyTask(t, server)
				params["taskId"], params["_meta"] = id, Object{mcp.MetaClientInfo: scripted.Omitted}

				reply := server.Call(method, params).Must()

				t.Expect(reply).To(BeResult())
				leave(server, id)
			}
		})

	It("answers tasks/get of a task on another connection",
		Verifies("tasks-extension.created.durable"), NeedsExtension("tasks"), NeedsTransport(protocol.HTTP), func(t *T) {
			server, other := declaring(t), declaring(t)
			_, id := anyTask(t, server)

			reply := other.Call("tasks/get", of(id)).Must()

			t.Expect(reply).To(BeResult())
			leave(server, id)
		})
}

// endings checks how tasks end. The rules about their states judge the rest.
func endings() {
	It("returns the tool result from tasks/get when a task has completed",
		Verifies("tasks-extension.get.completed"), NeedsExtension("tasks"), NeedsProvocation("task"), func(t *T) {
			server := declaring(t)
			id := begin(t, server, "task")

			state := observe(t, server, id, isOver)
			server.Call("tasks/get", of(id)).Need().Result() // a rule tells whether it stays so

			if state["status"] != "completed" {
				t.Inconclusive("the task was not completed: "+Show(state), "make sure that the tool for task succeeds")
			}
			t.Expect(state).To(HaveMember("result", HaveMember("content", BeAList())))
		})

	It(
		"returns the status completed for a task whose tool result has isError",
		Verifies("tasks-extension.task.completed-errors", "tasks-extension.task.failed-errors"),
		NeedsExtension("tasks"),
		NeedsProvocation("task-failing"),
		func(t *T) {
			server := declaring(t)
			id := begin(t, server, "task-failing")

			state := observe(t, server, id, isOver)

			t.Expect(state).To(HaveMember("status", "completed"))
			t.Expect(state).To(HaveMember("result", HaveMember("isError", true)))
		},
	)

	It("returns the JSON-RPC error from tasks/get when a task has failed",
		Verifies("tasks-extension.get.failed"), NeedsExtension("tasks"), NeedsProvocation("task-refused"), func(t *T) {
			server := declaring(t)
			id := begin(t, server, "task-refused")

			state := observe(t, server, id, isOver)

			if state["status"] != "failed" {
				judgeFailure(t, server, state)
			}
			t.Expect(state).To(HaveMember("error", HaveMember("code")))
		})
}

// judgeFailure judges a task of a tool for task-refused that did not fail: without a task, the
// same call shows whether it ends with a JSON-RPC error.
func judgeFailure(t *T, server *Server, state Object) {
	if state["status"] == "completed" && mcp.Value(state, "result", "isError") == true {
		plain := server.Call("tools/call", undeclared(t, Provoking(t, "task-refused").Call())).Need()
		refusal, refused := plain.Error()
		t.Demand(
			!refused || refusal.Code == jsonrpc.MissingCapability,
			"the status failed, as the call without a task ends with a JSON-RPC error: "+Show(refusal.Message),
			Show(state),
		)
	}
	t.Inconclusive("the task did not fail: "+Show(state), "make sure that the tool for task-refused ends with a JSON-RPC error")
}

func input() {
	It(
		"continues a task after tasks/update with the requested input",
		Verifies("tasks-extension.update.acknowledged", "tasks-extension.get.input-required"),
		NeedsExtension("tasks"),
		NeedsProvocation("task-input"),
		func(t *T) {
			server := declaring(t)
			id := begin(t, server, "task-input")
			requests := awaitInput(t, server, id)

			reply := server.Call("tasks/update", Object{"taskId": id, "inputResponses": server.Responses(requests)}).Must()

			t.Expect(reply).To(BeResult())
			observe(t, server, id, func(state Object) bool { return state["status"] != "input_required" })
			leave(server, id)
		},
	)

	It("ignores a key in inputResponses of tasks/update that it did not request",
		Verifies("tasks-extension.update.stray-ignored"), NeedsExtension("tasks"), NeedsProvocation("task-input"), func(t *T) {
			server := declaring(t)
			id := begin(t, server, "task-input")
			awaitInput(t, server, id)

			reply := server.Call("tasks/update", Object{"taskId": id, "inputResponses": Object{unknownKey: scripted.Acceptance(nil)}}).Must()

			t.Expect(reply).To(BeResult())
			state := server.Call("tasks/get", of(id)).Need().Result()
			t.Expect(state).To(HaveMember("status", "input_required"))
			leave(server, id)
		})
}

func cancellation() {
	It("accepts tasks/cancel of a running task", Verifies("tasks-extension.cancel.acknowledged"), NeedsExtension("tasks"), func(t *T) {
		server := declaring(t)
		id := slowTask(t, server)
		if isOver(server.Call("tasks/get", of(id)).Need().Result()) {
			t.TooLate("the task ended before it could be cancelled", "name a slower tool under provocations.task-slow in mcpconform.yaml")
		}

		reply := server.Call("tasks/cancel", of(id)).Must()

		t.Expect(reply).To(BeResult())
		server.Call("tasks/get", of(id)).Must() // for the rules about its state
	})
}

func cancellationOfEnded() {
	It("acknowledges tasks/cancel of a task that has ended",
		Verifies("tasks-extension.cancel.acknowledged"), NeedsExtension("tasks"), NeedsProvocation("task"), func(t *T) {
			server := declaring(t)
			id := begin(t, server, "task")
			observe(t, server, id, isOver)

			reply := server.Call("tasks/cancel", of(id)).Must()

			if _, forgotten := server.Call("tasks/get", of(id)).Must().Error(); forgotten {
				t.NotApplicable("the server no longer has the task")
			}
			t.Expect(reply).To(BeResult())
		})

	It("acknowledges a second tasks/cancel of the same task", Verifies("tasks-extension.cancel.acknowledged"), NeedsExtension("tasks"), func(t *T) {
		server := declaring(t)
		_, id := anyTask(t, server)
		server.Call("tasks/cancel", of(id)).Need().Result()

		reply := server.Call("tasks/cancel", of(id)).Must()

		if _, forgotten := server.Call("tasks/get", of(id)).Must().Error(); forgotten {
			t.NotApplicable("the server no longer has the task")
		}
		t.Expect(reply).To(BeResult())
	})
}

// routing checks the header that names a task.
func routing() {
	It("rejects tasks/get whose Mcp-Name differs from the taskId", Verifies("transports.http.headers.mismatch"), NeedsExtension("tasks"), func(t *T) {
		server := declaring(t)
		_, id := anyTask(t, server)

		response := server.Post(
			server.Body("tasks/get", of(id)),
			"has an Mcp-Name other than the taskId in the body",
			WithHeader(transport.NameHeader, unknownTask),
		)

		_, isError := jsonrpc.Parse(response.Body).Error()
		t.DemandOf(response, isError || response.Status >= http.StatusMultipleChoices, "a rejection of tasks/get")
		leave(server, id)
	})
}

func notifications() {
	It("sends notifications/tasks for the task in the subscription's taskIds and for no other",
		Verifies("tasks-extension.notifications.subscribed"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)
			id, other := slowTask(t, server), slowTask(t, server)

			subscription := server.Subscribe(Object{"taskIds": []any{id}})
			if agreed, _ := subscription.Acknowledged["taskIds"].([]any); !slices.Contains(agreed, any(id)) {
				t.NotApplicable("the server sends no notifications about tasks")
			}
			observe(t, server, id, isOver)
			observe(t, server, other, isOver)
			server.Barrier()

			tells := Notification("notifications/tasks")
			server.NeedMessage(
				subscription.Mark,
				tells,
				"the server acknowledged the taskId, but sent no notifications/tasks",
				"check a server that sends notifications/tasks",
			)
			for _, told := range server.Sent(subscription.Mark, tells) {
				params := mcp.Object(told.Params())
				t.Judging(Reply{Received: told})
				t.Demand(params["taskId"] == id, "notifications of the task "+id+" alone", excerpt.Short(told.Raw))
			}
		})

	reportingEnds()

	undeclaredNotifications()
}

func reportingEnds() {
	It("reports the end of a task in notifications/tasks as in tasks/get",
		Verifies("tasks-extension.notifications.complete"), NeedsExtension("tasks"), NeedsProvocation("task-input"), func(t *T) {
			server := declaring(t)

			judged := false
			for _, wrong := range []bool{false, true} {
				id := begin(t, server, "task-input")
				requests := awaitInput(t, server, id)
				subscription := server.Subscribe(Object{"taskIds": []any{id}})
				if agreed, _ := subscription.Acknowledged["taskIds"].([]any); !slices.Contains(agreed, any(id)) {
					leave(server, id)
					t.NotApplicable("the server sends no notifications about tasks")
				}
				give := giveEach
				if wrong {
					give = giveWrong
				}
				ended := give(t, server, id, requests)
				if !isOver(ended) {
					leave(server, id)
					continue
				}
				server.BarrierOnAllStreams()

				for _, message := range server.Sent(subscription.Mark, Notification("notifications/tasks")) {
					params := mcp.Object(message.Params())
					if params["taskId"] != id || !isOver(params) {
						continue
					}
					judged = true
					told, wanted := ending(params), ending(ended)
					t.Demand(Same(told, wanted), "the same end as in tasks/get, "+Show(wanted), Show(told))
				}
			}
			if !judged {
				t.Inconclusive("the server sent no notifications/tasks at the end of a task", "check a server that sends notifications/tasks")
			}
		})
}

func undeclaredNotifications() {
	It("rejects subscriptions/listen with taskIds with -32021 if the tasks extension is undeclared",
		Verifies("tasks-extension.notifications.undeclared"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)
			_, id := anyTask(t, server)

			for _, filter := range []Object{
				{"taskIds": []any{id}},
				{"taskIds": []any{id}, "toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true},
			} {
				request := server.Call("subscriptions/listen", undeclared(t, Object{"notifications": filter}))
				demandMissing(t, request.OrUntil(Notification("notifications/subscriptions/acknowledged")).Must())
			}
			leave(server, id)
		})
}

// Requests about a task that there is not.
var (
	unknownUpdate = Request{Method: "tasks/update", Params: Object{"taskId": unknownTask, "inputResponses": Object{}}, Name: unknownTask}
	unknownCancel = Request{Method: "tasks/cancel", Params: of(unknownTask), Name: unknownTask}
)

func unknown() {
	It("rejects tasks/get of an unknown task with -32602", Verifies("tasks-extension.unknown.get"), NeedsExtension("tasks"), func(t *T) {
		server := declaring(t)

		reply := CallWrong(t, server, Request{Method: "tasks/get", Params: of(unknownTask), Name: unknownTask}, knownTask(t, server)...)

		t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
	})

	It("rejects tasks/update of an unknown task with a JSON-RPC error",
		Verifies("tasks-extension.update.unknown"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)

			reply := CallWrong(t, server, unknownUpdate, knownTask(t, server)...)

			t.Expect(reply).To(BeJSONRPCError())
		})

	It("rejects tasks/cancel of an unknown taskId with -32602", Verifies("tasks-extension.cancel.unknown"), NeedsExtension("tasks"), func(t *T) {
		server := declaring(t)

		reply := CallWrong(t, server, unknownCancel, knownTask(t, server)...)

		t.Expect(reply).To(BeJSONRPCError())
	})

	It("uses -32602 when it rejects tasks/update or tasks/cancel of an unknown task",
		Verifies("tasks-extension.unknown.code"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)

			known := knownTask(t, server)
			replies := []Reply{CallWrong(t, server, unknownUpdate, known...), CallWrong(t, server, unknownCancel, known...)}

			judged := 0
			for _, reply := range replies {
				if _, refused := reply.Error(); refused { // other checks tell where it is not
					judged++
					t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
				}
			}
			if judged == 0 {
				t.Inconclusive("the server rejected neither", "see the results of tasks-extension.update.unknown and tasks-extension.cancel.unknown")
			}
		})
}

// formerTTL is a time to live, in milliseconds, as 2025-11-25 let clients ask for.
const formerTTL = 60_000

// formerTasks are values of the member that a client of 2025-11-25, or one that knows
// nothing of tasks, may send.
var formerTasks = []any{Object{"ttl": formerTTL}, Object{}, nil}

// former checks what became of the tasks of 2025-11-25.
func former() {
	It("rejects tasks/result with -32601", Verifies("tasks-extension.former.result-removed"), NeedsExtension("tasks"), ByBarrier(), func(t *T) {
		server := declaring(t)

		reply := CallWrong(t, server, Request{Method: "tasks/result", Params: of(unknownTask), Name: "tasks/result"}, knownTask(t, server)...)

		t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
	})

	It("rejects tasks/result of an existing task with -32601",
		Verifies("tasks-extension.former.result-removed"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)
			_, id := anyTask(t, server)

			reply := CallWrong(t, server,
				Request{Method: "tasks/result", Params: of(id), Name: "tasks/result"},
				Request{Method: "tasks/get", Params: of(id), Name: id},
			)

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
			leave(server, id)
		})

	formerParameter()
}

func formerParameter() {
	It("ignores the task parameter of 2025-11-25 in tools/call",
		Verifies("tasks-extension.former.parameter-ignored"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)
			tool, id := anyTask(t, server)
			leave(server, id)

			for _, former := range formerTasks {
				call := tool.Call()
				call["task"] = former

				reply := server.Call("tools/call", call).May(BeLate)

				if reply.Late {
					t.Inconclusive("the call timed out", "name a quicker tool under provocations.task in mcpconform.yaml")
				}
				t.Expect(reply).To(BeResult())
				if id := idOf(reply.Object()); id != "" {
					leave(server, id)
				}
			}
		})

	It("ignores the task parameter of 2025-11-25 in a tools/call that creates no task",
		Verifies("tasks-extension.former.parameter-ignored"), NeedsExtension("tasks"), func(t *T) {
			server := declaring(t)
			tool := withoutTasks(t, server)

			for _, plain := range []Object{tool.Call(), undeclared(t, tool.Call())} {
				for _, former := range formerTasks {
					call := maps.Clone(plain)
					call["task"] = former

					reply := server.Call("tools/call", call).May(BeLate)

					if again := server.Call("tools/call", plain).May(BeLate); reply.Late || !isDone(again) {
						break // it is not refused for that
					}
					t.Expect(reply).To(BeResult())
				}
			}
		})

	formerDeclaration()
}

func formerDeclaration() {
	It("returns no task for params.task and the tasks capability of 2025-11-25 alone",
		Verifies("tasks-extension.former.parameter-ignored", "tasks-extension.former.clients"), NeedsExtension("tasks"),
		func(t *T) {
			server := declaring(t)
			tool, id := anyTask(t, server)
			leave(server, id)
			call := undeclared(t, tool.Call())
			call["task"] = Object{}
			capabilities := scripted.Everything(t.Revision())
			capabilities["tasks"] = Object{"requests": Object{"sampling": Object{"createMessage": Object{}}}, "cancel": Object{}}
			call["_meta"] = Object{mcp.MetaCapabilities: capabilities}

			reply := withoutTask(t, server, tool, call)

			_, hasTask := reply.Object()["task"]
			t.DemandOf(reply, reply.Object()["resultType"] != "task" && !hasTask, "a result of the tool, or an error")
		})
}

// demandMissing judges that an answer is the error that names the extension as what
// the client should have declared.
func demandMissing(t *T, reply Reply) {
	refusal, _ := reply.Error()
	_, named := mcp.Object(refusal.Data, "requiredCapabilities", "extensions")[identifier]
	found := reply.Describe()
	if refusal.Code == jsonrpc.MissingCapability && !named {
		found += " with the data " + Show(refusal.Data)
	}
	t.Demand(refusal.Code == jsonrpc.MissingCapability && named, "error -32021 with the extension in data.requiredCapabilities", found)
}
