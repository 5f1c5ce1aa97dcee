package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of the page basic/utilities/tasks.
func Rules() []rules.Rule {
	return slices.Concat(taskRules(), taskMessageRules(), taskRequestorRules())
}

// taskRules are about tasks as the target tells of them.
func taskRules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "returns tasks only for requests that it declares in tasks.requests",
			Verifies: rules.Verifies("tasks.capability.declared"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    undeclaredTasks,
		},
		{
			Text:     "returns execution.taskSupport, if any, as required, optional or forbidden",
			Verifies: rules.Verifies("tasks.tool.support"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, tool := range places.Listed(conversation, "tools/list") {
					if execution, _ := tool.Member("execution"); execution.Object()["taskSupport"] != nil {
						claims.JudgeMembers(conversation, reporter, tool, "Tool", claims.ToolTaskSupport)
					}
				}
			},
		},
		{
			Text:     "returns CreateTaskResult without the result of the operation",
			Verifies: rules.Verifies("tasks.create.result-apart"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    resultTooEarly,
		},
		{Text: "returns a string as taskId", Verifies: rules.Verifies("tasks.id.string"), Needs: []transcript.Lack{transcript.HTTPHead}, Judge: judgeStates(taskMember("taskId"))},
		{Text: "never returns the same taskId for two tasks", Verifies: rules.Verifies("tasks.id.unique"), Needs: []transcript.Lack{transcript.HTTPHead}, Judge: sharedTaskIDs},
		{
			Text:     "generates taskIds that cannot be guessed, if the client sends no authorization",
			Verifies: rules.Verifies("tasks.id.unguessable"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    guessableTaskIDs,
		},
		{Text: "creates tasks with the status working", Verifies: rules.Verifies("tasks.status.begins-working"), Needs: []transcript.Lack{transcript.HTTPHead}, Judge: otherBeginnings},
		{Text: "never changes a terminal task status", Verifies: rules.Verifies("tasks.status.transitions"), Needs: []transcript.Lack{transcript.HTTPHead}, Judge: resurrections},
		{
			Text:     "returns createdAt as an ISO 8601 timestamp in each task",
			Verifies: rules.Verifies("tasks.created-at.given"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    judgeStates(taskTimestamp("createdAt")),
		},
		{
			Text:     "returns lastUpdatedAt as an ISO 8601 timestamp in each task",
			Verifies: rules.Verifies("tasks.updated-at.given"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    judgeStates(taskTimestamp("lastUpdatedAt")),
		},
	}, statusRules())
}

func statusRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "returns ttl in tasks/get, as a number or null",
			Verifies: rules.Verifies("tasks.ttl.given"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, message := range conversation.Results("tasks/get") {
					claims.JudgeMembers(
						conversation,
						reporter,
						places.Found{Place: places.ResultOf(message), Said: message},
						"GetTaskResult",
						taskTTL,
					)
				}
			},
		},
		{
			Text:     "returns a statusMessage in tasks/get for failed tasks",
			Verifies: rules.Verifies("tasks.failure.message"),
			Judge:    tasks.UnexplainedFailures,
		},
		{
			Text:     "returns a non-empty message in the errors of tasks/* requests",
			Verifies: rules.Verifies("tasks.error.informative"),
			Judge: rules.Every(func(message *rules.Message) bool {
				return rules.IsRefusal(message) && message.Request != nil && strings.HasPrefix(message.Request.Method, "tasks/")
			}, func(message *rules.Message) rules.Mismatch {
				if refusal, _ := message.Error(); strings.TrimSpace(refusal.Message) != "" {
					return rules.Mismatch{}
				}
				return rules.Mismatch{Wanted: "a message that says what was wrong", Found: "an empty one", Where: "/error/message"}
			}),
		},
		{Text: "declares tasks.list only if it can identify its clients", Verifies: rules.Verifies("tasks.list.undeclared"), Needs: []transcript.Lack{transcript.Whole}, Judge: listsForAnybody},
		{
			Text:     "answers tasks/* requests with application/json or text/event-stream",
			Verifies: rules.Verifies("tasks.transport.kept"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    taskExchanges,
		},
		{Text: "answers tasks/get with JSON, not with an event stream", Verifies: rules.Verifies("tasks.get.no-stream"), Needs: []transcript.Lack{transcript.HTTPHead}, Judge: streamedPolls},
	}
}

const statusMethod = "notifications/tasks/status"

var taskTTL = lazy.MustCompile(`^/result/ttl$`)

// states returns every task that the target told of in an answer.
func states(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range tasks.Created(conversation) {
		task, _ := places.ResultOf(message).Member("task")
		all = append(all, places.Found{Place: task, Said: message})
	}
	for _, method := range []string{"tasks/get", "tasks/cancel"} {
		for _, message := range conversation.Results(method) {
			all = append(all, places.Found{Place: places.ResultOf(message), Said: message})
		}
	}
	return append(all, places.Listed(conversation, "tasks/list")...)
}

// judgeStates judges a member of every task.
func judgeStates(wrong func(task places.Place) rules.Mismatch) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, state := range states(conversation) {
			reporter.Observe()
			if mismatch := wrong(state.Place); mismatch != (rules.Mismatch{}) {
				reporter.Violation(state.Said, mismatch)
			}
		}
	}
}

