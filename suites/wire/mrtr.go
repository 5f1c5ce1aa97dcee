package wire

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/schema"
)

// InputRules are the rules of the page basic/patterns/mrtr.
func InputRules() []rules.Rule {
	return append([]rules.Rule{
		{
			Text:         "sends input_required results only for tools/call, prompts/get and resources/read",
			Requirements: []string{"mrtr.result.supported"},
			Judge:        inputInOtherAnswers,
		},
		{
			Text:         "sends inputRequests, requestState or both in each input_required result",
			Requirements: []string{"mrtr.result.members"},
			Judge:        everyInputRequired(emptyInputRequired),
		},
		{
			Text:         "sends each of its inputRequests with a unique key",
			Requirements: []string{"mrtr.requests.keys"},
			Judge:        everyInputRequired(sharedKeys),
		},
		{
			Text:         "sends only elicitation/create, sampling/createMessage and roots/list in inputRequests",
			Requirements: []string{"mrtr.requests.kinds"},
			Judge:        otherInputs,
		},
		{
			Text:         "sends inputRequests that are valid against the schema",
			Requirements: []string{"mrtr.requests.form"},
			Judge:        misshapenInputs,
		},
		{
			Text:         "sends only inputRequests whose capability the client has declared",
			Requirements: []string{"mrtr.requests.declared"},
			Judge:        undeclaredInputs,
		},
	}, retryRules()...)
}

// inputs are what servers may ask for, by method, with the capability of the
// client that it takes.
var inputs = map[string]string{
	"elicitation/create":     "elicitation",
	"sampling/createMessage": "sampling",
	"roots/list":             "roots",
}

// inputMethods are the methods whose answers may ask for input.
var inputMethods = []string{"tools/call", "prompts/get", "resources/read"}

const inputRequestsPlace = "/result/inputRequests"

func inputInOtherAnswers(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByTarget() {
		if !isResponse(said) || said.Request == nil || said.ResultObject() == nil {
			continue
		}
		reporter.Observe()
		if method := said.Request.Method; asksForInput(said) && !slices.Contains(inputMethods, method) {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "a result that asks for no input, as " + method + " is answered at once",
				Found:  `the resultType "input_required"`, Where: "/result/resultType",
			})
		}
	}
}

// everyInputRequired judges the results that ask for input.
func everyInputRequired(wrong func(*rules.Message) rules.Mismatch) judge {
	return every(asksForInput, wrong)
}

func emptyInputRequired(said *rules.Message) rules.Mismatch {
	result := resultOf(said)
	_, asks := result.member("inputRequests")
	_, remembers := result.member("requestState")
	if asks || remembers {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "inputRequests, a requestState, or both", Found: "neither", Where: result.pointer}
}

// sharedKeys looks at the text: of two members with one name, reading keeps one.
func sharedKeys(said *rules.Message) rules.Mismatch {
	for _, flaw := range said.Flaws {
		if flaw.Kind == jsonrpc.Duplicate && inputRequestKey.MatchString(flaw.Pointer) {
			return rules.Mismatch{Wanted: "keys that differ", Found: flaw.Detail, Where: inputRequestsPlace}
		}
	}
	return rules.Mismatch{}
}

var inputRequestKey = regexp.MustCompile(`^` + inputRequestsPlace + `/[^/]*$`)

// inputMaps returns the inputRequests of all results that ask for input.
func inputMaps(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range conversation.ByTarget() {
		if requests, there := resultOf(said).member("inputRequests"); there && asksForInput(said) {
			all = append(all, found{requests, said})
		}
	}
	return all
}

// inputRequests returns the members of all of them, in the order of their keys.
func inputRequests(conversation *rules.Conversation) []found {
	var all []found
	for _, requests := range inputMaps(conversation) {
		var ofOne []found
		for key, request := range requests.object() {
			ofOne = append(ofOne, found{place{requests.pointer + "/" + escape(key), request}, requests.said})
		}
		slices.SortFunc(ofOne, func(a, b found) int { return cmp.Compare(a.pointer, b.pointer) })
		all = append(all, ofOne...)
	}
	return all
}

func otherInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, request := range inputRequests(conversation) {
		reporter.Observe()
		method, there := request.member("method")
		if inputs[method.text()] != "" {
			continue
		}
		mismatch := rules.Mismatch{
			Wanted: "elicitation/create, sampling/createMessage or roots/list",
			Found:  rules.Show(method.value), Where: method.pointer,
		}
		if !there {
			mismatch.Found, mismatch.Where = "no method", request.pointer
		}
		reporter.Violation(request.said, mismatch)
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
		if requests.object() == nil {
			reporter.Violation(requests.said, rules.Mismatch{
				Wanted: "an object with a request for each key", Found: rules.Show(requests.value), Where: requests.pointer,
			})
		}
	}
	for _, request := range inputRequests(conversation) {
		name, _ := request.member("method")
		method, known := conversation.Schema.Method(name.text())
		if !known || inputs[name.text()] == "" {
			continue // another rule has it
		}
		reporter.Observe()
		for _, violation := range conversation.Schema.Validate(method.Message, request.value) {
			if memberClaimed(name.text(), ownPlace(memberPlace(request.pointer, violation))) {
				continue
			}
			reporter.Violation(request.said, rules.Mismatch{
				Wanted: violation.Expected, Found: violation.Found, Where: request.pointer + violation.Pointer,
			})
		}
	}
}

func undeclaredInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, request := range inputRequests(conversation) {
		method, _ := request.member("method")
		needed := inputs[method.text()]
		declared := conversation.ClientDeclared(request.said)
		if needed == "" || declared == nil {
			continue
		}
		reporter.Observe()
		if _, offered := declared[needed]; !offered {
			reporter.Violation(request.said, rules.Mismatch{
				Wanted: "nothing that the client has not declared: " + rules.Show(declared),
				Found:  method.text(), Where: request.pointer,
			})
		}
	}
}

// ofInput tells whether what the schema says of a place in a result, or of a
// member that is missing there, is judged by the rules about input.
func ofInput(place string, violation schema.Violation) bool {
	switch place {
	case "/result": // both are missing
		return violation.Definition == "InputRequiredResult"
	case "/result/resultType":
		return strings.HasPrefix(violation.Found, `"input_required"`)
	}
	return place == inputRequestsPlace || strings.HasPrefix(place, inputRequestsPlace+"/")
}
