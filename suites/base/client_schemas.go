package base

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/server/tools/results"
)

// Tools whose results conform to schemas that only the dialect 2020-12 reads so.
const (
	undated = "pair_of_no_dialect"
	dated   = "pair_of_2020_12"
)

// Tools whose results break schemas that a reader of older drafts takes to allow them.
const (
	besideRef = "member_missing_beside_ref"
	tooFew    = "too_few_contained"
)

// schemaDialects is a server whose tools promise results in several dialects.
var schemaDialects = &Scenario{
	Name:  "schema-dialects",
	Says:  "Tools have outputSchemas with keywords of 2020-12, with its $schema and with none, and results that match or break them.",
	Since: "2025-11-25",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(results.Right, nil),
		ToCall(results.Wrong, nil),
		ToCall(undated, nil),
		ToCall(dated, nil),
		ToCall(besideRef, nil),
		ToCall(tooFew, nil),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		results.Add(server)
		pair := Object{"pair": []any{1, "one"}}
		results.AddTool(server, undated, promiseOfPair(), pair)
		results.AddTool(server, dated, named("https://json-schema.org/draft/2020-12/schema", promiseOfPair()), pair)
		results.AddTool(server, besideRef, Object{
			"type": "object", "$defs": Object{"named": Object{"required": []any{"name"}}},
			"$ref": "#/$defs/named", "dependentRequired": Object{"name": []any{"born"}},
		}, Object{"name": "Ada"})
		results.AddTool(server, tooFew, Object{"type": "object", "properties": Object{"numbers": Object{
			"type": "array", "contains": Object{"type": "number"}, "minContains": 2,
		}}}, Object{"numbers": []any{1, "two"}})
	},
}

// promiseOfPair is a schema that a reader of older drafts takes to allow no pair.
func promiseOfPair() Object {
	return Object{
		"type": "object", "required": []any{"pair"}, "properties": Object{"pair": Object{
			"type": "array", "prefixItems": []any{Object{"type": "number"}, Object{"type": "string"}}, "items": false,
		}},
	}
}

// named is a schema that names its dialect.
func named(dialect string, schema Object) Object {
	schema["$schema"] = dialect
	return schema
}

const (
	noDialect = "https://example.com/mcpconform/no-such-dialect"
	undatable = "pair_of_unknown_dialect"
)

// unknownDialect is a server with a tool whose outputSchema is in a dialect that does not
// exist.
var unknownDialect = &Scenario{
	Name: "unknown-dialect", Says: "A tool has an outputSchema with an unknown dialect in $schema.",
	Since: "2025-11-25",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(results.Right, nil), ToCall(results.Wrong, nil), ToCall(undatable, nil), ToClose()},
	Server: func(server *scripted.Server) {
		results.Add(server)
		results.AddTool(server, undatable, named(noDialect, promiseOfPair()), Object{"pair": []any{1, "one"}})
	},
}

const referring = "refer_elsewhere"

// networkReferences is a server whose schemas refer to the network.
var networkReferences = &Scenario{
	Name: "network-references", Says: "The schemas of a tool have a $ref to a URL, which must not be fetched.",
	Since: "2026-07-28", Official: "json-schema-ref-no-deref",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(results.Right, nil),
		ToCall(results.Wrong, nil),
		ToCall(referring, Object{"name": "Ada"}),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		results.Add(server)
		decoy := server.Decoy()
		results.AddTool(server, referring, Object{"type": "object", "$ref": decoy + "/output.json"}, Object{"name": "Ada"})
		server.Tools[len(server.Tools)-1].Definition["inputSchema"] = Object{
			"type": "object", "properties": Object{"name": Object{"$ref": decoy + "/input.json"}},
		}
	},
}

