package places

import (
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// Results returns the target's results for requests of a method.
func Results(conversation *rules.Conversation, method string) []Found {
	var all []Found
	for _, message := range conversation.Results(method) {
		all = append(all, Found{ResultOf(message), message})
	}
	return all
}

// Listed returns the items of every page of a list that the target sent.
func Listed(conversation *rules.Conversation, method string) []Found {
	var all []Found
	for _, message := range conversation.Results(method) {
		for _, item := range ResultOf(message).Items(mcp.ListMember(method)) {
			all = append(all, Found{item, message})
		}
	}
	return all
}

// ToolContent returns the content blocks of all tool results.
func ToolContent(conversation *rules.Conversation) []Found {
	var all []Found
	for _, result := range ToolResults(conversation) {
		for _, block := range result.Items("content") {
			all = append(all, Found{block, result.Said})
		}
	}
	return all
}

// PromptContent returns the content of all messages of prompts.
func PromptContent(conversation *rules.Conversation) []Found {
	var all []Found
	for _, sent := range conversation.Results("prompts/get") {
		for _, message := range ResultOf(sent).Items("messages") {
			if content, there := message.Member("content"); there {
				all = append(all, Found{content, sent})
			}
		}
	}
	return all
}

// ReadContents returns the contents of all resources that were read.
func ReadContents(conversation *rules.Conversation) []Found {
	var all []Found
	for _, message := range conversation.Results("resources/read") {
		for _, contents := range ResultOf(message).Items("contents") {
			all = append(all, Found{contents, message})
		}
	}
	return all
}

// ToolResult returns the result of a tool in a response: to the call itself, to
// tasks/result, or to tasks/get of the tasks extension when the task is done. There
// is false when the response has none, but says what comes first.
func ToolResult(message *rules.Message) (result Found, there bool) {
	whole := ResultOf(message)
	if message.Request.Method == "tasks/get" {
		inner, there := whole.Member("result")
		return Found{inner, message}, there && whole.Object()["status"] == "completed"
	}
	kind, typed := whole.Object()["resultType"].(string)
	return Found{whole, message}, !typed || kind == "complete"
}

// ToolResults returns the results of all tools.
func ToolResults(conversation *rules.Conversation) []Found {
	return rules.Shared(conversation, "toolResults", readToolResults)
}

func readToolResults(conversation *rules.Conversation) []Found {
	var all []Found
	for _, method := range []string{"tools/call", "tasks/result", "tasks/get"} {
		for _, message := range conversation.Results(method) {
			if result, there := ToolResult(message); there && result.Object() != nil {
				all = append(all, result)
			}
		}
	}
	return all
}
