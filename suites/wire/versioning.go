package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// VersioningRules are the rules of the page basic/versioning.
func VersioningRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "returns data.supported and data.requested in the error -32022",
			Requirements: []string{"versioning.unsupported.listed"},
			Judge:        unlistedVersions,
		},
		{
			Text:         "declares extensions by identifiers in the format of _meta keys, with a prefix",
			Requirements: []string{"versioning.extensions.identifiers"},
			Judge:        extensionNames,
		},
		{
			Text:         "uses no extension that the peer does not declare",
			Requirements: []string{"versioning.extensions.fallback"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				extendedResults(conversation, reporter)
				extendedRequests(conversation, reporter)
			},
		},
	}
}

func unlistedVersions(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range standaloneErrors(conversation) {
		refusal, _ := said.Error()
		if refusal.Code != jsonrpc.UnsupportedRevision {
			continue
		}
		reporter.Observe()
		data, _ := refusal.Data.(map[string]any)
		if !isListOfNames(data["supported"]) {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "a list of revisions", Found: shown(data, "supported"), Where: "/error/data/supported",
			})
		}
		if _, isText := data["requested"].(string); !isText {
			reporter.Violation(said, rules.Mismatch{
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

func extensionNames(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, capabilities := range declarations(conversation) {
		for _, name := range extensions(capabilities.object()) {
			reporter.Observe()
			if !isExtension(name) {
				reporter.Violation(capabilities.said, rules.Mismatch{
					Wanted: "a name with a prefix, such as com.example/extension", Found: rules.Show(name),
					Where: capabilities.pointer + "/extensions/" + escape(name),
				})
			}
		}
	}
}

// declarations are the capabilities that the target of the stateless era declares: a
// server in answer to server/discover, a client with each request.
func declarations(conversation *rules.Conversation) []found {
	all := within(results(conversation, "server/discover"), "capabilities")
	for _, said := range conversation.ByTarget() {
		meta, _ := paramsOf(said).member("_meta")
		if declared, there := meta.object()[mcp.MetaCapabilities]; there && isRequest(said) {
			all = append(all, found{place{meta.pointer + "/" + escape(mcp.MetaCapabilities), declared}, said})
		}
	}
	return all
}

func isExtension(name string) bool {
	return hasPrefix(name) && prefixIsSeries(name) && labelsAreValid(name) && nameIsEnclosed(name) && nameIsPlain(name)
}

// extendedResults looks at the results of a server with extensions for clients that
// lack some of them: their types are those of the core, or of an extension that
// both have.
func extendedResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	offered := extensions(conversation.ServerCapabilities)
	for _, said := range standaloneResults(conversation) {
		shared := extensions(conversation.ClientDeclared(said))
		kind, isText := said.ResultObject()["resultType"].(string)
		lacking := slices.ContainsFunc(offered, func(name string) bool { return !slices.Contains(shared, name) })
		if !isText || !lacking {
			continue
		}
		reporter.Observe()
		mayMean := func(name string) bool { return unknownExtension(name) || slices.Contains(resultTypes[name], kind) }
		if !isCoreType(kind) && slices.ContainsFunc(offered, mayMean) && !slices.ContainsFunc(shared, mayMean) {
			reporter.Violation(said, rules.Mismatch{
				Wanted: fmt.Sprintf("%q or %q: the request declares no extension that has another type", complete, inputRequired),
				Found:  rules.Show(kind), Where: resultTypePlace,
			})
		}
	}
}

// extendedRequests looks at the requests of a client in the stateless era, once it
// has heard what the server declares: those about tasks belong to an extension.
func extendedRequests(conversation *rules.Conversation, reporter *rules.Reporter) {
	declared := conversation.ServerCapabilities
	if conversation.Role != protocol.ClientRole || !conversation.Has(protocol.Extensions) || declared == nil {
		return
	}
	for _, said := range conversation.ByTarget() {
		if _, stateless := revisionOf(said); !stateless {
			continue
		}
		reporter.Observe()
		if strings.HasPrefix(said.Method, "tasks/") && !declaresExtension(declared) {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "nothing of " + tasksExtension + ", which the server does not declare", Found: said.Method, Where: "/method",
			})
		}
	}
}
