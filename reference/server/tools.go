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
	Name         string           `json:"name"`
	Title        string           `json:"title,omitempty"`
	Description  string           `json:"description,omitempty"`
	Icons        []icon           `json:"icons,omitempty"` // from 2025-11-25
	InputSchema  json.RawMessage  `json:"inputSchema"`
	OutputSchema json.RawMessage  `json:"outputSchema,omitempty"`
	Annotations  *toolAnnotations `json:"annotations,omitempty"`
	Execution    *toolExecution   `json:"execution,omitempty"` // at 2025-11-25
	Meta         object           `json:"_meta,omitempty"`

	span
	async string // whether it runs as a task of the extension for tasks; "" for never
	run   func(c *call, arguments json.RawMessage) (toolResult, error)
}

// toolAnnotations are hints. All members are given, since the defaults are the
// opposite of harmless.
type toolAnnotations struct {
	ReadOnlyHint    bool `json:"readOnlyHint"`
	DestructiveHint bool `json:"destructiveHint"`
	IdempotentHint  bool `json:"idempotentHint"`
	OpenWorldHint   bool `json:"openWorldHint"`
}

type toolExecution struct {
	TaskSupport string `json:"taskSupport"`
}

// Values of taskSupport. A tool that has none forbids tasks.
const (
	taskForbidden = "forbidden"
	taskOptional  = "optional"
	taskRequired  = "required"
)

type listToolsResult struct {
	Tools      []*tool `json:"tools"`
	NextCursor string  `json:"nextCursor,omitempty"`
}

type callToolParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Task      json.RawMessage `json:"task,omitempty"` // at 2025-11-25
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
type (
	textContent struct {
		Type        string       `json:"type"`
		Text        string       `json:"text"`
		Annotations *annotations `json:"annotations,omitempty"`
	}
	mediaContent struct { // image or audio
		Type        string       `json:"type"`
		Data        string       `json:"data"` // base64
		MIMEType    string       `json:"mimeType"`
		Annotations *annotations `json:"annotations,omitempty"`
	}
	resourceContent struct {
		Type     string           `json:"type"`
		Resource resourceContents `json:"resource"`
	}
	linkContent struct {
		Type string `json:"type"`
		*resource
	}
)

func text(s string) textContent { return textContent{Type: "text", Text: s} }

func image(png string) mediaContent {
	return mediaContent{Type: "image", Data: png, MIMEType: "image/png"}
}

func audio(wav string) mediaContent {
	return mediaContent{Type: "audio", Data: wav, MIMEType: "audio/wav"}
}

func embedded(contents resourceContents) resourceContent {
	return resourceContent{Type: "resource", Resource: contents}
}

func link(to *resource) linkContent { return linkContent{"resource_link", to} }

func (c *call) listTools(params listParams) (listToolsResult, error) {
	c.features.mu.Lock()
	defer c.features.mu.Unlock()
	tools, next, err := c.features.tools.page(c.features.cursors+"tools", params.Cursor, toolsPage)
	return listToolsResult{tools, next}, err
}

func (f *features) tool(name string) (*tool, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tools.find(func(t *tool) bool { return t.Name == name })
}

// callTool answers with the result of the tool or, when the client wants to
// come back for that later, with a task.
func (c *call) callTool(params callToolParams) (any, error) {
	t, known := c.features.tool(params.Name)
	if !known {
		return nil, invalidParams("unknown tool %q", params.Name)
	}
	if params.Arguments == nil {
		params.Arguments = json.RawMessage("{}")
	}
	if !bytes.HasPrefix(params.Arguments, []byte("{")) {
		return nil, invalidParams("params.arguments must be an object")
	}

	if c.atLeast(Revision20260728) {
		return c.callStateless(t, params.Arguments)
	}
	if c.atLeast(Revision20251125) {
		asTask := params.Task != nil
		switch support := t.taskSupport(); {
		case asTask && support == taskForbidden:
			return nil, methodNotFound("the tool %q cannot be called as a task", t.Name)
		case !asTask && support == taskRequired:
			return nil, methodNotFound("the tool %q must be called as a task", t.Name)
		case asTask:
			return c.startTask(params.Task, func(c *call) (toolResult, error) {
				return t.call(c, params.Arguments)
			})
		}
	}
	return t.call(c, params.Arguments)
}

// call checks the arguments and runs the tool.
func (t *tool) call(c *call, arguments json.RawMessage) (toolResult, error) {
	if err := jsonschema.Validate(t.InputSchema, arguments); err != nil {
		if c.atLeast(Revision20251125) {
			return failure("Invalid arguments: " + err.Error()), nil // the model can mend that
		}
		return toolResult{}, invalidParams("arguments: %v", err)
	}
	result, err := t.run(c, arguments)
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

func (t *tool) taskSupport() string {
	if t.Execution == nil {
		return taskForbidden
	}
	return t.Execution.TaskSupport
}

// at returns the tool as a revision describes it.
func (t tool) at(revision string) *tool {
	if revision < Revision20251125 {
		t.Icons = nil
	}
	if revision < Revision20250618 {
		t.Title, t.OutputSchema, t.Meta = "", nil, nil
	}
	if revision < Revision20250326 {
		t.Annotations = nil
	}
	if revision != Revision20251125 {
		t.Execution = nil
	}
	return &t
}

// changeTools adds the item to the tools, or takes it out if it is there, and
// announces that the list has changed.
func (f *features) changeTools(item *tool) {
	f.mu.Lock()
	if !f.tools.remove(func(t *tool) bool { return t.Name == item.Name }) {
		f.tools.add(item)
	}
	f.mu.Unlock()
	f.announce("notifications/tools/list_changed", nil)
}
