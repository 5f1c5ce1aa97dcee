package mrtr

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of the page basic/patterns/mrtr.
func Rules() []rules.Rule {
	return append([]rules.Rule{
		{
			Text:     "sends input_required results only for tools/call, prompts/get and resources/read",
			Verifies: rules.Verifies("mrtr.result.supported"),
			Judge:    inputInOtherAnswers,
		},
		{
			Text:     "sends inputRequests, requestState or both in each input_required result",
			Verifies: rules.Verifies("mrtr.result.members"),
			Judge:    everyInputRequired(emptyInputRequired),
		},
		{
			Text:     "sends each of its inputRequests with a unique key",
			Verifies: rules.Verifies("mrtr.requests.keys"),
			Needs:    []transcript.Lack{transcript.RawBytes},
			Judge:    everyInputRequired(sharedKeys),
		},
		{
			Text:     "sends only elicitation/create, sampling/createMessage and roots/list in inputRequests",
			Verifies: rules.Verifies("mrtr.requests.kinds"),
			Judge:    otherInputs,
		},
		{Text: "sends inputRequests that are valid against the schema", Verifies: rules.Verifies("mrtr.requests.form"), Judge: misshapenInputs},
		{
			Text:     "sends only inputRequests whose capability the client has declared",
			Verifies: rules.Verifies("mrtr.requests.declared"),
			Judge:    undeclaredInputs,
		},
	}, retryRules()...)
}

// inputMethods are the methods whose answers may ask for input.
var inputMethods = []string{"tools/call", "prompts/get", "resources/read"}

func inputInOtherAnswers(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByTarget() {
		if !rules.IsResponse(message) || message.Request == nil || message.ResultObject() == nil {
			continue
		}
		reporter.Observe()
		if method := message.Request.Method; facts.AsksForInput(message) && !slices.Contains(inputMethods, method) {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "a result without inputRequests, as " + method + " is answered at once",
				Found:  `the resultType "input_required"`, Where: "/result/resultType",
			})
		}
	}
}

// everyInputRequired judges the results that ask for input.
func everyInputRequired(wrong func(*rules.Message) rules.Mismatch) rules.Judge {
	return rules.Every(facts.AsksForInput, wrong)
}

func emptyInputRequired(message *rules.Message) rules.Mismatch {
	result := places.ResultOf(message)
	_, asks := result.Member("inputRequests")
	_, remembers := result.Member("requestState")
	if asks || remembers {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "inputRequests, a requestState, or both", Found: "neither", Where: result.Pointer}
}

// sharedKeys looks at the text: of two members with one name, reading keeps one.
func sharedKeys(message *rules.Message) rules.Mismatch {
	for _, flaw := range message.Flaws {
		if flaw.Kind == jsonrpc.Duplicate && inputRequestKey.MatchString(flaw.Pointer) {
			return rules.Mismatch{Wanted: "keys that differ", Found: flaw.Detail, Where: claims.InputRequestsPlace}
		}
	}
	return rules.Mismatch{}
}

var inputRequestKey = regexp.MustCompile(`^` + claims.InputRequestsPlace + `/[^/]*$`)

// inputMaps returns the inputRequests of all results that ask for input.
func inputMaps(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range conversation.ByTarget() {
		if requests, there := places.ResultOf(message).Member("inputRequests"); there && facts.AsksForInput(message) {
			all = append(all, places.Found{Place: requests, Said: message})
		}
	}
	return all
}

// inputRequests returns the members of all of them, in the order of their keys.
func inputRequests(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, requests := range inputMaps(conversation) {
		var ofOne []places.Found
		for key, request := range requests.Object() {
			ofOne = append(ofOne, places.Found{
				Place: places.Place{Pointer: requests.Pointer + jsonrpc.Pointer(key), Value: request},
				Said:  requests.Said,
			})
		}
		slices.SortFunc(ofOne, func(a, b places.Found) int { return cmp.Compare(a.Pointer, b.Pointer) })
		all = append(all, ofOne...)
	}
	return all
}

func otherInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, request := range inputRequests(conversation) {
		reporter.Observe()
		method, there := request.Member("method")
		if facts.InputCapabilities[method.Text()] != "" {
			continue
		}
		mismatch := rules.Mismatch{
			Wanted: "elicitation/create, sampling/createMessage or roots/list",
			Found:  rules.Show(method.Value), Where: method.Pointer,
		}
		if !there {
			mismatch.Found, mismatch.Where = "no method", request.Pointer
		}
		reporter.Violation(request.Said, mismatch)
	}
}

// misshapenInputs leaves to the pages about roots, sampling and elicitation what
// they have sentences about.
func misshapenInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Schema == nil {
		return
	}
	for _, requests := range inputMaps(conversation) {
		reporter.Observe()
		if requests.Object() == nil {
			reporter.Violation(requests.Said, rules.Mismatch{
				Wanted: "an object with a request for each key",
				Found:  rules.Show(requests.Value),
				Where:  requests.Pointer,
			})
		}
	}
	for _, request := range inputRequests(conversation) {
		name, _ := request.Member("method")
		method, known := conversation.Schema.Method(name.Text())
		if !known || facts.InputCapabilities[name.Text()] == "" {
			continue // another rule has it
		}
		reporter.Observe()
		for _, violation := range conversation.Schema.Validate(method.Message, request.Value) {
			if claims.MemberClaimed(name.Text(), claims.OwnPlace(claims.MemberPlace(request.Pointer, violation))) {
				continue
			}
			reporter.Violation(request.Said, rules.Mismatch{
				Wanted: violation.Expected, Found: violation.Found, Where: request.Pointer + violation.Pointer,
			})
		}
	}
}

func undeclaredInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, request := range inputRequests(conversation) {
		method, _ := request.Member("method")
		needed := facts.InputCapabilities[method.Text()]
		declared := conversation.ClientDeclared(request.Said)
		if needed == "" || declared == nil {
			continue
		}
		reporter.Observe()
		if _, offered := declared[needed]; !offered {
			reporter.Violation(request.Said, rules.Mismatch{
				Wanted: "only what the client declares: " + rules.Show(declared),
				Found:  method.Text(), Where: request.Pointer,
			})
		}
	}
}
