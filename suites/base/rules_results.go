package base

import (
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
)

// resultRules are about what every result of the stateless era has.
func resultRules() []rules.Rule {
	return []rules.Rule{
		{Text: "sends resultType in each result", Verifies: rules.Verifies("base.result-type.given"), Judge: untypedResults},
		{
			Text:     "sends only a resultType of the core protocol or of an extension that it declares",
			Verifies: rules.Verifies("base.result-type.known"),
			Judge:    strangeResults,
		},
		{Text: "sends serverInfo in the _meta of each result", Verifies: rules.Verifies("base.fields.server-info"), Judge: unsignedResults},
	}
}

func untypedResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range facts.StandaloneResults(conversation) {
		reporter.Observe()
		if _, isText := message.ResultObject()["resultType"].(string); !isText {
			reporter.Violation(message, rules.Mismatch{
				Wanted: `a member "resultType" that is a string`,
				Found:  rules.ShowMember(message.ResultObject(), "resultType"),
				Where:  claims.ResultTypePlace,
			})
		}
	}
}

// strangeResults leaves out what cannot be judged: an extension that the harness does not
// know may have types of its own.
func strangeResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	declared := facts.Extensions(conversation.ServerCapabilities)
	for _, message := range facts.StandaloneResults(conversation) {
		kind, isText := message.ResultObject()["resultType"].(string)
		judgeable := conversation.ServerCapabilities != nil && !slices.ContainsFunc(declared, facts.UnknownExtension)
		if !isText || !facts.IsCoreType(kind) && !judgeable {
			continue
		}
		reporter.Observe()
		if !facts.IsCoreType(kind) &&
			!slices.ContainsFunc(declared, func(name string) bool { return slices.Contains(facts.ResultTypes[name], kind) }) {
			reporter.Violation(message, rules.Mismatch{
				Wanted: fmt.Sprintf("%q, %q, or a type of an extension that the server declares", facts.Complete, facts.InputRequired),
				Found:  rules.Show(kind),
				Where:  claims.ResultTypePlace,
			})
		}
	}
}

// unsignedResults leaves server/discover to the page about it.
func unsignedResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range facts.StandaloneResults(conversation) {
		if message.Request.Method == "server/discover" {
			continue
		}
		reporter.Observe()
		meta := message.Meta()
		if _, there := meta[mcp.MetaServerInfo]; !there {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "the server's name and version at " + mcp.MetaServerInfo,
				Found:  rules.ShowMember(meta, mcp.MetaServerInfo), Where: "/result/_meta",
			})
		}
	}
}
