package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/schema"
)

// schemaRules are about what is in messages: the schema of the revision, and
// the schemas that a target sends.
func schemaRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends requests that are valid against the schema",
			Requirements: []string{"base.schema.requests"},
			Judge:        validCalls(schema.Request),
		},
		{
			Text:         "sends notifications that are valid against the schema",
			Requirements: []string{"base.schema.notifications"},
			Judge:        validCalls(schema.Notification),
		},
		{
			Text:         "sends results that are valid against the schema",
			Requirements: []string{"base.schema.results"},
			Judge:        validResults,
		},
		{
			Text:         "sends errors that are valid against the schema",
			Requirements: []string{"base.schema.errors"},
			Judge:        validErrors,
		},
		{
			Text:         "sends schemas valid in their dialect in elicitation/create and sampling/createMessage",
			Requirements: []string{"base.dialects.valid"},
			Judge:        validAskedSchemas,
		},
		{
			Text:         "sends schemas whose $schema is JSON Schema 2020-12 or omitted",
			Requirements: []string{"base.dialects.recommended"},
			Judge:        otherDialects,
		},
	}
}

// validCalls judges method and params. The envelope has rules of its own, so
// it is taken to be right here; what is a response as well is none.
func validCalls(kind schema.Kind) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		judging := schemas(conversation)
		for _, said := range conversation.ByTarget() {
			known := judging[said.Index]
			if !isCall(said) || hasOutcome(said) || known == nil || said.Method == "" || (said.Kind == jsonrpc.Request) != (kind == schema.Request) {
				continue
			}
			if method, standard := known.Method(said.Method); standard && method.Kind != kind {
				continue
			}
			reporter.Observe()
			if kind == schema.Request {
				violations := known.ValidateRequest(said.Method, mended(said.Object, true))
				if !hasHandshake(known) {
					violations = slices.DeleteFunc(violations, ofFields)
				}
				report(reporter, said, "", violations)
			} else {
				report(reporter, said, "", known.ValidateNotification(said.Method, mended(said.Object, false)))
			}
		}
	}
}

// mended returns a message with the right version and, if it needs one, a
// right id.
func mended(message map[string]any, needsID bool) map[string]any {
	mended := maps.Clone(message)
	mended["jsonrpc"] = "2.0"
	delete(mended, "id")
	if needsID {
		mended["id"] = json.Number("0")
	}
	return mended
}

// report tells what a schema says, except where the page about the method has
// a rule of its own.
func report(reporter *rules.Reporter, said *rules.Message, prefix string, violations []schema.Violation) {
	for _, violation := range violations {
		method, place := methodOf(said), memberPlace(prefix, violation)
		if claimed(method, prefix+violation.Pointer) || memberClaimed(method, place) || ofInput(place, violation) {
			continue
		}
		breakBy(reporter, said, prefix, violation)
	}
}

func breakBy(reporter *rules.Reporter, said *rules.Message, prefix string, violation schema.Violation) {
	wanted := violation.Expected
	if violation.Definition != "" {
		wanted += " (" + violation.Definition + ")"
	}
	reporter.Violation(said, rules.Mismatch{Wanted: wanted, Found: violation.Found, Where: prefix + violation.Pointer})
}

func validResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := schemas(conversation)
	creating := taskMethods(conversation)
	for _, said := range conversation.ByTarget() {
		known := judging[said.Index]
		result, there := said.Result()
		if !isResponse(said) || isRefusal(said) || !there || said.Request == nil || known == nil {
			continue
		}
		reporter.Observe()
		method := said.Request.Method
		standard, _ := known.Method(method)
		switch payloadOf := creating[taskID(said.Request.ParamsObject())]; {
		case standard.TaskResult != "" && asksForTask(said.Request) && isCreatedTask(result):
			report(reporter, said, "/result", known.Validate(standard.TaskResult, result))
		case method == "creating/result" && payloadOf != "":
			report(reporter, said, "/result", known.ValidateResult(payloadOf, result))
		default:
			report(reporter, said, "/result", known.ValidateResult(method, result))
		}
	}
}

func asksForTask(request *rules.Message) bool {
	_, asked := request.ParamsObject()["task"].(map[string]any)
	return asked
}

func isCreatedTask(result any) bool {
	object, _ := result.(map[string]any)
	_, created := object["task"].(map[string]any)
	return created
}

func taskID(object map[string]any) string {
	id, _ := object["taskId"].(string)
	return id
}

// taskMethods returns, by task, the method of the request that the target made
// a task of.
func taskMethods(conversation *rules.Conversation) map[string]string {
	methods := map[string]string{}
	for _, said := range conversation.ByTarget() {
		if !isResponse(said) || said.Request == nil || !asksForTask(said.Request) {
			continue
		}
		task, _ := said.ResultObject()["task"].(map[string]any)
		if id := taskID(task); id != "" {
			methods[id] = said.Request.Method
		}
	}
	return methods
}

// validErrors leaves what every error must have to the rules about it.
func validErrors(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := schemas(conversation)
	for _, said := range conversation.ByTarget() {
		known := judging[said.Index]
		if _, hasResult := said.Result(); known == nil || hasResult || !isRefusal(said) || !isWhole(said) {
			continue
		}
		reporter.Observe()
		violations := known.ValidateError(mended(said.Object, true))
		report(reporter, said, "", slices.DeleteFunc(violations, func(one schema.Violation) bool {
			return hasOwnData(said) && strings.HasPrefix(memberPlace("", one), "/error/data")
		}))
	}
}

// askedSchemas returns the schemas in what the target asks of its peer. The
// schemas of its own tools have rules on the page about tools.
func askedSchemas(conversation *rules.Conversation) []found {
	var all []found
	for _, ask := range conversation.Asks("sampling/createMessage") {
		for _, tool := range askedBy(ask).items("tools") {
			all = append(all, found{tool, ask.Message})
		}
	}
	schemas := slices.Concat(within(all, "inputSchema"), within(all, "outputSchema"))
	for _, ask := range conversation.Asks("elicitation/create") {
		if asked, there := askedBy(ask).member("requestedSchema"); there {
			schemas = append(schemas, found{asked, ask.Message})
		}
	}
	return schemas
}

// toolSchemas returns the schemas of the tools that the target lists.
func toolSchemas(conversation *rules.Conversation) []found {
	tools := listed(conversation, "tools/list")
	return slices.Concat(within(tools, "inputSchema"), within(tools, "outputSchema"))
}

// paramsOf are the params of a request or notification.
func paramsOf(said *rules.Message) place { return place{"/params", said.Params()} }

// validAskedSchemas judges what it can: unknown dialects and what a bound
// stops are no proof against the target.
func validAskedSchemas(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range askedSchemas(conversation) {
		_, err := compiled(conversation.Revision, one.value)
		invalid, isInvalid := errors.AsType[*schema.InvalidError](err)
		switch {
		case isInvalid:
			reporter.Observe()
			for _, violation := range invalid.Violations {
				breakBy(reporter, one.said, one.pointer, violation)
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
		named, names := one.member("$schema")
		if names && strings.TrimSuffix(named.text(), "#") != dialect2020 {
			reporter.Violation(one.said, rules.Mismatch{
				Wanted: dialect2020 + ", or no $schema", Found: rules.Show(named.value), Where: named.pointer,
			})
		}
	}
}
