package tasks

import (
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// taskRequestorRules are about a target that asks for tasks itself.
func taskRequestorRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "waits for the pollInterval between two tasks/get of a task",
			Verifies: rules.Verifies("tasks.poll-interval.respected"),
			Needs:    []transcript.Lack{transcript.Times},
			Judge:    frequentPolls,
		},
		{
			Text:     "sends tasks/* requests without related-task metadata",
			Verifies: rules.Verifies("tasks.target.no-metadata"),
			Judge: rules.Every(func(message *rules.Message) bool {
				return rules.IsRequest(message) && strings.HasPrefix(message.Method, "tasks/")
			}, noRelatedTask("/params")),
		},
		{
			Text:     "sends the nextCursor of tasks/list back unchanged",
			Verifies: rules.Verifies("tasks.list.cursor-opaque"),
			Judge:    facts.InventedCursors("tasks/list"),
		},
		{
			Text:     "calls tools as tasks only if the server declares tasks.requests.tools.call",
			Verifies: rules.Verifies("tasks.tool.undeclared"),
			Judge:    rules.OfClient(undeclaredTaskCalls),
		},
		{
			Text:     "calls tools as tasks only if execution.taskSupport allows it",
			Verifies: rules.Verifies("tasks.tool.forbidden"),
			Judge:    rules.OfClient(forbiddenTaskCalls),
		},
		{
			Text:     "calls tools as tasks if execution.taskSupport is required",
			Verifies: rules.Verifies("tasks.tool.required"),
			Judge:    rules.OfClient(requiredTaskCalls),
		},
	}
}

// frequentPolls judges how soon tasks/get comes again. Half of what was asked for
// is enough: clocks and wires differ.
func frequentPolls(conversation *rules.Conversation, reporter *rules.Reporter) {
	tasks.JudgePolls(conversation, reporter, "pollInterval")
}

// toolTasks is the capability of a server that takes calls of tools as tasks.
const toolTasks = "tasks.requests.tools.call"

// A toolCall is one of a client, with what the server last said of the tool.
type toolCall struct {
	*rules.Message
	tool places.Place // without a value when it was not listed
}

func toolCalls(conversation *rules.Conversation) []toolCall {
	var all []toolCall
	known := map[string]places.Place{}
	for _, message := range conversation.Messages {
		switch {
		case !message.FromTarget(conversation.Cell):
			if rules.IsResponse(message) && message.Request != nil && message.Request.Method == "tools/list" {
				for _, tool := range places.ResultOf(message).Items("tools") {
					name, _ := tool.Member("name")
					known[name.Text()] = tool
				}
			}
		case rules.IsRequest(message) && message.Method == "tools/call":
			all = append(all, toolCall{message, known[mcp.Text(message.ParamsObject(), "name")]})
		}
	}
	return all
}

// support is what a tool says of tasks; "forbidden" when it says nothing.
func (c toolCall) support() string {
	execution, _ := c.tool.Member("execution")
	if support, _ := execution.Member("taskSupport"); support.Text() != "" {
		return support.Text()
	}
	return "forbidden"
}

func undeclaredTaskCalls(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, call := range toolCalls(conversation) {
		if conversation.ServerCapabilities == nil || mcp.Declares(conversation.ServerCapabilities, toolTasks) {
			continue
		}
		reporter.Observe()
		if tasks.AskedFor(call.Message) {
			reporter.Violation(call.Message, rules.Mismatch{
				Wanted: "no task, as the server does not declare " + toolTasks,
				Found:  rules.Show(call.ParamsObject()["task"]),
				Where:  "/params/task",
			})
		}
	}
}

func forbiddenTaskCalls(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, call := range toolCalls(conversation) {
		if call.tool.Object() == nil || call.support() != "forbidden" ||
			!mcp.Declares(conversation.ServerCapabilities, toolTasks) {
			continue
		}
		reporter.Observe()
		if tasks.AskedFor(call.Message) {
			reporter.Violation(call.Message, rules.Mismatch{
				Wanted: "no task of a tool that does not support it",
				Found:  rules.Show(call.ParamsObject()["task"]),
				Where:  "/params/task",
			})
		}
	}
}

func requiredTaskCalls(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, call := range toolCalls(conversation) {
		if call.support() != "required" || !mcp.Declares(conversation.ServerCapabilities, toolTasks) {
			continue
		}
		reporter.Observe()
		if !tasks.AskedFor(call.Message) {
			reporter.Violation(call.Message, rules.Mismatch{
				Wanted: "a task, as the tool requires one",
				Found:  "a call without a task: " + excerpt.Short(call.Raw),
				Where:  "/params",
			})
		}
	}
}
