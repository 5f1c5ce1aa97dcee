package suites_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

const (
	someTask   = `"taskId":"786512e2-9e0d-44bd-8f29-789f320fe840"`
	otherTask  = `"taskId":"0f1c1d3a-6f0e-4a8e-9d53-1f8a2f6c7b90"`
	timely     = `,"createdAt":"2026-08-01T10:30:00Z","lastUpdatedAt":"2026-08-01T10:30:05Z","ttlMs":60000`
	asTaskType = `,"resultType":"task",`
)

// callsTask calls a tool and gets a task; tellsTask asks for it.
func callsTask(id, task string) string {
	return AsksWith(WithTasks, id, "tools/call", `"name":"n"`) + Gives(id, asTaskType+task)
}

func tellsTask(id, task string) string {
	return AsksWith(WithTasks, id, "tasks/get", someTask) + Gives(id, Final+","+task)
}

func makesTask(id string) string { return callsTask(id, someTask+`,"status":"working"`+timely) }

func acknowledges(id, method, more string) string {
	return AsksWith(WithTasks, id, method, someTask) + Gives(id, Final+more)
}

// listensToTask subscribes to a task; onIt is a notification on the subscription.
const listensToTask = `c {"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["786512e2-9e0d-44bd-8f29-789f320fe840"]}}}` + "\n"

func onIt(method, params string) string {
	return `s {"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9},` + params + `}}` + "\n"
}

