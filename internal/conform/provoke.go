package conform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/schema"
)

// Provocation is a known way to make a target do something that no client can
// make it do by the protocol alone: a tool to call.
type Provocation struct {
	Tool      string `json:"tool"      yaml:"tool"`
	Arguments Object `json:"arguments" yaml:"arguments"`
	// Resource is the one that the tool changes, for "resource-updated".
	Resource string `json:"resource,omitempty" yaml:"resource"`
}

// Call returns the params of the tools/call request.
func (p Provocation) Call() Object {
	arguments := p.Arguments
	if arguments == nil {
		arguments = Object{}
	}
	return Object{"name": p.Tool, "arguments": arguments}
}

// Reporting returns the params of the tools/call request with a progress token.
func (p Provocation) Reporting(token any) Object {
	call := p.Call()
	call["_meta"] = Object{"progressToken": token}
	return call
}

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
	"sampling":          "asks the client for sampling",
	"elicitation":       "asks the client for a form (elicitation)",
	"elicitation-url":   "asks the client to open a URL (elicitation)",
	"url-required":      "is refused with the error -32042 until a URL was visited",
	"sampling-tools":    "asks the client for sampling and lends it a tool",
	"client-task":       "asks the client for sampling or a form as a task",
	"roots":             "asks the client for its roots",
	"slow":              "takes a second or more, reports progress and can be cancelled",
	"tools-changed":     "changes the list of tools",
	"resources-changed": "changes the list of resources",
	"prompts-changed":   "changes the list of prompts",
	"resource-updated":  "changes a resource (named by the member resource)",
	"input-several":     "asks the client, in its result, for several inputs at once and needs them all",
	"input-state":       "asks the client for input with a requestState that must not be changed",
	"input-other-state": "asks the client for input with a requestState, as another tool than that of input-state",
	"header":            "has parameters that headers repeat (x-mcp-header)",
	"stream-closed":     "makes the server close the event stream before the answer",
	"task":              "can run as a task and ends by itself",
	"task-progress":     "can run as a task and reports progress",
	"task-slow":         "can run as a task and takes a second or more",
	"task-required":     "can run only as a task",
	"task-input":        "asks the client for a form while it runs as a task",
	"task-failing":      "can run as a task and ends with isError",
	"task-refused":      "can run as a task and ends with a JSON-RPC error",
}

// Kinds lists the kinds of provocations, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// fixture is a tool that conformance servers and well-known example servers
// have, recognised by its name.
type fixture struct {
	provocation Provocation
	provokes    []string
	needs       protocol.Feature // the tool is about it, and of no use at revisions without; "" for none
}