// readingSchemas registers the checks of what a target client makes of schemas.
func readingSchemas() {
	It("treats a schema without $schema as JSON Schema 2020-12", Verifies("base.dialects.default-by-clients"), In(schemaDialects), func(t *T) {
		client := RunScenario(t)

		judgePair(t, client, undated)
	})

	It("validates by keywords of JSON Schema 2020-12 where a schema has no $schema",
		Verifies("base.dialects.default-by-clients"), In(schemaDialects), func(t *T) {
			client := RunScenario(t)

			judgeBroken(t, client, besideRef, "dependentRequired beside $ref")
			judgeBroken(t, client, tooFew, "minContains")
		})

	It("validates by the JSON Schema dialect that $schema names", Verifies("base.dialects.validated-by-clients"), In(schemaDialects), func(t *T) {
		client := RunScenario(t)

		judgePair(t, client, dated)
	})

	It("rejects a schema whose $schema is a dialect that it does not support",
		Verifies("base.dialects.refused-by-clients"), In(unknownDialect), func(t *T) {
			client := RunScenario(t)

			client.NeedRequests("tools/list")
			if t.Observed(isLeftOut(client, undatable) || client.FailureOf("list-tools") != "") {
				return // it does without the tool, or without all of them
			}
			call := client.NeedCalls(undatable)[0]
			demandValidating(t, client)
			if outcome := client.NeedOutcome(client.CallOf(undatable)); !t.Observed(results.Refused(outcome)) {
				client.NeedResult(client.CallOf(undatable))
				client.Fail(AnswerTo(call), Mismatch{
					Wanted: "an error for the unknown dialect " + noDialect + " of the tool's outputSchema",
					Found:  "the client reports the call as done: " + ShowOutcome(outcome),
				})
			}
		})

	resolvingReferences()
}

func resolvingReferences() {
	It("fetches no $ref of a schema over the network", Verifies("base.references.not-fetched-by-clients"), In(networkReferences), func(t *T) {
		client := RunScenario(t)

		listed := AnswerTo(client.NeedRequests("tools/list")[0])
		for _, fetched := range client.Fetched() {
			client.FailEvent(fetched, Mismatch{Wanted: "no request for the URL of a $ref", Found: fetched.Note})
		}
		client.Refrained(listed, "list-tools")
	})

	It("rejects a tool, or its results, whose schema has a $ref that it cannot resolve",
		Verifies("base.references.unresolved-by-clients", "tools.schemas.references"), In(networkReferences), func(t *T) {
			client := RunScenario(t)

			calls := client.Calls(referring)
			if len(calls) == 0 && t.Observed(isLeftOut(client, referring)) {
				return
			}
			client.NeedCalls(referring)
			demandValidating(t, client)
			if outcome := client.NeedOutcome(client.CallOf(referring)); !t.Observed(results.Refused(outcome)) {
				client.NeedResult(client.CallOf(referring))
				client.Fail(calls[0], Mismatch{
					Wanted: "that the client rejects a result whose schema it cannot resolve",
					Found:  "the client reports the call as done: " + ShowOutcome(outcome),
				})
			}
		})
}

// judgePair wants that the client took the pair of a tool if it validates.
func judgePair(t *T, client *Client, tool string) {
	calls := client.NeedCalls(tool)
	demandValidating(t, client)
	if outcome := client.NeedOutcome(client.CallOf(tool)); !t.Observed(!results.Refused(outcome)) {
		client.Fail(calls[0], Mismatch{
			Wanted: `that the client accepts {"pair":[1,"one"]}, which conforms to JSON Schema 2020-12`,
			Found:  "a refusal: " + outcome.Error, Where: "/result/structuredContent",
		})
	}
}

// judgeBroken wants that the client refused the result of a tool if it validates.
func judgeBroken(t *T, client *Client, tool, keyword string) {
	calls := client.NeedCalls(tool)
	demandValidating(t, client)
	if outcome := client.NeedOutcome(client.CallOf(tool)); !t.Observed(results.Refused(outcome)) {
		client.NeedResult(client.CallOf(tool))
		client.Fail(AnswerTo(calls[0]), Mismatch{
			Wanted: "a rejection of the result, which breaks " + keyword + " of the tool's outputSchema",
			Found:  "the client reports the call as done: " + ShowOutcome(outcome), Where: "/result/structuredContent",
		})
	}
}

// demandValidating wants a client that refuses results that break a plain schema, and
// no others.
func demandValidating(t *T, client *Client) {
	if results.Refused(client.NeedOutcome(client.CallOf(results.Right))) {
		client.Inconclusive("the client accepts no structuredContent at all", "tools/call")
	}
	if !results.Refused(client.NeedOutcome(client.CallOf(results.Wrong))) {
		t.NotApplicable("the client does not validate results by schemas")
	}
}

// isLeftOut tells whether the client tells that it listed tools without one.
func isLeftOut(client *Client, name string) bool {
	outcome, isTold := client.Outcome("list-tools")
	items, isList := outcome.Result.([]any)
	return isTold && isList && len(items) > 0 && !slices.ContainsFunc(items, func(item any) bool { return mcp.Value(item, "name") == name })
}
