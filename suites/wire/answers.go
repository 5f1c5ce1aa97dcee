package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// An answer is what a client gives to the server: a result in the handshake era, an
// input response of the stateless era.
type answer struct {
	found           // the result
	method   string // by which the server asked
	asked    rules.Object
	declared rules.Object // capabilities of the client
}

// answers returns those to requests by one of the methods; to all, when none is
// given.
func answers(conversation *rules.Conversation, methods ...string) []answer {
	all := slices.Concat(responsesGiven(conversation), inputsGiven(conversation), updatesGiven(conversation))
	if len(methods) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(one answer) bool { return !slices.Contains(methods, one.method) })
}

// responsesGiven are results, also those that come by way of a task.
func responsesGiven(conversation *rules.Conversation) []answer {
	var all []answer
	creators := creators(conversation)
	for _, said := range conversation.ByTarget() {
		if !isResponse(said) || said.Request == nil || isRefusal(said) || said.ResultObject() == nil {
			continue
		}
		request := said.Request
		if request.Method == "tasks/result" {
			request = creators[taskID(request.ParamsObject())]
		} else if taskMade(request) != "" {
			continue
		}
		if request != nil && inputs[request.Method] != "" {
			all = append(all, answer{found{resultOf(said), said}, request.Method, request.ParamsObject(), conversation.ClientCapabilities})
		}
	}
	return all
}

// inputsGiven are the input responses of retries.
func inputsGiven(conversation *rules.Conversation) []answer {
	var all []answer
	for _, one := range retriesMade(conversation) {
		if one.asked != nil {
			all = append(all, inputsOf(conversation, one.Message, one.asked.ResultObject()["inputRequests"])...)
		}
	}
	return all
}

// updatesGiven are the input responses for tasks of the extension, whose input
// requests the server told before.
func updatesGiven(conversation *rules.Conversation) []answer {
	var all []answer
	requests := map[string]any{} // by task
	for _, said := range conversation.Messages {
		if said.FromTarget(conversation.Leg) {
			if isRequest(said) && said.Method == "tasks/update" {
				all = append(all, inputsOf(conversation, said, requests[taskID(said.ParamsObject())])...)
			}
			continue
		}
		for _, task := range []rules.Object{said.ResultObject(), said.ParamsObject()} {
			if asked, there := task["inputRequests"]; there && taskID(task) != "" {
				requests[taskID(task)] = asked
			}
		}
	}
	return all
}

// inputsOf returns the input responses in a request that answer input requests.
func inputsOf(conversation *rules.Conversation, said *rules.Message, asked any) []answer {
	requests, _ := asked.(map[string]any)
	responses, _ := paramsOf(said).member(inputResponses)
	var all []answer
	for key, response := range responses.object() {
		request := place{"", requests[key]}
		method, _ := request.member("method")
		params, _ := request.member("params")
		if inputs[method.text()] != "" {
			where := found{place{responses.pointer + "/" + escape(key), response}, said}
			all = append(all, answer{where, method.text(), params.object(), conversation.ClientDeclared(said)})
		}
	}
	slices.SortFunc(all, func(a, b answer) int { return strings.Compare(a.pointer, b.pointer) })
	return all
}

// unannounced judges that a client declared what it answers to: a capability, when an
// answer takes it.
func unannounced(method, capability string, takes func(answer) bool) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range answers(conversation, method) {
			if !takes(one) || one.declared == nil {
				continue
			}
			reporter.Observe()
			if !mcp.Declares(one.declared, capability) {
				reporter.Violation(one.said, rules.Mismatch{
					Wanted: fmt.Sprintf("the capability %s declared by a client that answers so", capability),
					Found:  "no such capability: " + rules.Show(one.declared), Where: one.pointer,
				})
			}
		}
	})
}

func anyAnswer(answer) bool { return true }

