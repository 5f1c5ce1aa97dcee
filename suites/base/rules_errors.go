package base

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// errorRules are about the codes of errors in the stateless era
// (2026-07-28, basic/index#error-codes).
func errorRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "uses none of the retired error codes -32002 and -32042",
			Verifies: rules.Verifies("base.errors.retired-codes"),
			Judge:    codes(retired, "-32602 in place of -32002, and a result with inputRequests in place of -32042"),
		},
		{
			Text:     "uses error codes from -32020 to -32099 only if the revision defines them",
			Verifies: rules.Verifies("base.errors.reserved-codes"),
			Judge: codes(func(code int64, conversation *rules.Conversation) bool {
				return lastReserved <= code && code <= firstReserved && !defines(conversation, code)
			}, "from -32099 to -32020 only codes that the specification defines"),
		},
		{
			Text:     "uses no error code from -32000 to -32019",
			Verifies: rules.Verifies("base.errors.legacy-codes"),
			Judge: codesIn(ownErrors, func(code int64, conversation *rules.Conversation) bool {
				return firstReserved < code && code <= firstLegacy && !retired(code, conversation)
			}, "a code of the specification, or one above -32000; only implementations that used this one before may keep it"),
		},
		{
			Text:     "uses error codes of its own only outside -32768 to -32000",
			Verifies: rules.Verifies("base.errors.own-codes"),
			Judge: codes(func(code int64, _ *rules.Conversation) bool {
				return lastOfJSONRPC <= code && code < lastReserved && !slices.Contains(standardCodes, code)
			}, "a code of JSON-RPC or of the specification, or one outside -32768 to -32000"),
		},
		{
			Text:     "uses the error codes -32020, -32021 and -32022 only with their defined meaning",
			Verifies: rules.Verifies("base.errors.defined-meaning"),
			Judge:    misusedCodes,
		},
		{
			Text:     "returns the missing capabilities in data.requiredCapabilities of an error -32021",
			Verifies: rules.Verifies("base.capabilities.required"),
			Judge:    unnamedCapabilities,
		},
	}
}

// The ranges of codes, from above to below.
const (
	firstLegacy   = -32000 // to -32019: codes that implementations used before
	firstReserved = -32020 // to -32099: for the specification
	lastReserved  = -32099
	lastOfJSONRPC = -32768
)

// standardCodes are those of JSON-RPC 2.0, section 5.1.
var standardCodes = []int64{jsonrpc.ParseError, jsonrpc.InvalidRequest, jsonrpc.MethodNotFound, jsonrpc.InvalidParams, jsonrpc.InternalError}

// retired are the codes of earlier revisions: a resource that is not there, and a
// URL that must be visited.
func retired(code int64, _ *rules.Conversation) bool { return code == -32002 || code == -32042 }

// defines tells whether the revision gives a code a meaning, or an earlier one
// did, which has a rule of its own.
func defines(conversation *rules.Conversation, code int64) bool {
	if conversation.Schema == nil || retired(code, conversation) {
		return true
	}
	for _, known := range conversation.Schema.ErrorCodes() {
		if known.Code == strconv.FormatInt(code, 10) {
			return true
		}
	}
	return false
}

// ownErrors are those to requests that name a revision. What names none may be taken for
// a message of the handshake era by a server of both, whose older part keeps its codes
// (2026-07-28, basic/versioning#backward-compatibility-with-initialization-based-versions).
func ownErrors(conversation *rules.Conversation) []toldError {
	return slices.DeleteFunc(allErrors(conversation), func(told toldError) bool {
		if told.message.Request == nil {
			return true
		}
		_, named := facts.RevisionOf(told.message.Request)
		return !named
	})
}

// toldError is a JSON-RPC error, with the place where the target tells of it.
type toldError struct {
	message *rules.Message
	where   string
	code    int64
	text    any
}

// allErrors are those in responses, and those for which tasks of the extension failed.
func allErrors(conversation *rules.Conversation) []toldError {
	var all []toldError
	for _, message := range facts.StandaloneErrors(conversation) {
		refusal, _ := message.Error()
		all = append(all, toldError{message, "/error/code", refusal.Code, refusal.Message})
	}
	for _, message := range conversation.Results("tasks/get") {
		if revision, named := facts.RevisionOf(message.Request); named && protocol.Has(revision, protocol.Extensions) {
			all = append(all, errorOfTask(message, places.ResultOf(message))...)
		}
	}
	for _, message := range conversation.Notifications("notifications/tasks") {
		all = append(all, errorOfTask(message, places.ParamsOf(message))...)
	}
	return all
}