// fixtures are, in the order of preference, the tools of the official suite's
// everything-server, of the reference server, and of server-everything.
var fixtures = []fixture{
	{provocation: Provocation{Tool: "test_input_required_result_elicitation"}, provokes: []string{"elicitation"}, needs: protocol.InputRequests},
	{provocation: Provocation{Tool: "test_input_required_result_sampling"}, provokes: []string{"sampling"}, needs: protocol.InputRequests},
	{provocation: Provocation{Tool: "test_input_required_result_list_roots"}, provokes: []string{"roots"}, needs: protocol.InputRequests},
	{provocation: Provocation{Tool: "test_input_required_result_multiple_inputs"}, provokes: []string{"input-several"}, needs: protocol.InputRequests},
	{provocation: Provocation{Tool: "test_input_required_result_tampered_state"}, provokes: []string{"input-state"}, needs: protocol.InputRequests},
	{provocation: Provocation{Tool: "test_input_required_result_request_state"}, provokes: []string{"input-other-state"}, needs: protocol.InputRequests},
	{provocation: Provocation{Tool: "test_x_mcp_header"}, provokes: []string{"header"}, needs: protocol.MirroredHeaders},
	{provocation: Provocation{Tool: "slow_compute", Arguments: Object{"seconds": 0.2}}, provokes: []string{"task", "task-slow"}, needs: protocol.Extensions},
	{provocation: Provocation{Tool: "confirm_delete"}, provokes: []string{"task-input"}, needs: protocol.Extensions},
	{provocation: Provocation{Tool: "failing_job"}, provokes: []string{"task-failing"}, needs: protocol.Extensions},
	{provocation: Provocation{Tool: "protocol_error_job"}, provokes: []string{"task-refused"}, needs: protocol.Extensions},
	{provocation: Provocation{Tool: "test_x_mcp_header"}, needs: protocol.MirroredHeaders}, // there for its headers, whatever calls it
	{provocation: Provocation{Tool: "test_header_parameters"}, needs: protocol.MirroredHeaders},
	{provocation: Provocation{Tool: "test_simple_text"}, provokes: []string{"text"}},
	{provocation: Provocation{Tool: "test_image_content"}, provokes: []string{"image"}},
	{provocation: Provocation{Tool: "test_audio_content"}, provokes: []string{"audio"}},
	{provocation: Provocation{Tool: "test_embedded_resource"}, provokes: []string{"embedded-resource"}},
	{provocation: Provocation{Tool: "test_multiple_content_types"}, provokes: []string{"text", "image", "embedded-resource"}},
	{provocation: Provocation{Tool: "test_resource_link"}, provokes: []string{"resource-link"}},
	{provocation: Provocation{Tool: "test_structured_content"}, provokes: []string{"structured"}},
	{provocation: Provocation{Tool: "test_tool_with_logging"}, provokes: []string{"logging"}},
	{provocation: Provocation{Tool: "test_error_handling"}, provokes: []string{"error"}},
	{provocation: Provocation{Tool: "test_tool_with_progress"}, provokes: []string{"progress"}},
	{provocation: Provocation{Tool: "test_slow", Arguments: Object{"seconds": 0.2}}, provokes: []string{"slow"}},
	{provocation: Provocation{Tool: "test_task_required"}, provokes: []string{"task-progress"}},
	{provocation: Provocation{Tool: "test_sampling", Arguments: Object{"prompt": "Say hello."}}, provokes: []string{"sampling"}},
	{provocation: Provocation{Tool: "test_elicitation", Arguments: Object{"message": "Who are you?"}}, provokes: []string{"elicitation"}},
	{provocation: Provocation{Tool: "test_elicitation_sep1034_defaults"}, provokes: []string{"elicitation"}},
	{provocation: Provocation{Tool: "test_sampling_with_tools", Arguments: Object{"prompt": "How is the weather in Paris?"}}, provokes: []string{"sampling-tools"}},
	{provocation: Provocation{Tool: "test_sampling_as_task", Arguments: Object{"prompt": "Say hello."}}, provokes: []string{"client-task"}},
	{provocation: Provocation{Tool: "test_elicitation_as_task", Arguments: Object{"message": "Who are you?"}}, provokes: []string{"client-task"}},
	{provocation: Provocation{Tool: "test_elicitation_url"}, provokes: []string{"elicitation-url"}},
	{provocation: Provocation{Tool: "test_elicitation_url_required"}, provokes: []string{"url-required", "task-refused"}},
	{provocation: Provocation{Tool: "test_list_roots"}, provokes: []string{"roots"}},
	{provocation: Provocation{Tool: "test_tool_with_progress"}, provokes: []string{"task"}},
	{provocation: Provocation{Tool: "test_slow", Arguments: Object{"seconds": 0.2}}, provokes: []string{"task-slow"}},
	{provocation: Provocation{Tool: "test_task_required"}, provokes: []string{"task-required"}},
	{provocation: Provocation{Tool: "test_elicitation", Arguments: Object{"message": "Who are you?"}}, provokes: []string{"task-input"}},
	{provocation: Provocation{Tool: "test_task_failing"}, provokes: []string{"task-failing"}},
	{provocation: Provocation{Tool: "test_reconnection"}, provokes: []string{"stream-closed"}},
	{provocation: Provocation{Tool: "test_trigger_tool_change"}, provokes: []string{"tools-changed"}},
	{provocation: Provocation{Tool: "test_trigger_resource_change"}, provokes: []string{"resources-changed"}},
	{provocation: Provocation{Tool: "test_trigger_prompt_change"}, provokes: []string{"prompts-changed"}},
	{provocation: Provocation{Tool: "test_touch_resource", Resource: "test://watched-resource"}, provokes: []string{"resource-updated"}},
	{provocation: Provocation{Tool: "echo", Arguments: Object{"message": "hello"}}, provokes: []string{"text"}},
	{provocation: Provocation{Tool: "get-tiny-image"}, provokes: []string{"image"}},
	{provocation: Provocation{Tool: "get-resource-reference", Arguments: Object{"resourceType": "Text", "resourceId": 1}}, provokes: []string{"embedded-resource"}},
	{provocation: Provocation{Tool: "get-resource-links", Arguments: Object{"count": 2}}, provokes: []string{"resource-link"}},
	{provocation: Provocation{Tool: "get-structured-content", Arguments: Object{"location": "New York"}}, provokes: []string{"structured"}},
	{provocation: Provocation{Tool: "trigger-sampling-request", Arguments: Object{"prompt": "Say hello.", "maxTokens": 20}}, provokes: []string{"sampling"}},
	{provocation: Provocation{Tool: "trigger-elicitation-request"}, provokes: []string{"elicitation"}},
	{provocation: Provocation{Tool: "get-roots-list"}, provokes: []string{"roots"}},
	{provocation: Provocation{Tool: "trigger-url-elicitation", Arguments: Object{"url": "https://example.com/visit", "message": "Please visit this page."}}, provokes: []string{"elicitation-url"}},
	{provocation: Provocation{Tool: "trigger-url-elicitation", Arguments: Object{"url": "https://example.com/visit", "message": "Please visit this page.", "errorPath": true}}, provokes: []string{"url-required"}},
	{provocation: Provocation{Tool: "trigger-long-running-operation", Arguments: Object{"duration": 0.4, "steps": 4}}, provokes: []string{"progress"}},
	{provocation: Provocation{Tool: "trigger-long-running-operation", Arguments: Object{"duration": 2, "steps": 4}}, provokes: []string{"slow"}},
	{provocation: Provocation{Tool: "simulate-research-query", Arguments: Object{"topic": "conformance"}}, provokes: []string{"task", "task-slow", "task-required"}},
	{provocation: Provocation{Tool: "simulate-research-query", Arguments: Object{"topic": "conformance", "ambiguous": true}}, provokes: []string{"task-input"}},
}

