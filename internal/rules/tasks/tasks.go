// Package tasks tells the tasks of a conversation, those of the core protocol
// (2025-11-25) and those of the extension, and judges what both pages say alike.
package tasks

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/formats"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Related returns the id of the task that a message names in its metadata:
// in params for requests and notifications, in the result for responses. There
// is false when it names none.
func Related(message *rules.Message) (id string, there bool) {
	related, there := message.Meta()[mcp.RelatedTask]
	object, _ := related.(map[string]any)
	return ID(object), there
}

// OfRequest returns the id of the task that a request became, or "".
func OfRequest(request *rules.Message) string {
	if !AskedFor(request) || len(request.Answers) == 0 {
		return ""
	}
	task, _ := request.Answers[0].ResultObject()["task"].(map[string]any)
	return ID(task)
}

// Terminal are the statuses that a task never leaves.
var Terminal = []any{"completed", "failed", "cancelled"}

// AskedFor tells whether a request asks to be run as a task.
func AskedFor(request *rules.Message) bool {
	_, asked := request.ParamsObject()["task"].(map[string]any)
	return asked
}

// IsCreated tells whether a result announces a task instead of an outcome.
func IsCreated(result any) bool {
	object, _ := result.(map[string]any)
	_, created := object["task"].(map[string]any)
	return created
}

// ID returns the taskId of an object, or "".
func ID(object map[string]any) string {
	id, _ := object["taskId"].(string)
	return id
}

// Created returns the answers of the target that announce a task.
func Created(conversation *rules.Conversation) []*rules.Message {
	var all []*rules.Message
	for _, message := range rules.Originals(conversation) {
		result, _ := message.Result()
		if rules.IsResponse(message) && message.Request != nil && AskedFor(message.Request) && IsCreated(result) {
			all = append(all, message)
		}
	}
	return all
}

// IsTimestamp tells whether a text is a date and a time of ISO 8601.
func IsTimestamp(text string) bool { return strings.ContainsRune(text, 'T') && formats.IsISO8601(text) }

// CreatedTasks returns the tasks that the target announced.
func CreatedTasks(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range Created(conversation) {
		task, _ := places.ResultOf(message).Member("task")
		all = append(all, places.Found{Place: task, Said: message})
	}
	return all
}

const (
	// Extension is what the extension is declared as.
	Extension = "io.modelcontextprotocol/tasks"
	// TaskType is the resultType of a task that is created.
	TaskType = "task"
)

// DeclaresExtension tells whether capabilities have the extension.
func DeclaresExtension(capabilities rules.Object) bool {
	return mcp.Declares(capabilities, "extensions."+Extension)
}

// IsOfExtension tells whether a response says that it creates a task.
func IsOfExtension(message *rules.Message) bool {
	return message.ResultObject()["resultType"] == TaskType && !IsAbout(message.Request)
}

// IsAbout tells whether a request asks for something about a task, and so makes
// none.
func IsAbout(request *rules.Message) bool {
	return slices.Contains([]string{"tasks/get", "tasks/update", "tasks/cancel"}, request.Method)
}

// IsTask tells whether an object has what makes it a task, however little else.
func IsTask(object rules.Object) bool {
	_, hasID := object["taskId"]
	_, hasStatus := object["status"]
	return hasID && hasStatus
}
