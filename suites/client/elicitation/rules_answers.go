package elicitation

import (
	"slices"
	"strconv"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
)

// elicitationAnswerRules are about what a client gives to elicitation/create.
func elicitationAnswerRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "declares elicitation if it accepts an elicitation/create",
			Verifies: rules.Verifies("elicitation.capability.declared"),
			Judge:    facts.Unannounced(elicitationMethod, "elicitation", accepts),
		},
		{
			Text:     "declares form or url in elicitation, unless that is an empty object",
			Verifies: rules.Verifies("elicitation.capability.mode"),
			Judge:    rules.OfClient(modelessClients),
		},
		{
			Text:     "rejects elicitation modes that it does not declare with -32602",
			Verifies: rules.Verifies("elicitation.mode.refused"),
			Judge:    rules.OfClient(modesTaken),
		},
		{
			Text:     "returns elicitation content that matches requestedSchema",
			Verifies: rules.Verifies("elicitation.content.matches"),
			Judge:    rules.OfClient(contentsGiven),
		},
		{
			Text:     "returns no content when it accepts URL elicitation",
			Verifies: rules.Verifies("elicitation.content.url-mode"),
			Judge:    rules.OfClient(contentsOfVisits),
		},
	}
}

// accepts tells whether an elicitation was accepted: to decline is no support.
func accepts(one facts.Answer) bool { return one.Object()["action"] == "accept" }

// modelessClients looks at clients that declare something of elicitation, and no mode;
// that nothing is declared of it means forms.
func modelessClients(conversation *rules.Conversation, reporter *rules.Reporter) {
	var all []places.Found
	for _, message := range conversation.Requests("initialize") {
		all = append(all, places.Found{Place: places.ParamsOf(message), Said: message})
	}
	capabilities := slices.Concat(places.Within(all, "capabilities"), facts.Declarations(conversation))
	for _, elicitation := range places.Within(capabilities, "elicitation") {
		declared := elicitation.Object()
		if declared == nil {
			continue
		}
		reporter.Observe()
		if !mcp.OffersMode(declared, "form") && !mcp.OffersMode(declared, "url") {
			reporter.Violation(elicitation.Said, rules.Mismatch{Wanted: "form, url or both", Found: rules.Show(declared), Where: elicitation.Pointer})
		}
	}
}

func modesTaken(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByTarget() {
		if !rules.IsResponse(message) || message.Request == nil || message.Request.Method != elicitationMethod ||
			tasks.OfRequest(message.Request) != "" ||
			!mcp.Declares(conversation.ClientCapabilities, "elicitation") {
			continue
		}
		mode := modeOf(rules.Ask{Params: message.Request.ParamsObject()})
		declared := mcp.Object(conversation.ClientCapabilities, "elicitation")
		if name, _ := mode.(string); name != "form" && name != "url" || mcp.OffersMode(declared, name) {
			continue
		}
		reporter.Observe()
		wanted := "-32602 (Invalid params), as the client does not declare the mode " + rules.Show(mode)
		if refusal, refused := message.Error(); !refused {
			reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: excerpt.Short(message.Raw)})
		} else if refusal.Code != jsonrpc.InvalidParams {
			reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: strconv.FormatInt(refusal.Code, 10), Where: "/error/code"})
		}
	}
}

// contentsGiven judges what is accepted in form mode, as far as the schema of the
// protocol allows it and that of the form can be read.
func contentsGiven(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range facts.Answers(conversation, elicitationMethod) {
		form, isForm := one.Asked["requestedSchema"].(map[string]any)
		known := conversation.Schema
		if !accepts(one) || !isForm || modeOf(rules.Ask{Params: one.Asked}) != "form" || known == nil ||
			len(known.ValidateResult(elicitationMethod, one.Value)) > 0 {
			continue
		}
		document, err := facts.Compile(conversation.Revision, form)
		if err != nil {
			continue
		}
		content, there := one.Member("content")
		if !there {
			content.Value = map[string]any{}
		}
		violations, err := document.Validate(content.Value)
		if err != nil {
			continue
		}
		reporter.Observe()
		for _, violation := range violations {
			reporter.Violation(one.Said, rules.Mismatch{
				Wanted: "content that matches the requestedSchema: " + violation.Expected,
				Found:  violation.Found,
				Where:  content.Pointer + violation.Pointer,
			})
		}
	}
}

func contentsOfVisits(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range facts.Answers(conversation, elicitationMethod) {
		if modeOf(rules.Ask{Params: one.Asked}) != "url" {
			continue
		}
		reporter.Observe()
		if content, there := one.Member("content"); there {
			reporter.Violation(one.Said, rules.Mismatch{Wanted: "no content", Found: rules.Show(content.Value), Where: content.Pointer})
		}
	}
}
