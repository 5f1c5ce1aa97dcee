// Page server/tools: functions for a model to call.

package server

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcpconform/mcpconform/reference/jsonschema"
)

// A tool is a function with a name and a schema.
type tool struct {
	described

	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  object          `json:"annotations,omitempty"`
	Execution    object          `json:"execution,omitempty"` // at 2025-11-25

	async string // whether it runs as a task of the extension for tasks; "" for never
	run   func(*call, arguments) (toolResult, error)
}

// Values of taskSupport. A tool that has none forbids tasks.
const (
	taskForbidden = "forbidden"
	taskOptional  = "optional"
	taskRequired  = "required"
)

type callToolParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Task      json.RawMessage `json:"task,omitempty"` // at 2025-11-25
}

// The arguments of a call of a tool are a JSON object that fits the schema of the tool.
type arguments json.RawMessage

// argument returns one of the arguments or, when it is not given, another value.
func argument[T any](from arguments, name string, otherwise T) T {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(from, &all) // they fit the schema
	_ = json.Unmarshal(all[name], &otherwise)
	return otherwise
}

type toolResult struct {
	Content           []any  `json:"content"`
	StructuredContent any    `json:"structuredContent,omitempty"`
	IsError           bool   `json:"isError,omitempty"`
	Meta              object `json:"_meta,omitempty"`
}

// contents is the result of a tool that succeeds.
func contents(blocks ...any) toolResult { return toolResult{Content: blocks} }

// failure is the result of a tool that fails in a way that the model should
// know of.
func failure(reason string) toolResult {
	return toolResult{Content: []any{text(reason)}, IsError: true}
}

// structured is a result for programs, repeated as text for clients that know
// only text.
func structured(value any) toolResult {
	return toolResult{Content: []any{text(string(encode(value)))}, StructuredContent: value}
}

// The content blocks of tool results and prompt messages.

func text(s string) object { return object{"type": "text", "text": s} }

func image() object { return object{"type": "image", "data": pixelPNG, "mimeType": "image/png"} }

func audio() object { return object{"type": "audio", "data": silenceWAV, "mimeType": "audio/wav"} }

func embedded(resource object) object { return object{"type": "resource", "resource": resource} }

func link(name, mimeType string) object {
	return object{"type": "resource_link", "uri": "test://" + name, "name": name, "mimeType": mimeType}
}

func annotated(block object) object {
	block["annotations"] = exampleAnnotations
	return block
}

// callTool answers with the result of the tool or, when the client wants to
// come back for that later, with a task.
func (c *call) callTool(params callToolParams) (any, error) {
	t, err := c.features.tools.find(params.Name)
	if err != nil {
		return nil, err
	}
	given := arguments(params.Arguments)
	if given == nil {
		given = arguments("{}")
	}
	if !bytes.HasPrefix(given, []byte("{")) {
		return nil, invalidParams("params.arguments must be an object")
	}
	run := func(c *call) (toolResult, error) { return t.call(c, given) }

	support, _ := t.Execution["taskSupport"].(string)
	asTask := params.Task != nil
	switch declared := tasksOfClient(c.client); {
	case c.atLeast(Revision20260728) && t.async == taskRequired && declared != nil:
		return nil, declared
	case c.atLeast(Revision20260728) && t.async != "" && declared == nil:
		return c.startAsyncTask(run)
	case c.revision != Revision20251125: // the only one with such tasks
	case asTask && support != taskOptional && support != taskRequired:
		return nil, methodNotFound("the tool %q cannot be called as a task", t.Name)
	case !asTask && support == taskRequired:
		return nil, methodNotFound("the tool %q must be called as a task", t.Name)
	case asTask:
		return c.startTask(params.Task, run)
	}
	return run(c)
}

// call checks the arguments and runs the tool.
func (t *tool) call(c *call, given arguments) (toolResult, error) {
	if err := jsonschema.Validate(t.InputSchema, json.RawMessage(given)); err != nil {
		if c.atLeast(Revision20251125) {
			return failure("Invalid arguments: " + err.Error()), nil // the model can mend that
		}
		return toolResult{}, invalidParams("arguments: %v", err)
	}
	result, err := t.run(c, given)
	if err == nil || c.ctx.Err() != nil || c.isProtocolError(err) {
		return result, err
	}
	return failure(err.Error()), nil
}

// isProtocolError tells whether an error is the answer to the request, and not a
// failure of the tool.
func (c *call) isProtocolError(err error) bool {
	var protocolError *rpcError
	var ofClient *clientError
	var unanswered *inputRequiredError
	return errors.As(err, &protocolError) || errors.As(err, &unanswered) ||
		errors.As(err, &ofClient) && c.atLeast(Revision20260728)
}

// limit takes away what a revision does not have.
func (t *tool) limit(revision string) {
	t.described.limit(revision)
	if revision < Revision20250618 {
		t.OutputSchema = nil
	}
	if revision < Revision20250326 {
		t.Annotations = nil
	}
	if revision != Revision20251125 {
		t.Execution = nil
	}
}
