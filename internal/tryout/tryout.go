// Package tryout calls the tools of a server and sees what they provoke: which reports
// progress, logs, asks the client for something, changes a list or a resource, or can run
// as a task. It judges nothing.
package tryout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
)

// Order says what to try.
type Order struct {
	Revision string
	Survey   *survey.Survey
	Calls    []provoke.Provocation
	Most     time.Duration // for all calls together; what was not called by then is Left
	// Quiet is how long to listen, over HTTP, for what comes on another stream.
	Quiet time.Duration
}

// Outcome is how a tool answered.
type Outcome string

// Outcomes of a call.
const (
	Answered Outcome = "answered" // with a result
	Failed   Outcome = "failed"   // with isError
	Refused  Outcome = "refused"  // with a JSON-RPC error
	Silent   Outcome = "silent"   // with nothing, in the time that a reply may take
)

// Tool is one that was called.
type Tool struct {
	provoke.Provocation
	Outcome Outcome
	Says    string        // the text of its error, or why there is no answer; "" where it answered
	Took    time.Duration // of the first call
	// Kinds of provocations that it showed each time, sorted.
	Kinds []string
	// Slow tells that it takes a second or more and reports progress: only its author knows
	// whether it can be cancelled.
	Slow bool
}

// Found is what a server's tools do.
type Found struct {
	Tools []Tool
	Left  []string // tools for which there was no time
}

// Answering are the tools that did not leave a call without an answer.
func (f Found) Answering() []string {
	var names []string
	for _, tool := range f.Tools {
		if tool.Outcome != Silent {
			names = append(names, tool.Tool)
		}
	}
	return names
}

// Provocations are the first tools that showed each kind.
func (f Found) Provocations() map[string]provoke.Provocation {
	found := map[string]provoke.Provocation{}
	for _, tool := range f.Tools {
		for _, kind := range tool.Kinds {
			if _, known := found[kind]; !known {
				found[kind] = tool.Provocation
				if kind != resourceUpdated {
					one := found[kind]
					one.Resource = ""
					found[kind] = one
				}
			}
		}
	}
	return found
}

// Capabilities are what the client of a tryout declares: all that a server may ask it for.
func Capabilities(revision string) scripted.Capabilities {
	all := scripted.Everything(revision)
	if protocol.Has(revision, protocol.SamplingTools) {
		all = all.With("sampling", map[string]any{"tools": map[string]any{}, "context": map[string]any{}})
	}
	return all
}

// Tools calls the tools one after the other, on a connection whose handshake is done and
// whose client answers what it declares. Each that shows something is called once more:
// what it shows only once is nothing that one could rely on. What comes on another stream may
// come when its tool has been answered and the next was called: then they are called again, with
// some time after each. When the connection ends, the tool after which it did is Silent and the
// others are Left.
func Tools(ctx context.Context, connection *scripted.Connection, order Order) Found {
	ctx, cancel := context.WithTimeout(ctx, order.Most)
	defer cancel()
	t := &tryout{Connection: connection, order: order}
	t.listen(ctx)
	begun := t.Mark()
	var found Found
	for i, call := range order.Calls {
		if ctx.Err() != nil || !connection.Alive() {
			for _, left := range order.Calls[i:] {
				found.Left = append(found.Left, left.Tool)
			}
			break
		}
		found.Tools = append(found.Tools, t.tool(ctx, call))
	}
	if t.Transport().Exchanges() {
		t.late(ctx, begun, found.Tools)
	}
	return found
}

type tryout struct {
	*scripted.Connection
	order Order
	quiet time.Duration // to listen after each call
	calls int
}

// late finds the tools that provoke what has come since a mark, and that no call showed twice.
// Those that take long are called last.
func (t *tryout) late(ctx context.Context, mark int, tools []Tool) {
	t.within(ctx, t.order.Quiet, nil)
	all := &seen{kinds: map[string]bool{}}
	for _, received := range t.Received(mark) {
		if received.Kind == jsonrpc.Notification { // a call waits for what it asks
			all.take(received)
		}
	}
	open := all.kinds
	answered := make([]*Tool, 0, len(tools))
	for i := range tools {
		for _, kind := range tools[i].Kinds {
			delete(open, kind)
		}
		if tools[i].Outcome == Answered {
			answered = append(answered, &tools[i])
		}
	}
	slices.SortStableFunc(answered, func(a, b *Tool) int { return cmp.Compare(a.Took, b.Took) })
	t.quiet = t.order.Quiet
	for _, tool := range answered {
		if len(open) == 0 || ctx.Err() != nil || !t.Alive() {
			return
		}
		again := t.tool(ctx, tool.Provocation)
		for _, kind := range again.Kinds {
			if open[kind] {
				tool.Kinds = append(tool.Kinds, kind)
				tool.Resource = cmp.Or(tool.Resource, again.Resource)
				delete(open, kind)
			}
		}
		slices.Sort(tool.Kinds)
	}
}

func (t *tryout) has(feature protocol.Feature) bool { return protocol.Has(t.order.Revision, feature) }

// most is how many resources are subscribed to.
const most = 20

