package base

import (
	"errors"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/schema"
)

// schemaRules are about what is in messages: the schema of the revision, and
// the schemas that a target sends.
func schemaRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends requests that are valid against the schema",
			Verifies: rules.Verifies("base.schema.requests"),
			Judge:    validCalls(schema.Request),
		},
		{
			Text:     "sends notifications that are valid against the schema",
			Verifies: rules.Verifies("base.schema.notifications"),
			Judge:    validCalls(schema.Notification),
		},
		{Text: "sends results that are valid against the schema", Verifies: rules.Verifies("base.schema.results"), Judge: validResults},
		{Text: "sends errors that are valid against the schema", Verifies: rules.Verifies("base.schema.errors"), Judge: validErrors},
		{
			Text:     "sends schemas valid in their dialect in elicitation/create and sampling/createMessage",
			Verifies: rules.Verifies("base.dialects.valid"),
			Judge:    validAskedSchemas,
		},
		{
			Text:     "sends schemas whose $schema is JSON Schema 2020-12 or omitted",
			Verifies: rules.Verifies("base.dialects.recommended"),
			Judge:    otherDialects,
		},
	}
}

// validCalls judges method and params. The envelope has rules of its own, so
// it is taken to be right here; what is a response as well is none.
func validCalls(kind schema.Kind) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		judging := facts.Schemas(conversation)
		for _, message := range conversation.ByTarget() {
			known := judging[message.Index]
			if !rules.IsCall(message) || hasOutcome(message) || known == nil || message.Method == "" ||
				(message.Kind == jsonrpc.Request) != (kind == schema.Request) {
				continue
			}
			if method, standard := known.Method(message.Method); standard && method.Kind != kind {
				continue
			}
			reporter.Observe()
			if kind == schema.Request {
				violations := known.ValidateRequest(message.Method, claims.Mended(message.Object, true))
				if !facts.HasHandshake(known) {
					violations = slices.DeleteFunc(violations, ofFields)
				}
				report(reporter, message, "", violations)
			} else {
				report(reporter, message, "", known.ValidateNotification(message.Method, claims.Mended(message.Object, false)))
			}
		}
	}
}

// report tells what a schema says, except where the page about the method has
// a rule of its own.
func report(reporter *rules.Reporter, message *rules.Message, prefix string, violations []schema.Violation) {
	for _, violation := range violations {
		method, place := claims.MethodOf(message), claims.MemberPlace(prefix, violation)
		if claims.Claimed(method, prefix+violation.Pointer) || claims.MemberClaimed(method, place) ||
			claims.IsOfInput(message, place, violation) {
			continue
		}
		breakBy(reporter, message, prefix, violation)
	}
}

func breakBy(reporter *rules.Reporter, message *rules.Message, prefix string, violation schema.Violation) {
	wanted := violation.Expected
	if violation.Definition != "" {
		wanted += " (" + violation.Definition + ")"
	}
	reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: violation.Found, Where: prefix + violation.Pointer})
}

func validResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := facts.Schemas(conversation)
	creating := taskMethods(conversation)
	for _, message := range conversation.ByTarget() {
		known := judging[message.Index]
		result, there := message.Result()
		if !rules.IsResponse(message) || rules.IsRefusal(message) || !there || message.Request == nil || known == nil {
			continue
		}
		reporter.Observe()
		method := message.Request.Method
		standard, _ := known.Method(method)
		switch payloadOf := creating[tasks.ID(message.Request.ParamsObject())]; {
		case standard.TaskResult != "" && tasks.AskedFor(message.Request) && tasks.IsCreated(result):
			report(reporter, message, "/result", known.Validate(standard.TaskResult, result))
		case method == "tasks/result" && payloadOf != "":
			report(reporter, message, "/result", known.ValidateResult(payloadOf, result))
		default:
			report(reporter, message, "/result", known.ValidateResult(method, result))
		}
	}
}

// taskMethods returns, by task, the method of the request that the target made
// a task of.
func taskMethods(conversation *rules.Conversation) map[string]string {
	methods := map[string]string{}
	for _, message := range conversation.ByTarget() {
		if !rules.IsResponse(message) || message.Request == nil || !tasks.AskedFor(message.Request) {
			continue
		}
		if id := tasks.ID(mcp.Object(message.ResultObject(), "task")); id != "" {
			methods[id] = message.Request.Method
		}
	}
	return methods
}

// validErrors leaves what every error must have to the rules about it.
func validErrors(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := facts.Schemas(conversation)
	for _, message := range conversation.ByTarget() {
		known := judging[message.Index]
		if _, hasResult := message.Result(); known == nil || hasResult || !rules.IsRefusal(message) ||
			!rules.IsWholeError(message) {
			continue
		}
		reporter.Observe()
		violations := known.ValidateError(claims.Mended(message.Object, true))
		report(reporter, message, "", slices.DeleteFunc(violations, func(one schema.Violation) bool {
			return hasOwnData(message) && strings.HasPrefix(claims.MemberPlace("", one), "/error/data")
		}))
	}
}

// askedSchemas returns the schemas in what the target asks of its peer. The
// schemas of its own tools have rules on the page about tools.
func askedSchemas(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, ask := range conversation.Asks("sampling/createMessage") {
		for _, tool := range places.OfAsk(ask).Items("tools") {
			all = append(all, places.Found{Place: tool, Said: ask.Message})
		}
	}
	schemas := slices.Concat(places.Within(all, "inputSchema"), places.Within(all, "outputSchema"))
	for _, ask := range conversation.Asks("elicitation/create") {
		if asked, there := places.OfAsk(ask).Member("requestedSchema"); there {
			schemas = append(schemas, places.Found{Place: asked, Said: ask.Message})
		}
	}
	return schemas
}

// toolSchemas returns the schemas of the tools that the target lists.
func toolSchemas(conversation *rules.Conversation) []places.Found {
	tools := places.Listed(conversation, "tools/list")
	return slices.Concat(places.Within(tools, "inputSchema"), places.Within(tools, "outputSchema"))
}

// validAskedSchemas judges what it can: unknown dialects and what a bound
// stops are no proof against the target.
func validAskedSchemas(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range askedSchemas(conversation) {
		_, err := facts.Compile(conversation.Revision, one.Value)
		invalid, isInvalid := errors.AsType[*schema.InvalidError](err)
		switch {
		case isInvalid:
			reporter.Observe()
			for _, violation := range invalid.Violations {
				breakBy(reporter, one.Said, one.Pointer, violation)
			}
		case err == nil:
			reporter.Observe()
		}
	}
}

// dialect2020 is the $schema of JSON Schema 2020-12.
const dialect2020 = "https://json-schema.org/draft/2020-12/schema"

func otherDialects(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range slices.Concat(toolSchemas(conversation), askedSchemas(conversation)) {
		reporter.Observe()
		named, names := one.Member("$schema")
		if names && strings.TrimSuffix(named.Text(), "#") != dialect2020 {
			reporter.Violation(one.Said, rules.Mismatch{
				Wanted: dialect2020 + ", or no $schema", Found: rules.Show(named.Value), Where: named.Pointer,
			})
		}
	}
}
