package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// resultRules are about what every result of the stateless era has.
func resultRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends resultType in each result",
			Requirements: []string{"base.result-type.given"},
			Judge:        untypedResults,
		},
		{
			Text:         "sends only a resultType of the core protocol or of an extension that it declares",
			Requirements: []string{"base.result-type.known"},
			Judge:        strangeResults,
		},
		{
			Text:         "sends serverInfo in the _meta of each result",
			Requirements: []string{"base.fields.server-info"},
			Judge:        unsignedResults,
		},
	}
}

func untypedResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range standaloneResults(conversation) {
		reporter.Observe()
		if _, isText := said.ResultObject()["resultType"].(string); !isText {
			reporter.Violation(said, rules.Mismatch{
				Wanted: `a member "resultType" that is a string`, Found: shown(said.ResultObject(), "resultType"), Where: resultTypePlace,
			})
		}
	}
}

// resultTypePlace is where a result tells its type.
const resultTypePlace = "/result/resultType"

// strangeResults leaves out what cannot be judged: an extension that nobody here
// knows may have types of its own.
func strangeResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	declared := extensions(conversation.ServerCapabilities)
	for _, said := range standaloneResults(conversation) {
		kind, isText := said.ResultObject()["resultType"].(string)
		judgeable := conversation.ServerCapabilities != nil && !slices.ContainsFunc(declared, unknownExtension)
		if !isText || !isCoreType(kind) && !judgeable {
			continue
		}
		reporter.Observe()
		if !isCoreType(kind) && !slices.ContainsFunc(declared, func(name string) bool { return slices.Contains(resultTypes[name], kind) }) {
			reporter.Violation(said, rules.Mismatch{
				Wanted: fmt.Sprintf("%q, %q, or a type of an extension that the server declares", complete, inputRequired),
				Found:  rules.Show(kind), Where: resultTypePlace,
			})
		}
	}
}

func isCoreType(kind string) bool { return kind == complete || kind == inputRequired }

// resultTypes are the types of results that known extensions add to those of the
// core protocol.
var resultTypes = map[string][]string{
	"io.modelcontextprotocol/tasks": {"task"},
	"io.modelcontextprotocol/ui":    nil,
}

func unknownExtension(name string) bool {
	_, known := resultTypes[name]
	return !known
}

// extensions returns the identifiers of the extensions that somebody declares.
func extensions(capabilities rules.Object) []string {
	declared, _ := capabilities["extensions"].(map[string]any)
	return slices.Sorted(maps.Keys(declared))
}

// unsignedResults leaves server/discover to the page about it.
func unsignedResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range standaloneResults(conversation) {
		if said.Request.Method == "server/discover" {
			continue
		}
		reporter.Observe()
		meta := said.Meta()
		if _, there := meta[mcp.MetaServerInfo]; !there {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "the server's name and version at " + mcp.MetaServerInfo,
				Found:  shown(meta, mcp.MetaServerInfo), Where: "/result/_meta",
			})
		}
	}
}