// listen lets the server say all that it could say. What it refuses it does not say.
func (t *tryout) listen(ctx context.Context) {
	var uris []any
	for _, resource := range t.order.Survey.Resources[:min(most, len(t.order.Survey.Resources))] {
		if uri, isText := resource["uri"].(string); isText {
			uris = append(uris, uri)
		}
	}
	subscribes := t.order.Survey.Declares("resources.subscribe") && len(uris) > 0
	if t.has(protocol.Subscriptions) {
		filter := map[string]any{
			"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
		}
		if subscribes {
			filter["resourceSubscriptions"] = uris
		}
		listening := t.Start(ctx, "subscriptions/listen", map[string]any{"notifications": filter})
		_, _ = listening.WaitOr(ctx, func(received scripted.Received) bool { return received.Method == acknowledged })
		return
	}
	if t.Transport().Exchanges() && t.has(protocol.GETStream) { // where there is such a stream, changes are told on it
		t.within(ctx, t.ReplyTime(), t.StartListening(ctx).Head())
	}
	if t.order.Survey.Declares("logging") {
		_, _ = t.Call(ctx, "logging/setLevel", map[string]any{"level": "info"})
	}
	for _, uri := range uris {
		if subscribes {
			_, _ = t.Call(ctx, "resources/subscribe", map[string]any{"uri": uri})
		}
	}
}

// within waits so long at most for something that is closed then.
func (t *tryout) within(ctx context.Context, most time.Duration, closed <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, min(most, shortly))
	defer cancel()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// shortly is how long a server may take at most to begin a stream.
const shortly = 2 * time.Second

const acknowledged = "notifications/subscriptions/acknowledged"

// tool calls a tool in the ways that it can be called.
func (t *tryout) tool(ctx context.Context, call provoke.Provocation) Tool {
	support := t.taskSupport(call.Tool)
	if support == "required" {
		return twice(ctx, call, t.task)
	}
	tool := twice(ctx, call, t.call)
	if support == "optional" && tool.Outcome != Silent {
		tool.Kinds = append(tool.Kinds, twice(ctx, call, t.task).Kinds...)
		slices.Sort(tool.Kinds)
	}
	return tool
}

// twice calls a tool, and again if it showed something.
func twice(
	ctx context.Context, what provoke.Provocation, call func(context.Context, provoke.Provocation) Tool,
) Tool {
	tool := call(ctx, what)
	if tool.Outcome != Answered {
		tool.Kinds = nil
	}
	if len(tool.Kinds) == 0 {
		return tool
	}
	again := call(ctx, what)
	tool.Kinds = slices.DeleteFunc(tool.Kinds, func(kind string) bool {
		return again.Outcome != Answered || !slices.Contains(again.Kinds, kind)
	})
	return tool
}

// taskSupport is what a tool says of tasks, where the revision and the server have them;
// else "".
func (t *tryout) taskSupport(name string) string {
	if !t.has(protocol.Tasks) || !t.order.Survey.Declares("tasks.requests.tools.call") {
		return ""
	}
	for _, tool := range t.order.Survey.Tools {
		if tool["name"] == name {
			execution, _ := tool["execution"].(map[string]any)
			support, _ := execution["taskSupport"].(string)
			return support
		}
	}
	return ""
}

// call calls a tool with everything that the protocol has for a call.
func (t *tryout) call(ctx context.Context, call provoke.Provocation) Tool {
	params, seen := t.params(call)
	mark, begun := t.Mark(), time.Now()
	request := t.Start(ctx, "tools/call", params)
	answer, err := request.Settle(ctx)
	tool := Tool{Provocation: call, Took: time.Since(begun)}
	if err != nil && t.Alive() { // it is not to be in the way of the others
		_ = t.Notify(ctx, "notifications/cancelled", map[string]any{"requestId": request.ID})
	}
	tool.Outcome, tool.Says = outcomeOf(answer, err)
	t.look(ctx, mark, seen)
	tool.Kinds, tool.Resource = slices.Sorted(maps.Keys(seen.kinds)), seen.resource
	tool.Slow = tool.Outcome == Answered && tool.Took >= long && seen.reports > 0
	return tool
}

// long is how long a tool takes that is slow.
const long = time.Second

// task runs a tool as a task, and waits for its result.
func (t *tryout) task(ctx context.Context, call provoke.Provocation) Tool {
	params, seen := t.params(call)
	params["task"] = map[string]any{}
	mark, begun := t.Mark(), time.Now()
	created, err := t.Call(ctx, "tools/call", params)
	tool := Tool{Provocation: call}
	if tool.Outcome, tool.Says = outcomeOf(created, err); tool.Outcome != Answered {
		return tool
	}
	member, _ := created.Result()
	result, _ := member.(map[string]any)
	task, _ := result["task"].(map[string]any)
	if task["taskId"] == nil {
		return tool
	}
	answer, err := t.Call(ctx, "tasks/result", map[string]any{"taskId": task["taskId"]})
	tool.Took = time.Since(begun)
	if tool.Outcome, tool.Says = outcomeOf(answer, err); tool.Outcome != Answered {
		return tool
	}
	t.look(ctx, mark, seen)
	for kind, shows := range map[string]bool{
		"task":          true,
		"task-required": t.taskSupport(call.Tool) == "required",
		"task-slow":     tool.Took >= long,
		"task-progress": seen.reports > 0,
		"task-input":    seen.kinds["elicitation"],
	} {
		if shows {
			tool.Kinds = append(tool.Kinds, kind)
		}
	}
	slices.Sort(tool.Kinds)
	return tool
}

