// Package asking makes a target server ask its client, for the checks of the
// pages about roots, sampling and elicitation.
package asking

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Question is a request of the server that a call of a tool made it send.
type Question struct {
	scripted.Received
	server *conform.Server
	call   *scripted.Pending
	mark   int
}

// Provoke calls a tool that makes the server send a request of a method, and
// waits for that. A tool that ends without asking makes the check inconclusive.
func Provoke(ctx context.Context, server *conform.Server, kind, method string) *Question {
	provocation := conform.Provoking(kind)
	mark := server.Mark()
	call := server.Start(ctx, "tools/call", provocation.Call())
	answers := func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && received.ID == call.ID
	}
	asks := conform.RequestOf(method)
	received, err := server.Connection.Await(ctx, mark, func(received scripted.Received) bool {
		return asks(received) || answers(received)
	})
	switch {
	case err != nil:
		conform.Inconclusive(fmt.Sprintf("the tool %s neither sent %s nor ended: %s", provocation.Tool, method, err),
			"name a tool that asks under provocations."+kind+" in mcpconform.yaml")
	case !asks(received):
		conform.Inconclusive(fmt.Sprintf("the tool %s ended without %s: %s", provocation.Tool, method, conform.Reply{Received: received}.Describe()),
			"name a tool that asks under provocations."+kind+" in mcpconform.yaml")
	}
	return &Question{Received: received, server: server, call: call, mark: mark}
}

// Outcome waits for the end of the call that made the server ask. A call that
// does not end fails the check.
func (q *Question) Outcome(ctx context.Context) conform.Reply { return q.server.Await(ctx, q.call) }

// Asked returns the requests of a method that the server sent since the call
// began.
func (q *Question) Asked(method string) []scripted.Received {
	return q.server.Sent(q.mark, conform.RequestOf(method))
}

// GiveUp cancels the call and leaves its end to the server.
func (q *Question) GiveUp(ctx context.Context) {
	q.server.Tell(ctx, "notifications/cancelled", conform.Object{"requestId": q.call.ID, "reason": "the check is done"})
}

// Unasked calls a tool that would make the server send a request of a method,
// on a connection where it should not, and returns the requests that it sent
// all the same. How the call ends is left to the server.
func Unasked(ctx context.Context, server *conform.Server, kind, method string) []scripted.Received {
	mark := server.Mark()
	server.Ask(ctx, "tools/call", conform.Provoking(kind).Call())
	server.Fence(ctx)
	return server.Sent(mark, conform.RequestOf(method))
}

// JudgeNone fails the check when there are requests.
func JudgeNone(requests []scripted.Received) {
	for _, request := range requests {
		conform.Judge(conform.Mismatch{Wanted: "no " + request.Method, Found: scripted.Short(request.Raw)})
	}
}

// Succeeded tells whether a call ended with a result that is no error.
func Succeeded(outcome conform.Reply) bool {
	result := outcome.Object()
	return result != nil && result["isError"] != true
}

// Marker is a value that stands where a wrong answer is wrong, so that it can be
// seen whether the server made use of it.
const Marker = "mcpconform-wrong-4711"

// JudgeValidation judges how a call ended whose question got a wrong answer: a
// refusal shows that the server looked, the marker in a success that it did
// not. Anything else shows nothing.
func JudgeValidation(outcome conform.Reply, wrong string) {
	switch {
	case !Succeeded(outcome):
		return
	case strings.Contains(string(outcome.Raw), Marker):
		conform.Judge(conform.Mismatch{Wanted: "an error, since " + wrong, Found: outcome.Describe()})
	}
	conform.Inconclusive("the call succeeded, and nothing shows whether the server saw that "+wrong,
		"name a tool that shows what the client answered under provocations in mcpconform.yaml")
}
