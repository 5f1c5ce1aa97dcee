package roots

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/schema"
)

// Rules are the rules of the page client/roots.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "declares roots if it returns roots in answer to roots/list",
			Verifies: rules.Verifies("roots.capability.declared"),
			Judge: facts.Unannounced(rootsMethod, "roots", func(one facts.Answer) bool {
				return len(one.Items("roots")) > 0 // an empty list shows none
			}),
		},
		{
			Text:     "returns roots whose uri begins with file://",
			Verifies: rules.Verifies("roots.uri.file"),
			Judge: everyRoot(func(uri places.Place, _ []any) rules.Mismatch {
				if schema.IsURI(uri.Text()) && strings.HasPrefix(strings.ToLower(uri.Text()), "file://") {
					return rules.Mismatch{}
				}
				return rules.Mismatch{Wanted: "a URI (RFC 3986) that begins with file://", Found: rules.Show(uri.Value), Where: uri.Pointer}
			}),
		},
		{
			Text:     "returns no two roots with the same uri",
			Verifies: rules.Verifies("roots.uri.unique"),
			Judge: everyRoot(func(uri places.Place, earlier []any) rules.Mismatch {
				if !slices.Contains(earlier, any(uri.Text())) {
					return rules.Mismatch{}
				}
				return rules.Mismatch{Wanted: "a URI that no other root has", Found: rules.Show(uri.Value) + " again", Where: uri.Pointer}
			}),
		},
		{
			Text:     "uses -32601 whenever it rejects roots/list without declaring roots",
			Verifies: rules.Verifies("roots.error.unsupported"),
			Judge:    rules.OfClient(rootsRefused),
		},
	}
}

const rootsMethod = "roots/list"

// everyRoot judges the URIs of roots that have one, beside those of the roots before
// in the list.
func everyRoot(wrong func(uri places.Place, earlier []any) rules.Mismatch) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, list := range facts.Answers(conversation, rootsMethod) {
			var earlier []any
			for _, root := range list.Items("roots") {
				uri, there := root.Member("uri")
				if !there {
					continue // the schema has it
				}
				reporter.Observe()
				if mismatch := wrong(uri, earlier); mismatch != (rules.Mismatch{}) {
					reporter.Violation(list.Said, mismatch)
				}
				earlier = append(earlier, uri.Value)
			}
		}
	})
}

func rootsRefused(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByTarget() {
		refusal, _ := message.Error()
		if !rules.IsRefusal(message) || !rules.IsWholeError(message) || message.Request == nil ||
			message.Request.Method != rootsMethod ||
			conversation.ClientCapabilities == nil ||
			mcp.Declares(conversation.ClientCapabilities, "roots") {
			continue
		}
		reporter.Observe()
		if refusal.Code != jsonrpc.MethodNotFound {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "-32601 (Method not found)",
				Found:  strconv.FormatInt(refusal.Code, 10),
				Where:  "/error/code",
			})
		}
	}
}