// errorOfTask is the error of a task that failed; none where it has no code, which another
// rule reports.
func errorOfTask(message *rules.Message, task places.Place) []toldError {
	failed, _ := task.Member("error")
	code, _ := failed.Member("code")
	number, _ := code.Value.(json.Number)
	value, err := number.Int64()
	if err != nil {
		return nil
	}
	return []toldError{{message, code.Pointer, value, failed.Object()["message"]}}
}

// codes finds errors with a code that is not to be used.
func codes(wrong func(int64, *rules.Conversation) bool, wanted string) rules.Judge {
	return codesIn(allErrors, wrong, wanted)
}

func codesIn(
	errors func(*rules.Conversation) []toldError,
	wrong func(int64, *rules.Conversation) bool,
	wanted string,
) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, told := range errors(conversation) {
			reporter.Observe()
			if wrong(told.code, conversation) {
				reporter.Violation(told.message, rules.Mismatch{
					Wanted: wanted, Found: fmt.Sprintf("%d %s", told.code, rules.Show(told.text)), Where: told.where,
				})
			}
		}
	}
}

// misusedCodes judges what an error says against the request that it answers. What
// its data has to look like, the schema says.
func misusedCodes(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range facts.StandaloneErrors(conversation) {
		refusal, _ := message.Error()
		data := mcp.Object(refusal.Data)
		switch refusal.Code {
		case jsonrpc.HeaderMismatch:
			reporter.Observe()
			if !protocol.Over(conversation.Transport).Mirrors() {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "an error about HTTP headers only over HTTP",
					Found:  excerpt.Short(message.Raw),
					Where:  "/error/code",
				})
			}
		case jsonrpc.MissingCapability:
			required, isObject := data[requiredCapabilities].(map[string]any)
			if !isObject || message.Request == nil {
				continue
			}
			reporter.Observe()
			if declared := conversation.ClientDeclared(message); contains(declared, required) {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "capabilities that the request did not declare; it declared " + rules.Show(declared),
					Found:  rules.Show(required), Where: "/error/data/requiredCapabilities",
				})
			}
		case jsonrpc.UnsupportedRevision:
			if message.Request == nil {
				continue
			}
			if asked, named := facts.RevisionOf(message.Request); named {
				reporter.Observe()
				judgeUnsupported(reporter, message, asked, data)
			}
		}
	}
}

// judgeUnsupported judges the error for a revision that is not supported.
func judgeUnsupported(reporter *rules.Reporter, message *rules.Message, asked string, data rules.Object) {
	if requested, isText := data["requested"].(string); isText && requested != asked {
		reporter.Violation(message, rules.Mismatch{
			Wanted: "the revision of the request, " + rules.Show(asked),
			Found:  rules.Show(requested),
			Where:  "/error/data/requested",
		})
	}
	// A revision of the handshake era may be supported, and not in a request like this.
	if supported, _ := data["supported"].([]any); protocol.Has(asked, protocol.PerRequestMeta) &&
		slices.Contains(supported, any(asked)) {
		reporter.Violation(message, rules.Mismatch{
			Wanted: "supported revisions without the rejected one, " + rules.Show(asked),
			Found:  rules.Show(supported), Where: "/error/data/supported",
		})
	}
}

// hasOwnData tells whether rules of their own judge what belongs to an error.
func hasOwnData(refusal *rules.Message) bool {
	told, _ := refusal.Error()
	return told.Code == jsonrpc.MissingCapability || told.Code == jsonrpc.UnsupportedRevision
}

// requiredCapabilities is the member of an error's data that names what a request
// lacks.
const requiredCapabilities = "requiredCapabilities"

func unnamedCapabilities(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range facts.StandaloneErrors(conversation) {
		refusal, _ := message.Error()
		if refusal.Code != jsonrpc.MissingCapability {
			continue
		}
		reporter.Observe()
		data := mcp.Object(refusal.Data)
		required, isObject := data[requiredCapabilities].(map[string]any)
		switch {
		case !isObject:
			reporter.Violation(message, rules.Mismatch{
				Wanted: "an object with the missing capabilities",
				Found:  rules.ShowMember(data, requiredCapabilities),
				Where:  "/error/data/" + requiredCapabilities,
			})
		case conversation.Schema != nil:
			for _, violation := range conversation.Schema.Validate("ClientCapabilities", required) {
				breakBy(reporter, message, "/error/data/"+requiredCapabilities, violation)
			}
		}
	}
}

// contains tells whether declared capabilities have the required ones, with all members.
func contains(declared, required rules.Object) bool {
	for name, value := range required {
		own, there := declared[name]
		inner, isObject := value.(map[string]any)
		if ownInner, _ := own.(map[string]any); !there || isObject && !contains(ownInner, inner) {
			return false
		}
	}
	return true
}
