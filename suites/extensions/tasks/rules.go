package tasks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
)

// Rules are the rules of the tasks extension (SEP-2663).
func Rules() []rules.Rule {
	return slices.Concat(extensionCreationRules(), extensionStateRules(), extensionMessageRules(), extensionClientRules())
}

// taskNotification tells of a task.
const taskNotification = "notifications/tasks"

// extensionCreationRules are about which results are tasks.
func extensionCreationRules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "returns tasks only for requests that declare the tasks extension",
			Verifies: rules.Verifies("tasks-extension.created.negotiated"),
			Judge: judgeTasks(createdByExtension, func(conversation *rules.Conversation, task places.Found) rules.Mismatch {
				if tasks.DeclaresExtension(conversation.ClientDeclared(task.Said)) {
					return rules.Mismatch{}
				}
				return rules.Mismatch{
					Wanted: "no task for a request that does not declare " + tasks.Extension,
					Found:  "a task",
					Where:  "/result/resultType",
				}
			}),
		},
		{
			Text:     "returns extension tasks only in answer to tools/call",
			Verifies: rules.Verifies("tasks-extension.methods.supported"),
			Judge: judgeTasks(createdByExtension, func(_ *rules.Conversation, task places.Found) rules.Mismatch {
				if task.Said.Request.Method == "tools/call" {
					return rules.Mismatch{}
				}
				return rules.Mismatch{
					Wanted: "a task in answer to tools/call only",
					Found:  "one in answer to " + task.Said.Request.Method,
					Where:  "/result",
				}
			}),
		},
		{
			Text:     "sets resultType task in each tools/call result that creates a task",
			Verifies: rules.Verifies("tasks-extension.result-type.task"),
			Judge:    unnamedTasks,
		},
		{
			Text:     "sets resultType task only in results that create a task",
			Verifies: rules.Verifies("tasks-extension.result-type.reserved"),
			Judge:    namedTasks,
		},
	}, extensionResultRules())
}

func extensionResultRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "returns resultType complete from tasks/get",
			Verifies: rules.Verifies("tasks-extension.result-type.get"),
			Judge:    completeResults("tasks/get"),
		},
		{
			Text:     "returns resultType complete from tasks/update",
			Verifies: rules.Verifies("tasks-extension.result-type.update"),
			Judge:    completeResults("tasks/update"),
		},
		{
			Text:     "returns resultType complete from tasks/cancel",
			Verifies: rules.Verifies("tasks-extension.result-type.cancel"),
			Judge:    completeResults("tasks/cancel"),
		},
		{
			Text:     "returns an empty result from tasks/update",
			Verifies: rules.Verifies("tasks-extension.update.acknowledged"),
			Judge:    emptyResults("tasks/update"),
		},
		{
			Text:     "returns an empty result from tasks/cancel",
			Verifies: rules.Verifies("tasks-extension.cancel.acknowledged"),
			Judge:    emptyResults("tasks/cancel"),
		},
		{
			Text:     "does not declare the tasks capability of 2025-11-25 beside the tasks extension",
			Verifies: rules.Verifies("tasks-extension.former.capability"),
			Judge:    formerCapability,
		},
	}
}

// createdByExtension returns the tasks that the target announced.
func createdByExtension(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range conversation.ByTarget() {
		if rules.IsResponse(message) && message.Request != nil && tasks.IsOfExtension(message) &&
			tasks.IsTask(message.ResultObject()) {
			all = append(all, places.Found{Place: places.ResultOf(message), Said: message})
		}
	}
	return all
}

// judgeTasks makes the judge of a rule about single tasks: what is wrong with one.
func judgeTasks(
	tasks func(*rules.Conversation) []places.Found, wrong func(*rules.Conversation, places.Found) rules.Mismatch,
) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, task := range tasks(conversation) {
			reporter.Observe()
			if mismatch := wrong(conversation, task); mismatch != (rules.Mismatch{}) {
				reporter.Violation(task.Said, mismatch)
			}
		}
	}
}

// unnamedTasks judges that results of tools/call which have the members of a task, and no
// content, have the resultType of a task.
func unnamedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.Results("tools/call") {
		result := message.ResultObject()
		_, hasContent := result["content"]
		if !tasks.IsTask(result) || hasContent {
			continue
		}
		reporter.Observe()
		if kind, there := result["resultType"]; kind != tasks.TaskType {
			wrong := rules.Mismatch{Wanted: `the resultType "task" of a task`, Found: "none", Where: "/result"}
			if there {
				wrong.Found, wrong.Where = rules.Show(kind), "/result/resultType"
			}
			reporter.Violation(message, wrong)
		}
	}
}

func namedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByTarget() {
		if !rules.IsResponse(message) || message.Request == nil || message.ResultObject()["resultType"] != tasks.TaskType {
			continue
		}
		reporter.Observe()
		switch {
		case tasks.IsAbout(message.Request):
			reporter.Violation(message, rules.Mismatch{
				Wanted: `the resultType "task" only when a task is created`,
				Found:  "in an answer to " + message.Request.Method,
				Where:  "/result/resultType",
			})
		case !tasks.IsTask(message.ResultObject()):
			reporter.Violation(message, rules.Mismatch{
				Wanted: `the resultType "task" only when a task is created`,
				Found:  "in a result without taskId or status",
				Where:  "/result/resultType",
			})
		}
	}
}

// completeResults judges the resultType of answers that have one; a rule about all
// results tells of those that have none.
func completeResults(method string) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, message := range conversation.Results(method) {
			kind, there := message.ResultObject()["resultType"]
			if !there {
				continue
			}
			reporter.Observe()
			if kind != "complete" {
				reporter.Violation(message, rules.Mismatch{Wanted: `the resultType "complete"`, Found: rules.Show(kind), Where: "/result/resultType"})
			}
		}
	}
}

// emptyResults judges that answers have no member but those of every result.
func emptyResults(method string) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, message := range conversation.Results(method) {
			reporter.Observe()
			for _, name := range slices.Sorted(maps.Keys(message.ResultObject())) {
				if name != "resultType" && name != "_meta" {
					reporter.Violation(message, rules.Mismatch{
						Wanted: "an empty result",
						Found:  fmt.Sprintf("one with a member %q", name),
						Where:  "/result" + jsonrpc.Pointer(name),
					})
				}
			}
		}
	}
}

func formerCapability(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.Results("server/discover") {
		capabilities, _ := places.ResultOf(message).Member("capabilities")
		if !tasks.DeclaresExtension(capabilities.Object()) {
			continue
		}
		reporter.Observe()
		if former, there := capabilities.Member("tasks"); there {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "the extension alone",
				Found:  "the capability tasks of 2025-11-25, too: " + rules.Show(former.Value),
				Where:  former.Pointer,
			})
		}
	}
}
