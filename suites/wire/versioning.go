package wire

import (
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// VersioningRules are the rules of the page basic/versioning.
func VersioningRules() []conform.Rule {
	return []conform.Rule{
		{
			Text:         "lists the revisions that it supports when it refuses one",
			Requirements: []string{"versioning.unsupported.listed"},
			Judge:        unlistedVersions,
		},
		{
			Text:         "names the extensions that it declares like keys of _meta, with a prefix",
			Requirements: []string{"versioning.extensions.identifiers"},
			Judge:        extensionNames,
		},
		{
			Text:         "keeps to the core protocol with clients that do not declare its extensions",
			Requirements: []string{"versioning.extensions.fallback"},
			Judge:        extendedResults,
		},
	}
}

func unlistedVersions(conversation *conform.Conversation, sight *conform.Sight) {
	for _, said := range standaloneErrors(conversation) {
		refusal, _ := said.Error()
		if refusal.Code != jsonrpc.UnsupportedRevision {
			continue
		}
		sight.Saw()
		data, _ := refusal.Data.(map[string]any)
		if !isListOfNames(data["supported"]) {
			sight.Break(said, conform.Mismatch{
				Wanted: "a list of revisions", Found: shown(data, "supported"), Where: "/error/data/supported",
			})
		}
		if _, isText := data["requested"].(string); !isText {
			sight.Break(said, conform.Mismatch{
				Wanted: "the revision that was asked for", Found: shown(data, "requested"), Where: "/error/data/requested",
			})
		}
	}
}

func isListOfNames(value any) bool {
	list, _ := value.([]any)
	return len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool {
		name, isText := one.(string)
		return !isText || name == ""
	})
}

func extensionNames(conversation *conform.Conversation, sight *conform.Sight) {
	for _, said := range conversation.Results("server/discover") {
		capabilities, _ := resultOf(said).member("capabilities")
		for _, name := range extensions(capabilities.object()) {
			sight.Saw()
			if !isExtension(name) {
				sight.Break(said, conform.Mismatch{
					Wanted: "a name with a prefix, such as com.example/extension", Found: conform.Show(name),
					Where: capabilities.pointer + "/extensions/" + escape(name),
				})
			}
		}
	}
}

func isExtension(name string) bool {
	return hasPrefix(name) && prefixIsSeries(name) && labelsAreValid(name) && nameIsEnclosed(name) && nameIsPlain(name)
}

// extendedResults looks at the results of a server with extensions for clients that
// lack some of them: their types are those of the core, or of an extension that
// both have.
func extendedResults(conversation *conform.Conversation, sight *conform.Sight) {
	offered := extensions(conversation.ServerCapabilities)
	for _, said := range standaloneResults(conversation) {
		shared := extensions(conversation.ClientDeclared(said))
		kind, isText := said.ResultObject()["resultType"].(string)
		lacking := slices.ContainsFunc(offered, func(name string) bool { return !slices.Contains(shared, name) })
		if !isText || !lacking {
			continue
		}
		sight.Saw()
		mayMean := func(name string) bool { return unknownExtension(name) || slices.Contains(resultTypes[name], kind) }
		if !isCoreType(kind) && slices.ContainsFunc(offered, mayMean) && !slices.ContainsFunc(shared, mayMean) {
			sight.Break(said, conform.Mismatch{
				Wanted: fmt.Sprintf("%q or %q: the request declares no extension that has another type", complete, inputRequired),
				Found:  conform.Show(kind), Where: resultTypePlace,
			})
		}
	}
}