func TestTasksExtensionRules(t *testing.T) {
	t.Parallel()
	const question = `,"inputRequests":{"name":{"method":"elicitation/create","params":{"message":"Who?"}}}`
	const otherQuestion = `,"inputRequests":{"name":{"method":"elicitation/create","params":{"message":"Why?"}}}`
	tests := []struct {
		name, script string
		broken       []string
	}{
		{"a task from its beginning to its end", makesTask("1") +
			tellsTask("2", someTask+`,"status":"input_required"`+timely+question) +
			tellsTask("3", someTask+`,"status":"input_required"`+timely+question) +
			acknowledges("4", "tasks/update", "") +
			tellsTask("5", someTask+`,"status":"completed"`+timely+`,"result":{"content":[]}`), nil},
		{"a task without limit, made by two machines", callsTask("1", someTask+
			`,"status":"working","createdAt":"2026-08-01T12:30:00.5+02:00","lastUpdatedAt":"2026-08-01T10:30:00Z","ttlMs":null`), nil},
		{"a task of an undeclared client", AsksPlain("1", "tools/call", `"name":"n"`) + Gives("1", asTaskType+someTask+`,"status":"working"`+timely),
			[]string{"tasks-extension.created.negotiated"}},
		{"a task of a prompt", AsksWith(WithTasks, "1", "prompts/get", `"name":"n"`) + Gives("1", asTaskType+someTask+`,"status":"working"`+timely),
			[]string{"tasks-extension.methods.supported"}},
		{"a task that says it is complete", AsksWith(WithTasks, "1", "tools/call", `"name":"n"`) + Gives("1", Final+","+someTask+`,"status":"working"`+timely),
			[]string{"tasks-extension.result-type.task"}},
		{"a result of a tool that looks like a task, too", AsksWith(WithTasks, "1", "tools/call", `"name":"n"`) +
			Gives("1", Final+`,"content":[],`+someTask+`,"status":"sold"`), nil},
		{"a result that says it is a task", AsksWith(WithTasks, "1", "tools/call", `"name":"n"`) + Gives("1", `,"resultType":"task","content":[]`),
			[]string{"tasks-extension.result-type.reserved"}},
		{"states that say they are tasks", AsksWith(WithTasks, "1", "tasks/get", someTask) + Gives("1", asTaskType+someTask+`,"status":"working"`+timely),
			[]string{"tasks-extension.result-type.get", "tasks-extension.result-type.reserved"}},
		{"acknowledgements that say they are tasks",
			AsksWith(WithTasks, "1", "tasks/update", someTask) + Gives("1", `,"resultType":"task"`) +
				AsksWith(WithTasks, "2", "tasks/cancel", someTask) + Gives("2", `,"resultType":"task"`),
			[]string{"tasks-extension.result-type.cancel", "tasks-extension.result-type.reserved", "tasks-extension.result-type.update"}},
		{"acknowledgements with the task", acknowledges("1", "tasks/update", ","+someTask) + acknowledges("2", "tasks/cancel", ","+someTask),
			[]string{"tasks-extension.cancel.acknowledged", "tasks-extension.update.acknowledged"}},
		{"acknowledgements that refuse", AsksWith(WithTasks, "1", "tasks/update", someTask) + Refuses("1", "-32602", ""), nil},
		{"the former capability beside the extension", Discovers(`{"extensions":{"io.modelcontextprotocol/tasks":{}},"tasks":{}}`),
			[]string{"tasks-extension.former.capability"}},
		{"the former capability alone", Discovers(`{"tasks":{}}`), nil},
		{"no time of the last change", callsTask("1", someTask+`,"status":"working","createdAt":"2026-08-01T10:30:00Z","ttlMs":1`),
			[]string{"tasks-extension.task.shape"}},
		{"another status", callsTask("1", someTask+`,"status":"pending"`+timely), []string{"tasks-extension.task.status"}},
		{"times in words", callsTask("1", someTask+`,"status":"working","createdAt":"today","lastUpdatedAt":"just now","ttlMs":1`),
			[]string{"tasks-extension.task.timestamps"}},
		{"a change before the beginning", callsTask("1", someTask+`,"status":"working","createdAt":"2026-08-01T10:30:00Z","lastUpdatedAt":"2026-08-01T10:29:00Z","ttlMs":1`),
			[]string{"tasks-extension.task.timestamps"}},
		{"a task that is created again", makesTask("1") +
			tellsTask("2", someTask+`,"status":"working","createdAt":"2026-08-01T10:30:03Z","lastUpdatedAt":"2026-08-01T10:30:05Z","ttlMs":1`),
			[]string{"tasks-extension.task.created-once"}},
		{"times to live that are none", callsTask("1", someTask+`,"status":"working","createdAt":"2026-08-01T10:30:00Z","lastUpdatedAt":"2026-08-01T10:30:00Z","ttlMs":"1 h","pollIntervalMs":-1`),
			[]string{"tasks-extension.task.ttl"}},
		{"a task that goes on when it was over", makesTask("1") +
			tellsTask("2", someTask+`,"status":"cancelled"`+timely) + tellsTask("3", someTask+`,"status":"working"`+timely),
			[]string{"tasks-extension.task.terminal"}},
		{"two tasks with one id", makesTask("1") + makesTask("2"), []string{"tasks-extension.task.unique"}},
		{"two tasks with two ids", makesTask("1") + callsTask("2", otherTask+`,"status":"working"`+timely), nil},
		{"a task by number", callsTask("1", `"taskId":"17","status":"working"`+timely), []string{"tasks-extension.security.entropy"}},
		{"a failure without reason", tellsTask("1", someTask+`,"status":"failed"`+timely+`,"error":{"code":-32603,"message":"m"}`),
			[]string{"tasks-extension.task.failed-message"}},
		{"a failure of the tool", tellsTask("1", someTask+`,"status":"failed","statusMessage":"m"`+timely+`,"error":{"code":-32603,"message":"m"},"result":{"isError":true}`),
			[]string{"tasks-extension.task.failed-errors"}},
		{"a failure without error", tellsTask("1", someTask+`,"status":"failed","statusMessage":"m"`+timely), []string{"tasks-extension.get.failed"}},
		{"a failure with an error in words", tellsTask("1", someTask+`,"status":"failed","statusMessage":"m"`+timely+`,"error":{"message":"m"}`), []string{"tasks-extension.get.failed"}},
		{"an end without result", tellsTask("1", someTask+`,"status":"completed"`+timely+`,"result":null`), []string{"tasks-extension.get.completed"}},
		{"no request for the input", tellsTask("1", someTask+`,"status":"input_required"`+timely+`,"inputRequests":{}`), []string{"tasks-extension.get.input-required"}},
		{"a key for two requests", tellsTask("1", someTask+`,"status":"input_required"`+timely+question) + tellsTask("2", someTask+`,"status":"input_required"`+timely+otherQuestion),
			[]string{"tasks-extension.input.keys"}},
		{"a key for requests of two tasks", tellsTask("1", someTask+`,"status":"input_required"`+timely+question) + tellsTask("2", otherTask+`,"status":"input_required"`+timely+otherQuestion), nil},
		{"a task on its subscription", listensToTask + onIt("notifications/tasks", someTask+`,"status":"completed"`+timely+`,"result":{"content":[]}`), nil},
		{"a task on a subscription that was acknowledged", listensToTask +
			onIt("notifications/subscriptions/acknowledged", `"notifications":{"taskIds":["786512e2-9e0d-44bd-8f29-789f320fe840"]}`) +
			onIt("notifications/tasks", someTask+`,"status":"working"`+timely), nil},
		{"a task on a subscription that was acknowledged without it", listensToTask +
			onIt("notifications/subscriptions/acknowledged", `"notifications":{}`) +
			onIt("notifications/tasks", someTask+`,"status":"working"`+timely), []string{"tasks-extension.notifications.subscribed"}},
		{"another task on a subscription", listensToTask + onIt("notifications/tasks", otherTask+`,"status":"working"`+timely), []string{"tasks-extension.notifications.subscribed"}},
		{"a task without subscription", onIt("notifications/tasks", someTask+`,"status":"working"`+timely), []string{"tasks-extension.notifications.subscribed"}},
		{"a part of a task on its subscription", listensToTask + onIt("notifications/tasks", someTask+`,"status":"completed"`+timely), []string{"tasks-extension.notifications.complete"}},
		{"progress on a subscription to tasks", listensToTask + onIt("notifications/progress", `"progressToken":1,"progress":1`), []string{"tasks-extension.notifications.others"}},
	}
	tested := map[string]bool{}
	for _, test := range tests {
		for _, one := range test.broken {
			tested[one] = true
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found, _ := BrokenAndSeen(ofPages("tasks-extension."), Converse(t, StatelessCell, test.script))
			if difference := cmp.Diff(append([]string{}, test.broken...), append([]string{}, found...)); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
	for _, rule := range ofPages("tasks-extension.") {
		if id := rule.Verifies.IDs[0]; !tested[id] && !brokenByClients[id] {
			t.Errorf("no test breaks the rule %q (%s)", rule.Text, rule.Verifies.IDs[0])
		}
	}
}