func taskMember(name string) func(places.Place) rules.Mismatch {
	return func(task places.Place) rules.Mismatch {
		if _, isText := task.Object()[name].(string); isText {
			return rules.Mismatch{}
		}
		return rules.Mismatch{
			Wanted: fmt.Sprintf("a %s that is a string", name),
			Found:  rules.ShowMember(task.Object(), name),
			Where:  task.Pointer + "/" + name,
		}
	}
}

func taskTimestamp(name string) func(places.Place) rules.Mismatch {
	return func(task places.Place) rules.Mismatch {
		if text, _ := task.Object()[name].(string); tasks.IsTimestamp(text) {
			return rules.Mismatch{}
		}
		return rules.Mismatch{
			Wanted: fmt.Sprintf("a %s that is an ISO 8601 timestamp, such as 2025-11-25T10:30:00Z", name),
			Found:  rules.ShowMember(task.Object(), name), Where: task.Pointer + "/" + name,
		}
	}
}

func undeclaredTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := facts.Schemas(conversation)
	for _, message := range tasks.Created(conversation) {
		known := judging[message.Index]
		if known == nil {
			continue
		}
		method, _ := known.Method(message.Request.Method)
		if method.TaskCapability.Path == "" {
			continue
		}
		reporter.Observe()
		declarer := method.TaskCapability.Declarer(conversation.Party().Other())
		if !method.TaskCapability.DeclaredIn(facts.DeclaredBy(conversation, declarer)) {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "a task only if " + method.TaskCapability.Path + " is declared",
				Found:  "a task without that",
				Where:  "/result/task",
			})
		}
	}
}

// resultMembers are those of the results that tasks may have.
var resultMembers = []string{"content", "structuredContent", "isError", "action", "role", "model"}

func resultTooEarly(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range tasks.Created(conversation) {
		reporter.Observe()
		for _, name := range resultMembers {
			if member, there := places.ResultOf(message).Member(name); there {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "the task alone",
					Found:  fmt.Sprintf("a member %q of the operation's result: %s", name, rules.Show(member.Value)),
					Where:  member.Pointer,
				})
			}
		}
	}
}

func sharedTaskIDs(conversation *rules.Conversation, reporter *rules.Reporter) {
	tasks.JudgeSharedIDs(tasks.CreatedTasks(conversation), reporter)
}

func guessableTaskIDs(conversation *rules.Conversation, reporter *rules.Reporter) {
	tasks.JudgeGuessableIDs(conversation, tasks.CreatedTasks(conversation), reporter)
}

func otherBeginnings(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range tasks.Created(conversation) {
		reporter.Observe()
		task, _ := places.ResultOf(message).Member("task")
		if status, _ := task.Member("status"); status.Value != "working" {
			reporter.Violation(message, rules.Mismatch{
				Wanted: `the status "working"`,
				Found:  rules.ShowMember(task.Object(), "status"),
				Where:  status.Pointer,
			})
		}
	}
}

func resurrections(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := states(conversation)
	for _, message := range conversation.Notifications(statusMethod) {
		all = append(all, places.Found{Place: places.ParamsOf(message), Said: message})
	}
	tasks.JudgeEndings(tasks.CreatedTasks(conversation), all, reporter)
}

// listsForAnybody looks at a server over HTTP that has neither sessions nor
// authorization nor cookies to know its clients by.
func listsForAnybody(conversation *rules.Conversation, reporter *rules.Reporter) {
	hello := facts.HandshakeOf(conversation)
	if hello == nil || !mcp.Declares(conversation.ServerCapabilities, "tasks.list") || tasks.Authorized(conversation) {
		return
	}
	reporter.Observe()
	for _, event := range conversation.Events {
		if event.IsResponseHead() &&
			(event.HTTP.Header.Get(exchanges.SessionHeader) != "" || event.HTTP.Header.Get("Set-Cookie") != "") {
			return
		}
	}
	reporter.Violation(hello, rules.Mismatch{
		Wanted: "tasks.list only with sessions or authorization",
		Found:  "tasks.list with neither",
		Where:  "/result/capabilities/tasks/list",
	})
}

// taskRequests returns the exchanges that carry requests about tasks and were
// accepted.
func taskRequests(conversation *rules.Conversation) []*exchanges.Exchange {
	return slices.DeleteFunc(slices.Clone(exchanges.Of(conversation)), func(one *exchanges.Exchange) bool {
		return !one.Asks() || !one.Accepted() || !strings.HasPrefix(one.Sent.Method, "tasks/")
	})
}

func taskExchanges(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range taskRequests(conversation) {
		reporter.Observe()
		if kind := one.MediaType(); kind != "application/json" && kind != exchanges.EventStreamType {
			reporter.Violation(one.Sent, rules.Mismatch{
				Wanted: "application/json or text/event-stream",
				Found:  fmt.Sprintf("%q", kind),
				Where:  "header Content-Type",
			})
		}
	}
}

func streamedPolls(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range taskRequests(conversation) {
		if one.Sent.Method != "tasks/get" {
			continue
		}
		reporter.Observe()
		if one.Streams() {
			reporter.Violation(one.Sent, rules.Mismatch{
				Wanted: "tasks/get to be answered with application/json",
				Found:  exchanges.EventStreamType,
				Where:  "header Content-Type",
			})
		}
	}
}
