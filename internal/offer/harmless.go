package offer

import (
	"maps"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/forms"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Harmless is a request without side effects, in its plain form.
type Harmless struct {
	Method      string
	Params      Object // nil for none
	Requirement string // that it is answered with a result
}

// Describe names the request: "ping", "resources/read of file:///a".
func (h Harmless) Describe() string {
	for _, name := range []string{"name", "uri"} {
		if of, isText := h.Params[name].(string); isText {
			return h.Method + " of " + of
		}
	}
	return h.Method
}

// maxOfAKind bounds the resources and the tools among the harmless requests: of many,
// some show as much.
const maxOfAKind = 2

// Harmless returns the requests without side effects that the target has to answer, the
// plainest first: of tools, those that are annotated as read-only.
func (o *Offer) Harmless() []Harmless {
	all := []Harmless{{Method: "server/discover", Requirement: "discover.implemented"}}
	if o.Has(protocol.Ping) {
		all = []Harmless{{Method: "ping", Requirement: "ping.answered"}}
	}
	for _, feature := range []string{"tools", "resources", "prompts"} {
		if o.declares(feature) {
			all = append(all, Harmless{Method: feature + "/list", Requirement: feature + ".list.answered"})
		}
	}
	for _, resource := range o.resources()[:min(maxOfAKind, len(o.resources()))] {
		all = append(all, Harmless{
			Method: "resources/read", Params: Object{"uri": resource["uri"]}, Requirement: "resources.read.answered",
		})
	}
	all = append(all, o.harmlessLookups()...)
	tools := 0
	for _, tool := range o.tools() {
		annotations, _ := tool["annotations"].(map[string]any)
		if annotations["readOnlyHint"] != true || !o.MayCall(tool) || tools == maxOfAKind {
			continue
		}
		if arguments, err := o.arguments(tool); err == nil {
			all = append(all, Harmless{
				Method:      "tools/call",
				Params:      Object{"name": tool["name"], "arguments": arguments},
				Requirement: "tools.call.answered",
			})
			tools++
		}
	}
	return all
}

// harmlessLookups are a prompt that takes no arguments, and the completion of an argument,
// where there are such.
func (o *Offer) harmlessLookups() []Harmless {
	var all []Harmless
	var plain, completed bool
	for _, prompt := range o.prompts() {
		name := prompt["name"]
		takes, _ := prompt["arguments"].([]any)
		if len(takes) == 0 && !plain {
			plain = true
			all = append(all, Harmless{
				Method: "prompts/get", Params: Object{"name": name}, Requirement: "prompts.get.answered",
			})
		}
		if len(takes) > 0 && !completed && o.declares("completions") {
			completed = true
			argument, _ := takes[0].(map[string]any)
			all = append(all, Harmless{
				Method: "completion/complete",
				Params: Object{
					"ref":      Object{"type": "ref/prompt", "name": name},
					"argument": Object{"name": argument["name"], "value": ""},
				},
				Requirement: "completion.answered",
			})
		}
	}
	return all
}

// Message is the request as forms change it, with an id.
func (h Harmless) Message(id jsonrpc.ID) forms.Message {
	return forms.Message{ID: id, Method: h.Method, Params: h.Params}
}

// With are the params of the request with a _meta of its own, unless that is nil; nil for
// none at all.
func (h Harmless) With(meta any) any {
	if len(h.Params) == 0 && meta == nil {
		return nil
	}
	params := Object{}
	maps.Copy(params, h.Params)
	if meta != nil {
		params["_meta"] = meta
	}
	return params
}

// HarmlessRequests are those without side effects that the target has to answer.
func HarmlessRequests(t *T) []Harmless { return of(t).Harmless() }

// OneOfEachMethod are the first of the harmless requests with each method, the templates where
// there are some, and the call of a tool that may be called where none is known to be
// read-only.
func OneOfEachMethod(t *T) []Harmless {
	all := HarmlessRequests(t)
	if len(ListedTemplates(t)) > 0 {
		all = append(all, Harmless{Method: "resources/templates/list"})
	}
	if calls, _ := of(t).Callable(); len(calls) > 0 {
		all = append(all, Harmless{Method: "tools/call", Params: calls[0].Call()})
	}
	seen := map[string]bool{}
	var first []Harmless
	for _, request := range all {
		if !seen[request.Method] {
			seen[request.Method] = true
			first = append(first, request)
		}
	}
	return first
}
