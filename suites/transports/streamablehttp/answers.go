package streamablehttp

import (
	"cmp"
	"context"
	"fmt"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// An answer is what a request was answered with that was posted by itself: the HTTP
// response, and the message that it brought, in a body or on an event stream.
type answer struct {
	*Response
	id      jsonrpc.ID // of the request
	message jsonrpc.Message
}

// post posts a request and waits for its answer. Without one the check is
// inconclusive.
func post(ctx context.Context, server *Server, body []byte, deliberate string, edits ...HeaderEdit) answer {
	return answered(ctx, server, server.Post(body, deliberate, edits...), body)
}

// answered waits for the message of a response to the request in a body.
func answered(ctx context.Context, server *Server, response *Response, body []byte) answer {
	request := jsonrpc.Parse(body)
	id := request.ID
	if response.ContentType != eventStream {
		return answer{response, id, jsonrpc.Parse(response.Body)}
	}
	received, err := server.Connection.Await(ctx, server.Began(), func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && received.ID == id
	})
	if err != nil {
		server.Unanswered(cmp.Or(request.Method, "a request"), jsonrpc.NoID, err)
	}
	return answer{response, id, received.Message}
}

// refusal is the JSON-RPC error in the answer. It is about the request, or names none.
func (a answer) refusal() (refusal jsonrpc.Error, there bool) {
	refusal, there = a.message.Error()
	return refusal, there && (a.message.ID == a.id || a.message.ID == jsonrpc.NoID || a.message.ID == jsonrpc.NullID)
}

// refused tells whether the answer is a JSON-RPC error or a status that is not 2xx.
func (a answer) refused() bool {
	_, isError := a.refusal()
	return isError || a.Status >= 300
}

// code is that of the error in the answer; 0 when there is none.
func (a answer) code() int64 {
	refusal, there := a.refusal()
	if !there {
		return 0
	}
	return refusal.Code
}

// Describe says in words what the answer is.
func (a answer) Describe() string {
	if a.ContentType == eventStream {
		return a.Response.Describe() + ", " + excerpt.Short(a.message.Raw)
	}
	return a.Response.Describe()
}

// beTurnedDown matches an answer that refuses a request: by its status, or at least
// by an error. How a refusal is to look is for checks of its own.
func beTurnedDown() types.GomegaMatcher {
	return Be("a refusal", func(actual any) bool {
		given, isAnswer := actual.(answer)
		return isAnswer && given.refused()
	})
}

// beTheError matches an answer with an HTTP status and an error of a code.
func beTheError(status int, code int64) types.GomegaMatcher {
	return Be(fmt.Sprintf("HTTP %d and the error %d", status, code), func(actual any) bool {
		given, isAnswer := actual.(answer)
		return isAnswer && given.Status == status && given.code() == code
	})
}