// provocation finds a way to provoke a kind: the config's, or a fixture tool
// that the target lists.
func (e *Environment) provocation(kind string) (Provocation, bool) {
	if e.Calls == CallNone || e.Never.Rules(kind) != "" {
		return Provocation{}, false
	}
	if given, configured := e.Provocations[kind]; configured {
		return given, true
	}
	if e.Calls == CallListed {
		return Provocation{}, false
	}
	for _, known := range fixtures {
		if slices.Contains(known.provokes, kind) && (known.needs == "" || e.Has(known.needs)) && e.offers(known.provocation.Tool) {
			return known.provocation, true
		}
	}
	return Provocation{}, false
}

// Provoking returns the provocation of a kind. A check that uses it says so
// with NeedsProvocation, unless it finds out first whether any would help.
func Provoking(kind string) Provocation {
	found, there := Provocable(kind)
	if !there {
		Unprovoked(kind)
	}
	return found
}

// Unprovoked ends a check because no tool is known that provokes what it is about, by
// any of the kinds. What the server never does is not waited for.
func Unprovoked(kinds ...string) {
	never := current.environment.Never
	left := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return never.Rules(kind) != "" })
	if len(left) == 0 {
		NotApplicable(never.reason(strings.Join(kinds, ", ")))
	}
	current.outcome = Outcome{
		Ending: Inconclusion, Reason: current.environment.unprovoked(left[0]), Hint: provocationHint(left[0]), Provocation: left[0],
	}
	ginkgo.Skip(current.outcome.Reason, 1)
}

