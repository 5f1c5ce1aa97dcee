// Package facts tells what was agreed, declared, asked and answered in a conversation,
// for rules of several pages. It judges nothing by itself; the few judges here are
// parts of rules that several pages have.
package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
)

// An Answer is what a client gives to the server: a result in the handshake era, an
// input response of the stateless era.
type Answer struct {
	places.Found        // the result
	Method       string // by which the server asked
	Asked        rules.Object
	Declared     rules.Object // capabilities of the client
}

// Answers returns those to requests by one of the methods; to all, when none is
// given.
func Answers(conversation *rules.Conversation, methods ...string) []Answer {
	all := rules.Shared(conversation, "answers", readAnswers)
	if len(methods) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(one Answer) bool { return !slices.Contains(methods, one.Method) })
}

func readAnswers(conversation *rules.Conversation) []Answer {
	return slices.Concat(responsesGiven(conversation), inputsGiven(conversation), updatesGiven(conversation))
}

// responsesGiven are results, also those that come by way of a task.
func responsesGiven(conversation *rules.Conversation) []Answer {
	var all []Answer
	creators := Creators(conversation)
	for _, message := range conversation.ByTarget() {
		if !rules.IsResponse(message) || message.Request == nil || rules.IsRefusal(message) ||
			message.ResultObject() == nil {
			continue
		}
		request := message.Request
		if request.Method == "tasks/result" {
			request = creators[tasks.ID(request.ParamsObject())]
		} else if tasks.OfRequest(request) != "" {
			continue
		}
		if request != nil && InputCapabilities[request.Method] != "" {
			all = append(
				all,
				Answer{
					places.Found{Place: places.ResultOf(message), Said: message},
					request.Method,
					request.ParamsObject(),
					conversation.ClientCapabilities,
				},
			)
		}
	}
	return all
}

// inputsGiven are the input responses of retries.
func inputsGiven(conversation *rules.Conversation) []Answer {
	var all []Answer
	for _, one := range Retries(conversation) {
		if one.Asked != nil {
			all = append(all, inputsOf(conversation, one.Message, one.Asked.ResultObject()["inputRequests"])...)
		}
	}
	return all
}

// updatesGiven are the input responses for tasks of the extension, whose input
// requests the server told before.
func updatesGiven(conversation *rules.Conversation) []Answer {
	var all []Answer
	requests := map[string]any{} // by task
	for _, message := range conversation.Messages {
		if message.FromTarget(conversation.Cell) {
			if rules.IsRequest(message) && message.Method == "tasks/update" {
				all = append(all, inputsOf(conversation, message, requests[tasks.ID(message.ParamsObject())])...)
			}
			continue
		}
		for _, task := range []rules.Object{message.ResultObject(), message.ParamsObject()} {
			if asked, there := task["inputRequests"]; there && tasks.ID(task) != "" {
				requests[tasks.ID(task)] = asked
			}
		}
	}
	return all
}

// inputsOf returns the input responses in a request that answer input requests.
func inputsOf(conversation *rules.Conversation, message *rules.Message, asked any) []Answer {
	requests, _ := asked.(map[string]any)
	responses, _ := places.ParamsOf(message).Member(InputResponses)
	var all []Answer
	for key, response := range responses.Object() {
		request := places.Place{Pointer: "", Value: requests[key]}
		method, _ := request.Member("method")
		params, _ := request.Member("params")
		if InputCapabilities[method.Text()] != "" {
			where := places.Found{
				Place: places.Place{Pointer: responses.Pointer + jsonrpc.Pointer(key), Value: response},
				Said:  message,
			}
			all = append(all, Answer{where, method.Text(), params.Object(), conversation.ClientDeclared(message)})
		}
	}
	slices.SortFunc(all, func(a, b Answer) int { return strings.Compare(a.Pointer, b.Pointer) })
	return all
}

// Unannounced judges that a client declared what it answers to: a capability, when an
// answer takes it.
func Unannounced(method, capability string, takes func(Answer) bool) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range Answers(conversation, method) {
			if !takes(one) || one.Declared == nil {
				continue
			}
			reporter.Observe()
			if !mcp.Declares(one.Declared, capability) {
				reporter.Violation(one.Said, rules.Mismatch{
					Wanted: fmt.Sprintf("the capability %s declared by a client that answers so", capability),
					Found:  "no such capability: " + rules.Show(one.Declared), Where: one.Pointer,
				})
			}
		}
	})
}

// AnyAnswer is true: every answer needs the capability.
func AnyAnswer(Answer) bool { return true }

// InputCapabilities are what servers may ask for, by method, with the capability of the
// client that it takes.
var InputCapabilities = map[string]string{
	"elicitation/create":     "elicitation",
	"sampling/createMessage": "sampling",
	"roots/list":             "roots",
}