// RootRules are the rules of the page client/roots.
func RootRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "declares roots if it returns roots in answer to roots/list",
			Requirements: []string{"roots.capability.declared"},
			Judge: unannounced(rootsMethod, "roots", func(one answer) bool {
				return len(one.items("roots")) > 0 // an empty list shows none
			}),
		},
		{
			Text:         "returns roots whose uri begins with file://",
			Requirements: []string{"roots.uri.file"},
			Judge: everyRoot(func(uri place, _ []any) rules.Mismatch {
				if strings.HasPrefix(strings.ToLower(uri.text()), "file://") {
					return rules.Mismatch{}
				}
				return rules.Mismatch{Wanted: "a URI that begins with file://", Found: rules.Show(uri.value), Where: uri.pointer}
			}),
		},
		{
			Text:         "returns no two roots with the same uri",
			Requirements: []string{"roots.uri.unique"},
			Judge: everyRoot(func(uri place, earlier []any) rules.Mismatch {
				if !slices.Contains(earlier, any(uri.text())) {
					return rules.Mismatch{}
				}
				return rules.Mismatch{Wanted: "a URI that no other root has", Found: rules.Show(uri.value) + " again", Where: uri.pointer}
			}),
		},
		{
			Text:         "uses -32601 whenever it rejects roots/list without declaring roots",
			Requirements: []string{"roots.error.unsupported"},
			Judge:        ofClient(rootsRefused),
		},
	}
}

const rootsMethod = "roots/list"

// everyRoot judges the URIs of roots that have one, beside those of the roots before
// in the list.
func everyRoot(wrong func(uri place, earlier []any) rules.Mismatch) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, list := range answers(conversation, rootsMethod) {
			var earlier []any
			for _, root := range list.items("roots") {
				uri, there := root.member("uri")
				if !there {
					continue // the schema has it
				}
				reporter.Observe()
				if mismatch := wrong(uri, earlier); mismatch != (rules.Mismatch{}) {
					reporter.Violation(list.said, mismatch)
				}
				earlier = append(earlier, uri.value)
			}
		}
	})
}

func rootsRefused(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByTarget() {
		refusal, _ := said.Error()
		if !isRefusal(said) || !isWhole(said) || said.Request == nil || said.Request.Method != rootsMethod ||
			conversation.ClientCapabilities == nil || mcp.Declares(conversation.ClientCapabilities, "roots") {
			continue
		}
		reporter.Observe()
		if refusal.Code != jsonrpc.MethodNotFound {
			reporter.Violation(said, rules.Mismatch{Wanted: "-32601 (Method not found)", Found: strconv.FormatInt(refusal.Code, 10), Where: "/error/code"})
		}
	}
}

// samplingAnswerRules are about what a client gives to sampling/createMessage.
func samplingAnswerRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "declares sampling if it returns a message for sampling/createMessage",
			Requirements: []string{"sampling.capability.declared"},
			Judge:        unannounced(samplingMethod, "sampling", anyAnswer),
		},
		{
			Text:         "declares sampling.tools if it returns a message for a sampling request with tools",
			Requirements: []string{"sampling.tools.declared"},
			Judge: unannounced(samplingMethod, "sampling.tools", func(one answer) bool {
				_, lent := one.asked["tools"]
				return lent && mcp.Declares(one.declared, "sampling")
			}),
		},
		{
			Text:         "returns at least one tool_use when toolChoice of sampling/createMessage is required",
			Requirements: []string{"sampling.tool-choice.required"},
			Judge:        toolChoices("required"),
		},
		{
			Text:         "returns no tool_use when toolChoice of sampling/createMessage is none",
			Requirements: []string{"sampling.tool-choice.none"},
			Judge:        toolChoices("none"),
		},
	}
}

// toolChoices judges answers to requests with a toolChoice. A tool may have been
// used in a round before, and an answer that was cut off has no end to judge.
func toolChoices(mode string) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range answers(conversation, samplingMethod) {
			asked := place{"", one.asked}
			choice, _ := asked.member("toolChoice")
			used := turnAt(one.place).of("tool_use")
			before := slices.ContainsFunc(asked.items("messages"), func(message place) bool {
				return len(turnAt(message).of("tool_use")) > 0
			})
			stop, _ := one.member("stopReason")
			if choice.object()["mode"] != mode || mode == "required" && (before || stop.text() == "maxTokens" || len(asked.items("tools")) == 0) {
				continue
			}
			reporter.Observe()
			switch {
			case mode == "required" && len(used) == 0:
				reporter.Violation(one.said, rules.Mismatch{Wanted: "the use of a tool, as toolChoice requires it", Found: "none", Where: one.pointer + "/content"})
			case mode == "none" && len(used) > 0:
				reporter.Violation(one.said, rules.Mismatch{Wanted: "no use of a tool, as toolChoice has it", Found: rules.Show(used[0].value), Where: used[0].pointer})
			}
		}
	})
}

