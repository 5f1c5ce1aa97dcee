package versioning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/formats"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
)

// Rules are the rules of the page basic/versioning.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "returns data.supported and data.requested in the error -32022",
			Verifies: rules.Verifies("versioning.unsupported.listed"),
			Judge:    unlistedVersions,
		},
		{
			Text:     "declares extensions by identifiers in the format of _meta keys, with a prefix",
			Verifies: rules.Verifies("versioning.extensions.identifiers"),
			Judge:    extensionNames,
		},
		{
			Text:     "uses no extension that the peer does not declare",
			Verifies: rules.Verifies("versioning.extensions.fallback"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				extendedResults(conversation, reporter)
				extendedRequests(conversation, reporter)
			},
		},
	}
}

func unlistedVersions(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range facts.StandaloneErrors(conversation) {
		refusal, _ := message.Error()
		if refusal.Code != jsonrpc.UnsupportedRevision {
			continue
		}
		reporter.Observe()
		data := mcp.Object(refusal.Data)
		if !isListOfNames(data["supported"]) {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "a list of revisions",
				Found:  rules.ShowMember(data, "supported"),
				Where:  "/error/data/supported",
			})
		}
		if _, isText := data["requested"].(string); !isText {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "the requested revision",
				Found:  rules.ShowMember(data, "requested"),
				Where:  "/error/data/requested",
			})
		}
	}
}

func isListOfNames(value any) bool {
	list := mcp.List(value)
	return len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool {
		name, isText := one.(string)
		return !isText || name == ""
	})
}

func extensionNames(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, capabilities := range facts.Declarations(conversation) {
		for _, name := range facts.Extensions(capabilities.Object()) {
			reporter.Observe()
			if !isExtension(name) {
				reporter.Violation(capabilities.Said, rules.Mismatch{
					Wanted: "a name with a prefix, such as com.example/extension", Found: rules.Show(name),
					Where: capabilities.Pointer + "/extensions" + jsonrpc.Pointer(name),
				})
			}
		}
	}
}

func isExtension(name string) bool {
	return formats.HasPrefix(name) && formats.PrefixIsSeries(name) && formats.LabelsAreValid(name) &&
		formats.NameIsEnclosed(name) &&
		formats.NameIsPlain(name)
}

// extendedResults looks at the results of a server with extensions for clients that
// lack some of them: their types are those of the core, or of an extension that
// both have.
func extendedResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	offered := facts.Extensions(conversation.ServerCapabilities)
	for _, message := range facts.StandaloneResults(conversation) {
		shared := facts.Extensions(conversation.ClientDeclared(message))
		kind, isText := message.ResultObject()["resultType"].(string)
		lacking := slices.ContainsFunc(offered, func(name string) bool { return !slices.Contains(shared, name) })
		if !isText || !lacking {
			continue
		}
		reporter.Observe()
		mayMean := func(name string) bool {
			return facts.UnknownExtension(name) || slices.Contains(facts.ResultTypes[name], kind)
		}
		if !facts.IsCoreType(kind) && slices.ContainsFunc(offered, mayMean) && !slices.ContainsFunc(shared, mayMean) {
			reporter.Violation(message, rules.Mismatch{
				Wanted: fmt.Sprintf("%q or %q: the request declares no extension that has another type", facts.Complete, facts.InputRequired),
				Found:  rules.Show(kind),
				Where:  claims.ResultTypePlace,
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
	for _, message := range conversation.ByTarget() {
		if _, stateless := facts.RevisionOf(message); !stateless {
			continue
		}
		reporter.Observe()
		if strings.HasPrefix(message.Method, "tasks/") && !tasks.DeclaresExtension(declared) {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "nothing of " + tasks.Extension + ", which the server does not declare",
				Found:  message.Method,
				Where:  "/method",
			})
		}
	}
}
