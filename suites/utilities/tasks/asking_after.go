package tasks

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/server/features"
)

// Tasks that the scripted server has when its client comes.
const (
	oldTask   = "mcpconform-2c4b9d0e81f74a36-old"
	otherTask = "mcpconform-2c4b9d0e81f74a36-other"
)

// aboutTasks is what a client is told to do with them.
var aboutTasks = Steps{ToList("tasks"), ToGetTask(oldTask), ToFetchTask(oldTask), ToCancelTask(otherTask)}

func whoAsksAfterTasks() Steps {
	return append(append(Steps{ToConnect(), ToList("tools")}, aboutTasks...), ToList("tools"), ToClose())
}

// tasksListed is a server that is asked about tasks that it lists.
var tasksListed = &Scenario{
	Name:  "tasks-that-are-listed",
	Says:  "The server lists tasks of an earlier session, and the client sends tasks/get and tasks/result for them and cancels one.",
	Since: revision,
	Until: revision,
	Steps: whoAsksAfterTasks(),
	Server: func(server *scripted.Server) {
		store := storeTasks(server, "working")
		for _, id := range []string{oldTask, otherTask} {
			store.kept = append(store.kept, &keptTask{id: id, status: "working"})
		}
	},
}

// tasksUndeclared is a server that has no tasks.
var tasksUndeclared = &Scenario{
	Name:  "tasks-undeclared",
	Says:  "The server does not declare tasks, and the steps ask the client to list and get tasks.",
	Since: revision,
	Until: revision,
	Steps: whoAsksAfterTasks(),
	Server: func(server *scripted.Server) {
		features.Lack(server, server.Capabilities, "tasks/list", "tasks/get", "tasks/result", "tasks/cancel")
	},
}

// tasksInPart is a server whose tasks can neither be listed nor cancelled.
var tasksInPart = &Scenario{
	Name:  "tasks-declared-in-part",
	Says:  "The server declares tasks without tasks.list and tasks.cancel, and the steps ask the client to list tasks and to cancel one.",
	Since: revision,
	Until: revision,
	Steps: whoAsksAfterTasks(),
	Server: func(server *scripted.Server) {
		store := storeTasks(server, "working")
		store.kept = []*keptTask{{id: oldTask, status: "working"}, {id: otherTask, status: "working"}}
		server.Declare(Object{"tasks": Object{"requests": Object{"tools": Object{"call": Object{}}}}})
		features.Lack(server, server.Capabilities, "tasks/list", "tasks/cancel")
	},
}

// askingAfterTasks registers the checks of a client that is told to ask about tasks.
func askingAfterTasks() {
	It("sends tasks/get with a non-empty string as taskId", Verifies("base.schema.requests"), In(tasksListed),
		func(t *T) { features.DemandText(t, RunScenario(t), "tasks/get", "taskId") })

	It("sends tasks/result with a non-empty string as taskId", Verifies("base.schema.requests"), In(tasksListed),
		func(t *T) { features.DemandText(t, RunScenario(t), "tasks/result", "taskId") })

	It("sends tasks/cancel with a non-empty string as taskId", Verifies("base.schema.requests"), In(tasksListed),
		func(t *T) { features.DemandText(t, RunScenario(t), "tasks/cancel", "taskId") })

	It("sends tasks/list, tasks/get, tasks/result and tasks/cancel only if the server declares tasks",
		Verifies("lifecycle.capabilities.of-peer"), In(tasksUndeclared), func(t *T) {
			features.DemandRestraint(t, RunScenario(t), AlsoRun(t, tasksListed), "tasks", "tasks/list", "tasks/get", "tasks/result", "tasks/cancel")
		})

	It("sends tasks/list only if the server declares tasks.list", Verifies("lifecycle.capabilities.of-peer"), In(tasksInPart), func(t *T) {
		features.DemandRestraint(t, RunScenario(t), AlsoRun(t, tasksListed), "tasks.list", "tasks/list")
	})

	It("sends tasks/cancel only if the server declares tasks.cancel", Verifies("lifecycle.capabilities.of-peer"), In(tasksInPart), func(t *T) {
		features.DemandRestraint(t, RunScenario(t), AlsoRun(t, tasksListed), "tasks.cancel", "tasks/cancel")
	})
}
