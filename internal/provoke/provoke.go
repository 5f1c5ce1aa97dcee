// Package provoke knows which tool makes a target server do what no client can ask for by
// the protocol alone: one that the config names, or one of a known server that the target
// lists. It never calls any.
package provoke

import (
	"maps"
	"slices"
	"time"
)

// Provocation is a tool to call, with what.
type Provocation struct {
	Tool      string         `json:"tool"      yaml:"tool"`
	Arguments map[string]any `json:"arguments" yaml:"arguments"`
	// Resource is the one that the tool changes, for "resource-updated".
	Resource string `json:"resource,omitempty" yaml:"resource"`
	// Told is how long the tool was told to take by an argument that looks like a delay; 0
	// where no argument does.
	Told time.Duration `json:"-" yaml:"-"`
}

// Call returns the params of the tools/call request.
func (p Provocation) Call() map[string]any {
	arguments := p.Arguments
	if arguments == nil {
		arguments = map[string]any{}
	}
	return map[string]any{"name": p.Tool, "arguments": arguments}
}

// Reporting returns the params of the tools/call request with a progress token.
func (p Provocation) Reporting(token any) map[string]any {
	call := p.Call()
	call["_meta"] = map[string]any{"progressToken": token}
	return call
}

// resourceUpdated is the kind whose tools name a resource.
const resourceUpdated = "resource-updated"

// Kind of provocation, with what a tool must do to be one.
var kinds = map[string]string{
	"error":             "ends with isError",
	"text":              "returns text",
	"image":             "returns an image",
	"audio":             "returns audio",
	"embedded-resource": "returns an embedded resource",
	"resource-link":     "returns a resource link",
	"structured":        "returns structured content",
	"progress":          "reports progress at least twice",
	"logging":           "logs a message at the level info or above",
	"sampling":          "sends a sampling request",
	"elicitation":       "sends a form elicitation",
	"elicitation-url":   "sends a URL elicitation",
	"url-required":      "is rejected with the error -32042 until a URL was visited",
	"sampling-tools":    "sends a sampling request with a tool",
	"client-task":       "sends a sampling or elicitation request as a task",
	"roots":             "sends roots/list",
	"slow":              "takes a second or more, reports progress and can be cancelled",
	"tools-changed":     "changes the list of tools",
	"resources-changed": "changes the list of resources",
	"prompts-changed":   "changes the list of prompts",
	resourceUpdated:     "changes a resource (named by the member resource)",
	"input-several":     "requests several inputs at once in its result, and needs them all",
	"input-rounds":      "requests input, and then more input",
	"input-state":       "requests input with a requestState that must not be changed",
	"input-other-state": "requests input with a requestState, in another tool than that of input-state",
	"header":            "has parameters with x-mcp-header",
	"stream-closed":     "makes the server close the event stream before the answer",
	"task":              "can run as a task and ends by itself",
	"task-progress":     "can run as a task and reports progress",
	"task-slow":         "can run as a task and takes a second or more",
	"task-required":     "can run only as a task",
	"task-input":        "sends a form elicitation while it runs as a task",
	"task-failing":      "can run as a task and ends with isError",
	"task-refused":      "can run as a task and ends with a JSON-RPC error",
}

// Kinds lists the kinds of provocations, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// IsKind tells whether there is such a kind.
func IsKind(kind string) bool { return kinds[kind] != "" }

// Does says what a tool of a kind must do, as in "no known tool asks …".
func Does(kind string) string { return kinds[kind] }