// params are those of a call that asks for progress and, where a request says so, for log
// messages.
func (t *tryout) params(call provoke.Provocation) (map[string]any, *seen) {
	t.calls++
	seen := &seen{token: fmt.Sprintf("mcpconform-tryout-%d", t.calls), kinds: map[string]bool{}}
	params := call.Reporting(seen.token)
	if meta, isMeta := params["_meta"].(map[string]any); isMeta && t.has(protocol.LogLevelInMeta) {
		meta[mcp.MetaLogLevel] = "info"
	}
	return params, seen
}

// look waits for what was said on the way, and sees what came since a mark.
func (t *tryout) look(ctx context.Context, mark int, seen *seen) {
	t.settle(ctx)
	for _, received := range t.Received(mark) {
		seen.take(received)
	}
}

// settle waits for what the server has said on the way, as far as a request that every
// server answers shows it.
func (t *tryout) settle(ctx context.Context) {
	if !t.Alive() {
		return
	}
	method := "ping"
	if !t.has(protocol.Ping) {
		method = "server/discover"
	}
	_, _ = t.Call(ctx, method, nil)
	if t.Transport().Exchanges() && t.quiet > 0 { // each stream has a time of its own
		t.within(ctx, t.quiet, nil)
	}
}

// shown is how much of the text of an error is kept, in characters.
const shown = 200

func outcomeOf(answer scripted.Received, err error) (Outcome, string) {
	if err != nil {
		return Silent, err.Error()
	}
	if refusal, there := answer.Error(); there {
		return Refused, excerpt.Characters(refusal.Message, shown)
	}
	member, _ := answer.Result()
	result, _ := member.(map[string]any)
	if result["isError"] != true {
		return Answered, ""
	}
	for _, block := range listOf(result["content"]) {
		if text, isText := block["text"].(string); isText {
			return Failed, excerpt.Characters(text, shown)
		}
	}
	return Failed, ""
}

func listOf(value any) (objects []map[string]any) {
	list, _ := value.([]any)
	for _, one := range list {
		if object, isObject := one.(map[string]any); isObject {
			objects = append(objects, object)
		}
	}
	return objects
}

// resourceUpdated is the kind that names a resource.
const resourceUpdated = "resource-updated"

// seen is what came during a call.
type seen struct {
	token    string
	kinds    map[string]bool
	reports  int
	resource string
}

// of are the kinds that a message shows by its method alone.
var of = map[string]string{
	"roots/list":                           "roots",
	"notifications/tools/list_changed":     "tools-changed",
	"notifications/prompts/list_changed":   "prompts-changed",
	"notifications/resources/list_changed": "resources-changed",
}

func (s *seen) take(received scripted.Received) {
	params, _ := received.Params().(map[string]any)
	switch received.Kind {
	case jsonrpc.Request:
		s.asked(received.Method, params)
	case jsonrpc.Notification:
		s.told(received, params)
	case jsonrpc.Response:
		member, _ := received.Result()
		result, _ := member.(map[string]any)
		requests, _ := result["inputRequests"].(map[string]any)
		for _, request := range requests {
			asked, _ := request.(map[string]any)
			method, _ := asked["method"].(string)
			params, _ := asked["params"].(map[string]any)
			s.asked(method, params)
		}
		for _, block := range listOf(result["content"]) {
			if block["type"] == "resource_link" {
				s.kinds["resource-link"] = true
			}
		}
	}
}

func (s *seen) asked(method string, params map[string]any) {
	_, lendsTools := params["tools"]
	switch {
	case method == "sampling/createMessage" && lendsTools:
		s.kinds["sampling-tools"] = true
	case method == "sampling/createMessage":
		s.kinds["sampling"] = true
	case method == "elicitation/create" && params["mode"] == "url":
		s.kinds["elicitation-url"] = true
	case method == "elicitation/create":
		s.kinds["elicitation"] = true
	case of[method] != "":
		s.kinds[of[method]] = true
	}
}

func (s *seen) told(received scripted.Received, params map[string]any) {
	switch received.Method {
	case "notifications/progress":
		if params["progressToken"] == s.token {
			s.reports++
		}
		if s.reports > 1 {
			s.kinds["progress"] = true
		}
	case "notifications/message":
		if params["level"] != "debug" {
			s.kinds["logging"] = true
		}
	case "notifications/resources/updated":
		if uri, isText := params["uri"].(string); isText {
			s.kinds[resourceUpdated], s.resource = true, uri
		}
	default:
		if kind := of[received.Method]; kind != "" {
			s.kinds[kind] = true
		}
	}
}