// Provocable returns the provocation of a kind, if there is one: for a check
// that has other ways to go on without it.
func Provocable(kind string) (found Provocation, there bool) {
	if _, exists := kinds[kind]; !exists {
		panic("no such kind of provocation: " + kind)
	}
	return current.environment.provocation(kind)
}

func (e *Environment) unprovoked(kind string) string {
	return cmp.Or(e.unlisted("tools/list"), "no tool is known that "+kinds[kind])
}

// Does says what a tool of a kind must do, as in "no tool is known that asks …".
func Does(kind string) string { return kinds[kind] }

// Known are the tools of well-known servers that provoke a kind, by name.
func Known(kind string) []string {
	var names []string
	for _, known := range fixtures {
		if name := known.provocation.Tool; slices.Contains(known.provokes, kind) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func provocationHint(kind string) string {
	return fmt.Sprintf("name one in mcpconform.yaml: provocations: {%s: {tool: NAME, arguments: {…}}}", kind)
}

// CallableTools returns the tools that the harness may call, with arguments
// that their input schema allows. The reason tells, when there are none, why.
func CallableTools() (calls []Provocation, reason string) {
	environment := current.environment
	listed := environment.tools()
	if len(listed) == 0 {
		return nil, cmp.Or(environment.unlisted("tools/list"), "the server lists no tool")
	}
	var unmade []string
	for _, tool := range listed {
		name, _ := tool["name"].(string)
		if !environment.mayCall(tool) {
			continue
		}
		arguments, err := environment.arguments(tool)
		if err != nil {
			unmade = append(unmade, name)
			continue
		}
		calls = append(calls, Provocation{Tool: name, Arguments: arguments})
	}
	switch {
	case len(calls) > 0:
		return calls, ""
	case len(unmade) > 0:
		return nil, "no arguments could be made for " + strings.Join(unmade, ", ")
	}
	return nil, NoCallable
}

// NoCallable is why no tool is called, in the same words everywhere.
const NoCallable = "no tool may be called: none is annotated readOnlyHint or named in mcpconform.yaml"

// Uncallable tells how many tools the server lists when none of them may be called; 0
// when there is none, or one that may be.
func (e *Environment) Uncallable() int {
	listed := e.tools()
	if slices.ContainsFunc(listed, e.mayCall) {
		return 0
	}
	return len(listed)
}

// mayCall tells whether the policy allows to call a tool.
func (e *Environment) mayCall(tool Object) bool {
	name, _ := tool["name"].(string)
	switch e.Calls {
	case CallNone:
		return false
	case CallAll:
		return true
	}
	if e.configured(name) {
		return true
	}
	if e.Calls == CallListed {
		return false
	}
	annotations, _ := tool["annotations"].(map[string]any)
	return annotations["readOnlyHint"] == true || isFixture(name)
}

// configured tells whether the config names a tool.
func (e *Environment) configured(name string) bool {
	if _, given := e.Arguments[name]; given {
		return true
	}
	for _, provocation := range e.Provocations {
		if provocation.Tool == name {
			return true
		}
	}
	return false
}

func isFixture(name string) bool {
	return slices.ContainsFunc(fixtures, func(known fixture) bool { return known.provocation.Tool == name })
}

// arguments returns those that the config or a fixture gives, or makes some
// from the input schema.
func (e *Environment) arguments(tool Object) (Object, error) {
	name, _ := tool["name"].(string)
	if given, configured := e.Arguments[name]; configured {
		return given, nil
	}
	for _, known := range fixtures {
		if known.provocation.Tool == name && known.provocation.Arguments != nil {
			return known.provocation.Arguments, nil
		}
	}
	made, err := schema.ExampleWith(tool["inputSchema"], e.suggest)
	if err != nil {
		return nil, err
	}
	object, isObject := made.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("the input schema of %s asks for no object", name)
	}
	return object, nil
}
