package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/mirrors"
)

// headerRules are the rules about the annotations x-mcp-header of the tools that are
// listed, which two pages state.
func headerRules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "sets no empty x-mcp-header",
			Verifies: rules.Verifies("tools.header.named", "transports.http.params.named"),
			Judge: judgeAnnotations(func(one mirrors.Annotation) string {
				if one.Value == "" {
					return "an empty name"
				}
				return ""
			}, "a name for the header"),
		},
		{
			Text:     "sets x-mcp-header to a token that is valid as a header name",
			Verifies: rules.Verifies("tools.header.token", "transports.http.params.token"),
			Judge: judgeAnnotations(func(one mirrors.Annotation) string {
				text, isText := one.Value.(string)
				if !isText || text != "" && !hasControl(text) && !mirrors.IsToken(text) {
					return rules.Show(one.Value)
				}
				return ""
			}, "an HTTP token: letters, digits and some signs, without spaces"),
		},
		{
			Text:     "sets x-mcp-header without control characters",
			Verifies: rules.Verifies("tools.header.printable", "transports.http.params.control"),
			Judge: judgeAnnotations(func(one mirrors.Annotation) string {
				if hasControl(one.Text()) {
					return rules.Show(one.Value)
				}
				return ""
			}, "a name without control characters"),
		},
		{
			Text:     "sets a different x-mcp-header on each parameter of a tool, whatever its case",
			Verifies: rules.Verifies("tools.header.unique", "transports.http.params.unique"),
			Judge:    sharedHeaders,
		},
	}, headerValueRules())
}

func headerValueRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sets x-mcp-header only on integer, string and boolean parameters",
			Verifies: rules.Verifies("tools.header.primitive", "transports.http.params.primitive"),
			Judge: judgeAnnotations(func(one mirrors.Annotation) string {
				if mirrors.MayBeHeader(one.Schema["type"]) {
					return ""
				}
				return "a parameter of the type " + rules.Show(one.Schema["type"])
			}, "a parameter of the type integer, string or boolean"),
		},
		{
			Text:     "sets x-mcp-header only on parameters reached through properties alone",
			Verifies: rules.Verifies("tools.header.reachable", "transports.http.params.reachable"),
			Judge: judgeAnnotations(func(one mirrors.Annotation) string {
				if one.Reachable() || one.Barred() != "" {
					return "" // what is barred has a rule of its own
				}
				return "one that is reached in another way"
			}, "the annotation of a parameter that is reached from the root only by properties"),
		},
		{
			Text:     "sets no x-mcp-header inside an array, composition, condition or reference of inputSchema",
			Verifies: rules.Verifies("transports.http.params.chain", "tools.header.reachable"),
			Judge: judgeAnnotations(func(one mirrors.Annotation) string {
				if keyword := one.Barred(); keyword != "" {
					return "one that is reached through " + keyword
				}
				return ""
			}, "the annotation of a parameter that is reached from the root only by properties"),
		},
	}
}

// judgeAnnotations makes the judge of a rule about single annotations: what is wrong with
// one, "" when nothing is.
func judgeAnnotations(wrong func(mirrors.Annotation) string, wanted string) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, tool := range mirrors.AnnotatedTools(conversation) {
			for _, one := range tool.Annotations {
				reporter.Observe()
				if found := wrong(one); found != "" {
					reporter.Violation(tool.Said, rules.Mismatch{Wanted: wanted, Found: found, Where: one.Pointer})
				}
			}
		}
	}
}

func sharedHeaders(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, tool := range mirrors.AnnotatedTools(conversation) {
		known := map[string]mirrors.Annotation{}
		for _, one := range tool.Annotations {
			if len(known) > 0 { // one alone is always unique
				reporter.Observe()
			}
			name := strings.ToLower(one.Text())
			first, taken := known[name]
			if taken && name != "" {
				reporter.Violation(tool.Said, rules.Mismatch{
					Wanted: "a name that no other parameter of the tool has, in whatever case",
					Found:  fmt.Sprintf("%s, as at %s", rules.Show(one.Value), first.Pointer),
					Where:  one.Pointer,
				})
			}
			known[name] = one
		}
	}
}

func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(char rune) bool { return char < 0x20 || char == 0x7F })
}
