package tasks

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// taskGivenUp is a client that cancels a call which has become a task.
var taskGivenUp = &Scenario{
	Name: "task-call-cancelled", Says: "The client cancels a call that became a task and never ends.",
	Since: revision, Until: revision,
	Steps: Steps{
		ToConnect(), ToList("tools"), ToCall(background, nil).AsTask(keptFor).As("work"),
		ToWaitFor(statusTold), ToCancel("work"), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		tasks := storeTasks(server, "working")
		server.On("tasks/get", func(call *scripted.Call) {
			call.Notify(statusTold, tasks.known(call))
			tasks.get(call)
		})
	},
}

const statusTold = "notifications/tasks/status"

// known is the state of the task that a request is about; nil for none.
func (k *taskStore) known(call *scripted.Call) Object {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, task := range k.kept {
		if task.id == call.Text("taskId") {
			return task.state()
		}
	}
	return nil
}

func givingUp() {
	It("cancels a task-augmented tools/call with tasks/cancel", Verifies("cancellation.not-tasks"), In(taskGivenUp), func(t *T) {
		client := RunScenario(t)

		call := client.NeedCalls(background)[0]
		created := AnswerTo(call)
		if _, asTask := call.ParamsObject()["task"]; !asTask || created == nil {
			client.InconclusiveWithout("tools/call")
		}
		for _, cancellation := range client.Notifications("notifications/cancelled") {
			if jsonrpc.IDOf(cancellation.ParamsObject()["requestId"]) == call.ID &&
				cancellation.Event.Sequence > created.Event.Sequence {
				client.Fail(cancellation, Mismatch{Wanted: "tasks/cancel for the task of the call", Found: "notifications/cancelled"})
			}
		}
		if !t.Observed(len(about(client.Requests("tasks/cancel"), idOf(created.ResultObject()["task"]))) > 0) {
			client.Inconclusive("the client did not cancel the task", "notifications/cancelled")
		}
	})
}
