package clientrun

import (
	"fmt"
	"maps"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// AnsweredRequest is what the scripted server wanted from the target client, and what came of
// it: a request and its response in the handshake era, an input request of a result
// and the input response of the retry in the stateless era.
type AnsweredRequest struct {
	Message *Message // that carries the request
	Method  string
	Params  Object
	Answer  *Message      // carries the answer; nil when none came
	Result  Object        // nil when none came, or a refusal
	Refused bool          // by an error, as there are in the handshake era
	Refusal jsonrpc.Error // which one
	Where   string        // JSON pointer of the result in the message that carries it
}

// Answered tells whether the client gave a result.
func (i AnsweredRequest) Answered() bool { return i.Result != nil }

// Describe says in words what came.
func (i AnsweredRequest) Describe() string {
	if i.Answer == nil {
		return "no answer"
	}
	return excerpt.Short(i.Answer.Raw)
}

// ServerRequests returns what the scripted server wanted by a method, in order.
func (c *Client) ServerRequests(method string) []AnsweredRequest {
	var all []AnsweredRequest
	for _, message := range c.messages {
		if fromClient(message) || message.Kind == jsonrpc.Notification {
			continue
		}
		for _, asked := range rules.ServerRequests(message.Message) {
			if asked.Method == method {
				all = append(all, c.answered(message, asked))
			}
		}
	}
	return all
}

func (c *Client) answered(message *Message, asked rules.ServerRequest) AnsweredRequest {
	request := AnsweredRequest{Message: message, Method: asked.Method, Params: asked.Params}
	if message.Kind == jsonrpc.Request {
		if len(message.Answers) > 0 {
			request.Answer = message.Answers[0]
			request.Result = request.Answer.ResultObject()
			request.Refusal, request.Refused = request.Answer.Error()
			request.Where = "/result"
		}
		return request
	}
	retry := c.RetryOf(message)
	if retry == nil {
		return request
	}
	responses, _ := retry.ParamsObject()["inputResponses"].(map[string]any)
	if given, there := responses[asked.Key].(map[string]any); there {
		request.Answer, request.Result = retry, given
		request.Where = jsonrpc.Pointer("params", "inputResponses", asked.Key)
	}
	return request
}

// RetryOf returns the request by which the client goes on after a result that asks for
// input: the next like it that brings input or state. It is nil when there is none.
func (c *Client) RetryOf(result *Message) *Message {
	if result.Request == nil {
		return nil
	}
	state, remembers := result.ResultObject()["requestState"]
	for _, message := range c.Requests(result.Request.Method) {
		params := message.ParamsObject()
		_, answers := params["inputResponses"]
		given, brings := params["requestState"]
		if message.Event.Connection == result.Event.Connection && message.Event.Sequence > result.Event.Sequence &&
			(answers || brings) && sameAttempt(result.Request, message) && (!remembers || !brings || Same(given, state)) {
			return message
		}
	}
	return nil
}

// sameAttempt tells whether two requests ask for the same, input aside.
func sameAttempt(first, second *Message) bool {
	return Same(withoutInput(first), withoutInput(second))
}

func withoutInput(message *Message) Object {
	params := maps.Clone(message.ParamsObject())
	maps.DeleteFunc(params, func(name string, _ any) bool {
		return slices.Contains([]string{"_meta", "inputResponses", "requestState"}, name)
	})
	return params
}

// NeedServerRequests returns what the scripted server wanted by a method, of which the check
// needs one at least. It asks only clients that have declared the capability.
func (c *Client) NeedServerRequests(method string) []AnsweredRequest {
	all := c.ServerRequests(method)
	if len(all) > 0 {
		return all
	}
	if len(c.Requests("tools/call")) == 0 {
		c.InconclusiveWithout("tools/call")
	}
	c.Inconclusive(fmt.Sprintf("the client was not asked for %s, as it did not declare the capability", method), method)
	return nil
}
