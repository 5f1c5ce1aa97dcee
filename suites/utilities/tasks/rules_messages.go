package tasks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// taskMessageRules are about the metadata that tie messages to tasks.
func taskMessageRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends related-task metadata in requests that belong to a task",
			Verifies: rules.Verifies("tasks.related.request"),
			Needs:    []transcript.Lack{transcript.HTTPHead, transcript.Whole},
			Judge:    anonymousRequests,
		},
		{
			Text:     "sends related-task metadata in notifications that belong to a task",
			Verifies: rules.Verifies("tasks.related.notification"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    anonymousProgress,
		},
		{
			Text:     "returns related-task metadata in the results of requests that belong to a task",
			Verifies: rules.Verifies("tasks.related.response"),
			Judge:    anonymousResults,
		},
		{
			Text:     "returns results of tasks/get, tasks/list and tasks/cancel without related-task metadata",
			Verifies: rules.Verifies("tasks.related.absent"),
			Judge: rules.Every(func(message *rules.Message) bool {
				return rules.IsResponse(message) && message.ResultObject() != nil && message.Request != nil &&
					slices.Contains([]string{"tasks/get", "tasks/list", "tasks/cancel"}, message.Request.Method)
			}, noRelatedTask("/result")),
		},
		{
			Text:     "sends all fields of the task in notifications/tasks/status",
			Verifies: rules.Verifies("tasks.notification.full"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, message := range conversation.Notifications(statusMethod) {
					claims.JudgeMembers(
						conversation,
						reporter,
						places.Found{Place: places.Place{Pointer: "", Value: message.Object}, Said: message},
						"TaskStatusNotification",
						claims.WholeParams,
					)
				}
			},
		},
		{
			Text:     "sends no related-task metadata in notifications/tasks/status",
			Verifies: rules.Verifies("tasks.notification.no-metadata"),
			Judge: rules.Every(func(message *rules.Message) bool {
				return message.Kind == jsonrpc.Notification && message.Method == statusMethod
			}, noRelatedTask("/params")),
		},
	}
}

// createdID returns the id of the task that an answer announces.
func createdID(message *rules.Message) string {
	task, _ := places.ResultOf(message).Member("task")
	return tasks.ID(task.Object())
}

func noRelatedTask(carrier string) func(*rules.Message) rules.Mismatch {
	return func(message *rules.Message) rules.Mismatch {
		if id, there := tasks.Related(message); there {
			return rules.Mismatch{
				Wanted: "no " + mcp.RelatedTask,
				Found:  "that of " + rules.Show(id),
				Where:  carrier + "/_meta" + jsonrpc.Pointer(mcp.RelatedTask),
			}
		}
		return rules.Mismatch{}
	}
}

// knownTasks are the ids of the tasks that either side announced, or answered
// for: they may have been made on an earlier connection.
func knownTasks(conversation *rules.Conversation) map[string]bool {
	known := map[string]bool{}
	for _, message := range conversation.Messages {
		if !rules.IsResponse(message) || message.Request == nil || message.ResultObject() == nil {
			continue
		}
		if task, _ := places.ResultOf(message).
			Member("task"); tasks.AskedFor(message.Request) &&
			tasks.ID(task.Object()) != "" {
			known[tasks.ID(task.Object())] = true
		}
		if id := tasks.ID(message.Request.ParamsObject()); id != "" && strings.HasPrefix(message.Request.Method, "tasks/") {
			known[id] = true
		}
	}
	return known
}

// anonymousRequests judges requests that name a task, and those that come on
// the stream of tasks/result: what is asked there belongs to a task. Requests
// about tasks of the client have a rule of their own.
func anonymousRequests(conversation *rules.Conversation, reporter *rules.Reporter) {
	known := knownTasks(conversation)
	awaiting := map[string]bool{} // streams that answer tasks/result
	for _, one := range exchanges.Of(conversation) {
		if one.Root().Asks() && one.Root().Sent.Method == "tasks/result" {
			awaiting[one.Request.Stream] = true
		}
	}
	for _, message := range conversation.ByTarget() {
		if !rules.IsRequest(message) || message.Method == "ping" || strings.HasPrefix(message.Method, "tasks/") {
			continue
		}
		id, names := tasks.Related(message)
		if !names && !awaiting[message.Event.Stream] {
			continue
		}
		reporter.Observe()
		if !known[id] {
			found := "none"
			if names {
				found = rules.Show(id)
			}
			reporter.Violation(message, rules.Mismatch{
				Wanted: fmt.Sprintf("the taskId of a task (%s) in %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "), mcp.RelatedTask),
				Found:  found,
				Where:  "/params/_meta",
			})
		}
	}
}

// anonymousProgress judges progress of requests that became tasks, after they
// were announced.
func anonymousProgress(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, report := range facts.ProgressReports(conversation) {
		if len(report.Requests) == 0 {
			continue
		}
		request := report.Requests[len(report.Requests)-1]
		if !tasks.AskedFor(request) || len(request.Answers) == 0 {
			continue
		}
		id := createdID(request.Answers[0])
		named, there := tasks.Related(report.Message)
		// On another stream, progress may overtake the answer that begins the task:
		// then it shows only what is kept.
		early := request.Answers[0].Index > report.Index
		if id == "" || early && named != id {
			continue
		}
		reporter.Observe()
		if named != id {
			found := "none"
			if there {
				found = rules.Show(named)
			}
			reporter.Violation(report.Message, rules.Mismatch{
				Wanted: fmt.Sprintf("the taskId %s in %s", rules.Show(id), mcp.RelatedTask),
				Found:  found,
				Where:  "/params/_meta",
			})
		}
	}
}

// anonymousResults judges the results of tasks/result, and of other requests
// that name a task.
func anonymousResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByTarget() {
		if !rules.IsResponse(message) || message.ResultObject() == nil || message.Request == nil {
			continue
		}
		wanted, belongs := tasks.Related(message.Request)
		switch method := message.Request.Method; {
		case method == "tasks/result":
			wanted = tasks.ID(message.Request.ParamsObject())
		case !belongs || strings.HasPrefix(method, "tasks/"):
			continue
		}
		reporter.Observe()
		if named, there := tasks.Related(message); named != wanted {
			found := "none"
			if there {
				found = rules.Show(named)
			}
			reporter.Violation(message, rules.Mismatch{
				Wanted: fmt.Sprintf("the taskId %s in %s", rules.Show(wanted), mcp.RelatedTask),
				Found:  found,
				Where:  "/result/_meta",
			})
		}
	}
}
