package mrtr

import (
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
)

// retryRules are about how a client goes on when a result asks for input
// (2026-07-28, basic/patterns/mrtr#client-requirements-basic-workflow).
func retryRules() []rules.Rule {
	return []rules.Rule{
		{Text: "sends a retry with a new request id", Verifies: rules.Verifies("mrtr.client.id", "tools.call.retry-id"), Judge: everyRetry(sameID)},
		{
			Text:     "sends the requestState of the result unchanged in each retry",
			Verifies: rules.Verifies("mrtr.client.state.echoed"),
			Judge:    everyRetry(otherState),
		},
		{Text: "sends no requestState if the result had none", Verifies: rules.Verifies("mrtr.client.state.none"), Judge: everyRetry(inventedState)},
		{
			Text:     "sends inputResponses for all inputRequests when it retries",
			Verifies: rules.Verifies("mrtr.client.inputs"),
			Judge:    rules.OfClient(missingInputs),
		},
		{
			Text:     "sends inputResponses and requestState only in the retry that they belong to",
			Verifies: rules.Verifies("mrtr.client.only-retry"),
			Judge:    rules.OfClient(strayInputs),
		},
	}
}

// everyRetry judges retries of results that are known.
func everyRetry(wrong func(facts.Retry) rules.Mismatch) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range facts.Retries(conversation) {
			if one.Asked == nil {
				continue
			}
			reporter.Observe()
			if mismatch := wrong(one); mismatch != (rules.Mismatch{}) {
				reporter.Violation(one.Message, mismatch)
			}
		}
	})
}

func sameID(one facts.Retry) rules.Mismatch {
	if first := one.Asked.Request.ID; one.ID != first || first == jsonrpc.NoID {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "an id other than that of the original request", Found: one.ID.String() + " again", Where: "/id"}
}

func otherState(one facts.Retry) rules.Mismatch {
	wanted, wants := one.Asked.ResultObject()[facts.RequestState]
	given, gives := one.ParamsObject()[facts.RequestState]
	if !wants || gives && jsonrpc.Equal(wanted, given) {
		return rules.Mismatch{}
	}
	return rules.Mismatch{
		Wanted: "the requestState of the result, " + rules.Show(wanted),
		Found:  rules.ShowMember(one.ParamsObject(), facts.RequestState),
		Where:  "/params/" + facts.RequestState,
	}
}

func inventedState(one facts.Retry) rules.Mismatch {
	_, wants := one.Asked.ResultObject()[facts.RequestState]
	given, gives := one.ParamsObject()[facts.RequestState]
	if wants || !gives {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "no requestState, as the result had none", Found: rules.Show(given), Where: "/params/" + facts.RequestState}
}

// missingInputs judges that a retry has an answer of the right kind to everything
// that was asked. What is no answer of any kind the schema knows.
func missingInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range facts.Retries(conversation) {
		if one.Asked == nil {
			continue
		}
		reporter.Observe()
		for _, key := range facts.LackingInputs(one.Asked, one.Message) {
			reporter.Violation(one.Message, rules.Mismatch{
				Wanted: fmt.Sprintf("the requested input %q", key),
				Found:  "none",
				Where:  "/params/" + facts.InputResponses,
			})
		}
	}
	for _, given := range facts.Answers(conversation) {
		known := conversation.Schema
		if rules.IsResponse(given.Said) || known == nil || len(known.Validate("InputResponse", given.Value)) > 0 {
			continue
		}
		for _, violation := range known.ValidateResult(given.Method, given.Value) {
			reporter.Violation(given.Said, rules.Mismatch{
				Wanted: "an answer to " + given.Method + ": " + violation.Expected,
				Found:  violation.Found,
				Where:  given.Pointer + violation.Pointer,
			})
		}
	}
}

// strayInputs needs to know what was asked for: over stdio a server that was started
// anew may have asked before.
func strayInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	asked := !protocol.Over(conversation.Transport).Processes() || slices.ContainsFunc(conversation.ByPeer(), facts.AsksForInput)
	if !asked || !conversation.Complete {
		return
	}
	for _, one := range facts.Retries(conversation) {
		reporter.Observe()
		if one.Asked == nil {
			reporter.Violation(one.Message, rules.Mismatch{
				Wanted: "inputResponses and requestState only in the retry of a request whose result has inputRequests",
				Found:  "a request of " + one.Method + " that is not a retry", Where: "/params",
			})
		}
	}
}
