package facts

import (
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// The members of a retry that the first attempt has not.
const (
	InputResponses = "inputResponses"
	RequestState   = "requestState"
)

// A Retry is a request of a client with the result that asked for input; nil when
// none did.
type Retry struct {
	*rules.Message
	Asked *rules.Message
}

// Retries returns the requests with input or state. What they are for is told by the
// method and all other params; of several like results each is retried once, and the
// one that fits best first.
func Retries(conversation *rules.Conversation) []Retry {
	return rules.Shared(conversation, "retriesMade", readRetries)
}

func readRetries(conversation *rules.Conversation) []Retry {
	var all []Retry
	open := map[*rules.Message]bool{}
	for _, message := range conversation.Messages {
		if !message.FromTarget(conversation.Cell) {
			open[message] = rules.IsResponse(message) && message.Request != nil && AsksForInput(message)
			continue
		}
		if !isRetry(message) {
			continue
		}
		var asked *rules.Message
		for _, result := range slices.Backward(conversation.Messages[:message.Index]) {
			if open[result] && sameRequest(result.Request, message) &&
				(asked == nil || !fits(asked, message) && fits(result, message)) {
				asked = result
			}
		}
		delete(open, asked)
		all = append(all, Retry{message, asked})
	}
	return all
}

// isRetry leaves out updates of tasks, which carry input of their own.
func isRetry(message *rules.Message) bool {
	params := message.ParamsObject()
	_, answers := params[InputResponses]
	_, remembers := params[RequestState]
	return rules.IsRequest(message) && message.Method != "tasks/update" && (answers || remembers)
}

// sameRequest tells whether a request makes another one again.
func sameRequest(first, second *rules.Message) bool {
	return first.Method == second.Method && jsonrpc.Equal(asMade(first), asMade(second))
}

// asMade are the params of a request without those that differ from attempt to
// attempt.
func asMade(request *rules.Message) map[string]any {
	params := maps.Clone(request.ParamsObject())
	for _, name := range []string{"_meta", InputResponses, RequestState} {
		delete(params, name)
	}
	return params
}

// fits tells whether a retry gives back just what a result asked for.
func fits(asked, retry *rules.Message) bool {
	wanted, wants := asked.ResultObject()[RequestState]
	given, gives := retry.ParamsObject()[RequestState]
	return wants == gives && jsonrpc.Equal(wanted, given) && len(LackingInputs(asked, retry)) == 0
}

// LackingInputs are the keys of input that was asked for and is not given.
func LackingInputs(asked, retry *rules.Message) []string {
	requests, _ := asked.ResultObject()["inputRequests"].(map[string]any)
	responses, _ := retry.ParamsObject()[InputResponses].(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(requests)), func(key string) bool {
		_, given := responses[key]
		return given
	})
}
