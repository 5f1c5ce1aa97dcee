// Page client/sampling: messages for the model, and its answer.

package client

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// refuseMessages says why the model cannot be asked.
func (c *client) refuseMessages(params, capability object) *rpcError {
	messages, isList := params["messages"].([]any)
	if !isList {
		return invalidParams("messages must be an array")
	}
	if c.speaks() >= Revision20251125 {
		_, withTools := params["tools"]
		_, withChoice := params["toolChoice"]
		if (withTools || withChoice) && !declared(capability, "tools") {
			return invalidParams("this client has not declared sampling.tools, which tools and toolChoice need")
		}
		if err := refuseDialects(params); err != nil {
			return err
		}
	}
	var open []string // tool uses of the message before
	for i, one := range messages {
		members, _ := one.(object)
		role, _ := members["role"].(string)
		if role != "user" && role != "assistant" {
			return invalidParams("messages[%d].role must be user or assistant", i)
		}
		blocks := blocksOf(members["content"])
		if len(blocks) == 0 && members["content"] == nil {
			return invalidParams("messages[%d] has no content", i)
		}
		uses, results, others := sortBlocks(blocks)
		wrong := slices.IndexFunc(blocks, func(block object) bool { return !isContent(block) })
		switch {
		case wrong >= 0:
			return invalidParams("messages[%d] has content that is none: %.100s", i, encode(blocks[wrong]))
		case len(results) > 0 && others > 0:
			return invalidParams("messages[%d] mixes tool results with other content", i)
		case len(open) > 0 && (role != "user" || !sameIDs(open, results)):
			return invalidParams("messages[%d] must hold the results of the tool uses before it", i)
		}
		open = uses
	}
	if len(open) > 0 {
		return invalidParams("the results of the last tool uses are missing")
	}
	return nil
}

// refuseDialects rejects tools that have a schema in a dialect that the client does not support.
func refuseDialects(params object) *rpcError {
	tools, _ := params["tools"].([]any)
	for i, one := range tools {
		members, _ := one.(object)
		for _, name := range []string{"inputSchema", "outputSchema"} {
			if err := refuseDialect(members[name], fmt.Sprintf("tools[%d].%s", i, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// blocksOf are the blocks of content, which is one or an array of them.
func blocksOf(content any) []object {
	many, isList := content.([]any)
	if !isList {
		many = []any{content}
	}
	var blocks []object
	for _, one := range many {
		members, _ := one.(object)
		blocks = append(blocks, members)
	}
	return blocks
}

// isContent tells whether a block has what its type wants.
func isContent(block object) bool {
	kind, _ := block["type"].(string)
	switch kind {
	case "text":
		_, isText := block["text"].(string)
		return isText
	case "image", "audio":
		data, isText := block["data"].(string)
		_, hasType := block["mimeType"].(string)
		_, err := base64.StdEncoding.DecodeString(data)
		return isText && hasType && err == nil
	default:
		return kind != ""
	}
}

func blockTypes(blocks []object) []string {
	var types []string
	for _, block := range blocks {
		name, _ := block["type"].(string)
		types = append(types, name)
	}
	return types
}

// sortBlocks returns the ids of tool uses, those of tool results, and how many
// other blocks there are beside the results.
func sortBlocks(blocks []object) (uses, results []string, others int) {
	for i, kind := range blockTypes(blocks) {
		switch kind {
		case "tool_result":
			id, _ := blocks[i]["toolUseId"].(string)
			results = append(results, id)
			continue
		case "tool_use":
			id, _ := blocks[i]["id"].(string)
			uses = append(uses, id)
		}
		others++
	}
	return uses, results, others
}

func sameIDs(some, others []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(some)), slices.Sorted(slices.Values(others)))
}

// message is the answer of the model: that of the steps or, without one, a word
// or the use of a tool, where the server demands one.
func message(params, given object) (object, *rpcError) {
	choice, _ := params["toolChoice"].(object)
	tools, _ := params["tools"].([]any)
	if given == nil {
		given = object{
			"role": "assistant", "model": modelName, "stopReason": "endTurn",
			"content": object{"type": "text", "text": "This is the answer of a model."},
		}
		if choice["mode"] == "required" && len(tools) > 0 {
			first, _ := tools[0].(object)
			given["stopReason"] = "toolUse"
			given["content"] = object{
				"type":  "tool_use",
				"id":    "use-1",
				"name":  first["name"],
				"input": sample(first["inputSchema"]),
			}
		}
	}
	uses, _, _ := sortBlocks(blocksOf(given["content"]))
	switch {
	case choice["mode"] == "required" && len(uses) == 0:
		return nil, refuse(jsonrpc.InternalError, "Internal error: the model uses no tool, but one is required")
	case choice["mode"] == "none" && len(uses) > 0:
		return nil, refuse(jsonrpc.InternalError, "Internal error: the model uses a tool, but may not")
	}
	return given, nil
}

const modelName = "mcpconform-reference-model"