// elicitationAnswerRules are about what a client gives to elicitation/create.
func elicitationAnswerRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "declares elicitation if it accepts an elicitation/create",
			Requirements: []string{"elicitation.capability.declared"},
			Judge:        unannounced(elicitationMethod, "elicitation", accepts),
		},
		{
			Text:         "declares form or url in elicitation, unless that is an empty object",
			Requirements: []string{"elicitation.capability.mode"},
			Judge:        ofClient(modelessClients),
		},
		{
			Text:         "rejects elicitation modes that it does not declare with -32602",
			Requirements: []string{"elicitation.mode.refused"},
			Judge:        ofClient(modesTaken),
		},
		{
			Text:         "returns elicitation content that matches requestedSchema",
			Requirements: []string{"elicitation.content.matches"},
			Judge:        ofClient(contentsGiven),
		},
		{
			Text:         "returns no content when it accepts URL elicitation",
			Requirements: []string{"elicitation.content.url-mode"},
			Judge:        ofClient(contentsOfVisits),
		},
	}
}

// accepts tells whether an elicitation was accepted: to decline is no support.
func accepts(one answer) bool { return one.object()["action"] == "accept" }

// modelessClients looks at clients that declare something of elicitation, and no mode;
// that nothing is declared of it means forms.
func modelessClients(conversation *rules.Conversation, reporter *rules.Reporter) {
	var all []found
	for _, said := range conversation.Requests("initialize") {
		all = append(all, found{paramsOf(said), said})
	}
	capabilities := slices.Concat(within(all, "capabilities"), declarations(conversation))
	for _, elicitation := range within(capabilities, "elicitation") {
		declared := elicitation.object()
		if declared == nil {
			continue
		}
		reporter.Observe()
		if !mcp.OffersMode(declared, "form") && !mcp.OffersMode(declared, "url") {
			reporter.Violation(elicitation.said, rules.Mismatch{Wanted: "form, url or both", Found: rules.Show(declared), Where: elicitation.pointer})
		}
	}
}

func modesTaken(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByTarget() {
		if !isResponse(said) || said.Request == nil || said.Request.Method != elicitationMethod || taskMade(said.Request) != "" ||
			!mcp.Declares(conversation.ClientCapabilities, "elicitation") {
			continue
		}
		mode := modeOf(rules.Ask{Params: said.Request.ParamsObject()})
		declared, _ := conversation.ClientCapabilities["elicitation"].(map[string]any)
		if name, _ := mode.(string); name != "form" && name != "url" || mcp.OffersMode(declared, name) {
			continue
		}
		reporter.Observe()
		wanted := "-32602 (Invalid params), as the client does not declare the mode " + rules.Show(mode)
		if refusal, refused := said.Error(); !refused {
			reporter.Violation(said, rules.Mismatch{Wanted: wanted, Found: excerpt.Short(said.Raw)})
		} else if refusal.Code != jsonrpc.InvalidParams {
			reporter.Violation(said, rules.Mismatch{Wanted: wanted, Found: strconv.FormatInt(refusal.Code, 10), Where: "/error/code"})
		}
	}
}

// contentsGiven judges what is accepted in form mode, as far as the schema of the
// protocol allows it and that of the form can be read.
func contentsGiven(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range answers(conversation, elicitationMethod) {
		form, isForm := one.asked["requestedSchema"].(map[string]any)
		known := conversation.Schema
		if !accepts(one) || !isForm || modeOf(rules.Ask{Params: one.asked}) != "form" || known == nil ||
			len(known.ValidateResult(elicitationMethod, one.value)) > 0 {
			continue
		}
		document, err := compiled(conversation.Revision, form)
		if err != nil {
			continue
		}
		content, there := one.member("content")
		if !there {
			content.value = map[string]any{}
		}
		violations, err := document.Validate(content.value)
		if err != nil {
			continue
		}
		reporter.Observe()
		for _, violation := range violations {
			reporter.Violation(one.said, rules.Mismatch{
				Wanted: "content that matches the requestedSchema: " + violation.Expected, Found: violation.Found, Where: content.pointer + violation.Pointer,
			})
		}
	}
}

func contentsOfVisits(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range answers(conversation, elicitationMethod) {
		if modeOf(rules.Ask{Params: one.asked}) != "url" {
			continue
		}
		reporter.Observe()
		if content, there := one.member("content"); there {
			reporter.Violation(one.said, rules.Mismatch{Wanted: "no content", Found: rules.Show(content.value), Where: content.pointer})
		}
	}
}
