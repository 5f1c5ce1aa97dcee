package streamablehttp

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/mirrors"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// mirrorRules are about the headers in which a client of the stateless era repeats
// what the body says (2026-07-28, basic/transports/streamable-http#request-metadata).
func mirrorRules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "sends MCP-Protocol-Version with every POST",
			Verifies: rules.Verifies("transports.http.version.each"),
			Judge: everyStatelessPost(func(one *exchanges.Exchange) (wanted string) {
				if len(one.Request.HTTP.Header.Values(transport.VersionHeader)) == 0 {
					return "the protocol version in every POST"
				}
				return ""
			}),
		},
		{
			Text:     "sends the same protocol version in MCP-Protocol-Version and in _meta",
			Verifies: rules.Verifies("transports.http.version.same"),
			Judge: everyStatelessPost(func(one *exchanges.Exchange) (wanted string) {
				revision, named := facts.RevisionOf(one.Sent)
				given := one.Request.HTTP.Header.Values(transport.VersionHeader)
				if named && len(given) > 0 && !isOnly(given, revision) {
					return revision + ", as in the body"
				}
				return ""
			}),
		},
		{
			Text:     "sends Mcp-Method with each request, and Mcp-Name where the request names a tool, prompt or resource",
			Verifies: rules.Verifies("transports.http.headers.sent"),
			Judge:    mirrors.Every(mirrors.Standard, mirrors.Missing, mirrors.Other),
		},
		{
			Text:     "sends arguments in the Mcp-Param-{Name} headers that x-mcp-header designates",
			Verifies: rules.Verifies("transports.http.params.sent"),
			Judge:    mirrors.Every(mirrors.Parameter, mirrors.Missing, mirrors.Other),
		},
	}, mirrorValueRules())
}

func mirrorValueRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends no Mcp-Param-{Name} header for an argument that is null or absent",
			Verifies: rules.Verifies("transports.http.params.omitted"),
			Judge:    rules.OfClient(needlessHeaders),
		},
		{
			Text:     "sends only integers from -(2^53-1) to 2^53-1 in Mcp-Param-{Name} headers",
			Verifies: rules.Verifies("transports.http.params.safe-integers", "tools.header.safe-integer"),
			Judge:    rules.OfClient(unsafeIntegers),
		},
		{
			Text:     "encodes values that are not valid as a plain header value with =?base64?…?=",
			Verifies: rules.Verifies("transports.http.encoding.values"),
			Judge:    mirrors.Every(mirrors.Any, mirrors.Unencoded),
		},
		{
			Text:     "encodes header values that look like =?base64?…?= themselves",
			Verifies: rules.Verifies("transports.http.encoding.ambiguous"),
			Judge:    mirrors.Every(mirrors.Any, mirrors.Ambiguous),
		},
		{
			Text:     "writes =?base64?…?= around encoded header values in lower case",
			Verifies: rules.Verifies("transports.http.encoding.markers-by-clients"),
			Judge:    mirrors.Every(mirrors.Any, mirrors.Marked),
		},
	}
}

// everyStatelessPost judges the POSTs of the stateless era that carry a request or a
// notification.
func everyStatelessPost(wrong func(*exchanges.Exchange) (wanted string)) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range mirrors.StatelessPosts(conversation) {
			reporter.Observe()
			if wanted := wrong(one); wanted != "" {
				reporter.ViolationAt(one.Request, rules.Mismatch{
					Wanted: wanted,
					Found:  exchanges.HeaderShown(one.Request.HTTP.Header.Values(transport.VersionHeader)) + " in " + one.Name(),
					Where:  "header " + transport.VersionHeader,
				})
			}
		}
	})
}

func unsafeIntegers(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range mirrors.Of(conversation) {
		if _, isNumber := one.Value.(json.Number); !isNumber || len(one.Given()) == 0 {
			continue
		}
		reporter.Observe()
		if one.Unsafe() {
			reporter.ViolationAt(one.In.Request, rules.Mismatch{
				Wanted: fmt.Sprintf("an integer from -%s to %s", mirrors.LargestSafe, mirrors.LargestSafe),
				Found:  rules.Show(one.Value) + " in " + one.In.Name(), Where: "header " + one.Header,
			})
		}
	}
}

func needlessHeaders(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range mirrors.Of(conversation) {
		if one.Kind != mirrors.Parameter || one.Value != nil {
			continue
		}
		reporter.Observe()
		if given := one.Given(); len(given) > 0 {
			reporter.ViolationAt(one.In.Request, rules.Mismatch{
				Wanted: "no header for an argument that is null or not given",
				Found:  exchanges.HeaderShown(given) + " in " + one.In.Name(),
				Where:  "header " + one.Header,
			})
		}
	}
}
