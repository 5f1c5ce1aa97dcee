package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// retryRules are about how a client goes on when a result asks for input
// (2026-07-28, basic/patterns/mrtr#client-requirements-basic-workflow).
func retryRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends a retry with a new request id",
			Requirements: []string{"mrtr.client.id", "tools.call.retry-id"},
			Judge:        everyRetry(sameID),
		},
		{
			Text:         "sends the requestState of the result unchanged in each retry",
			Requirements: []string{"mrtr.client.state.echoed"},
			Judge:        everyRetry(otherState),
		},
		{
			Text:         "sends no requestState if the result had none",
			Requirements: []string{"mrtr.client.state.none"},
			Judge:        everyRetry(inventedState),
		},
		{
			Text:         "sends inputResponses for all inputRequests when it retries",
			Requirements: []string{"mrtr.client.inputs"},
			Judge:        ofClient(missingInputs),
		},
		{
			Text:         "sends inputResponses and requestState only in the retry that they belong to",
			Requirements: []string{"mrtr.client.only-retry"},
			Judge:        ofClient(strayInputs),
		},
	}
}

// The members of a retry that the first attempt has not.
const (
	inputResponses = "inputResponses"
	requestState   = "requestState"
)

// A retry is a request of a client with the result that asked for input; nil when
// none did.
type retry struct {
	*rules.Message
	asked *rules.Message
}

// retriesMade returns the requests with input or state. What they are for is told by the
// method and all other params; of several like results each is retried once, and the
// one that fits best first.
func retriesMade(conversation *rules.Conversation) []retry {
	return rules.Shared(conversation, "retriesMade", readRetries)
}

func readRetries(conversation *rules.Conversation) []retry {
	var all []retry
	open := map[*rules.Message]bool{}
	for _, said := range conversation.Messages {
		if !said.FromTarget(conversation.Leg) {
			open[said] = isResponse(said) && said.Request != nil && asksForInput(said)
			continue
		}
		if !isRetry(said) {
			continue
		}
		var asked *rules.Message
		for _, result := range slices.Backward(conversation.Messages[:said.Index]) {
			if open[result] && sameRequest(result.Request, said) && (asked == nil || !fits(asked, said) && fits(result, said)) {
				asked = result
			}
		}
		delete(open, asked)
		all = append(all, retry{said, asked})
	}
	return all
}

// isRetry leaves out updates of tasks, which carry input of their own.
func isRetry(said *rules.Message) bool {
	params := said.ParamsObject()
	_, answers := params[inputResponses]
	_, remembers := params[requestState]
	return isRequest(said) && said.Method != "tasks/update" && (answers || remembers)
}

// sameRequest tells whether a request makes another one again.
func sameRequest(first, second *rules.Message) bool {
	return first.Method == second.Method && sameJSON(asMade(first), asMade(second))
}

// asMade are the params of a request without those that differ from attempt to
// attempt.
func asMade(request *rules.Message) map[string]any {
	params := maps.Clone(request.ParamsObject())
	for _, name := range []string{"_meta", inputResponses, requestState} {
		delete(params, name)
	}
	return params
}

// fits tells whether a retry gives back just what a result asked for.
func fits(asked, retry *rules.Message) bool {
	wanted, wants := asked.ResultObject()[requestState]
	given, gives := retry.ParamsObject()[requestState]
	return wants == gives && sameJSON(wanted, given) && len(lackingInputs(asked, retry)) == 0
}

// lackingInputs are the keys of input that was asked for and is not given.
func lackingInputs(asked, retry *rules.Message) []string {
	requests, _ := asked.ResultObject()["inputRequests"].(map[string]any)
	responses, _ := retry.ParamsObject()[inputResponses].(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(requests)), func(key string) bool {
		_, given := responses[key]
		return given
	})
}

// everyRetry judges retries of results that are known.
func everyRetry(wrong func(retry) rules.Mismatch) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range retriesMade(conversation) {
			if one.asked == nil {
				continue
			}
			reporter.Observe()
			if mismatch := wrong(one); mismatch != (rules.Mismatch{}) {
				reporter.Violation(one.Message, mismatch)
			}
		}
	})
}

func sameID(one retry) rules.Mismatch {
	if first := one.asked.Request.ID; one.ID != first || first == jsonrpc.NoID {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "another id than that of the request before", Found: one.ID.String() + " again", Where: "/id"}
}

func otherState(one retry) rules.Mismatch {
	wanted, wants := one.asked.ResultObject()[requestState]
	given, gives := one.ParamsObject()[requestState]
	if !wants || gives && sameJSON(wanted, given) {
		return rules.Mismatch{}
	}
	return rules.Mismatch{
		Wanted: "the requestState of the result, " + rules.Show(wanted), Found: shown(one.ParamsObject(), requestState), Where: "/params/" + requestState,
	}
}

func inventedState(one retry) rules.Mismatch {
	_, wants := one.asked.ResultObject()[requestState]
	given, gives := one.ParamsObject()[requestState]
	if wants || !gives {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "no requestState, as the result had none", Found: rules.Show(given), Where: "/params/" + requestState}
}

// missingInputs judges that a retry has an answer of the right kind to everything
// that was asked. What is no answer of any kind the schema knows.
func missingInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range retriesMade(conversation) {
		if one.asked == nil {
			continue
		}
		reporter.Observe()
		for _, key := range lackingInputs(one.asked, one.Message) {
			reporter.Violation(one.Message, rules.Mismatch{
				Wanted: fmt.Sprintf("the input %q that was asked for", key), Found: "none", Where: "/params/" + inputResponses,
			})
		}
	}
	for _, given := range answers(conversation) {
		known := conversation.Schema
		if isResponse(given.said) || known == nil || len(known.Validate("InputResponse", given.value)) > 0 {
			continue
		}
		for _, violation := range known.ValidateResult(given.method, given.value) {
			reporter.Violation(given.said, rules.Mismatch{
				Wanted: "an answer to " + given.method + ": " + violation.Expected, Found: violation.Found, Where: given.pointer + violation.Pointer,
			})
		}
	}
}

// strayInputs needs to know what was asked for: over stdio a server that was started
// anew may have asked before.
func strayInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	asked := conversation.Transport == protocol.HTTP || slices.ContainsFunc(conversation.ByPeer(), asksForInput)
	if !asked || !conversation.Complete {
		return
	}
	for _, one := range retriesMade(conversation) {
		reporter.Observe()
		if one.asked == nil {
			reporter.Violation(one.Message, rules.Mismatch{
				Wanted: "inputResponses and requestState only in the retry of a request whose result asked for input",
				Found:  "a request of " + one.Method + " that makes none again", Where: "/params",
			})
		}
	}
}
