// Package asking makes a target server ask its client, for the checks of the
// pages about roots, sampling and elicitation.
package asking

import (
	"fmt"
	"strings"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
)

// ServerRequest is what a call of a tool made the server ask of its client: by a
// request, or in the stateless era by the result of the call.
type ServerRequest struct {
	session.ServerRequest
	server *session.Server
	call   *session.Answer
	mark   int
	kind   string // of the provocation
}

// Params are those of what is asked.
func (q *ServerRequest) Params() check.Object { return q.Parameters }

// Provoke calls a tool that makes the server ask by a method, and waits for that. A
// tool that ends without asking makes the check inconclusive.
func Provoke(t *check.T, server *session.Server, kind, method string) *ServerRequest {
	provocation := offer.Provoking(t, kind)
	server.KeepListening()
	mark := server.Mark()
	call := server.Call("tools/call", provocation.Call(), session.Attempts(mostRounds))
	reply := call.OrUntil(session.RequestOf(method)).Need()
	asked := server.ServerRequests(mark, method)
	if len(asked) == 0 {
		t.Inconclusive(
			fmt.Sprintf("the tool %s ended without %s: %s", provocation.Tool, method, reply.Describe()),
			"name a tool that requests it under provocations."+kind+" in mcpconform.yaml",
		)
	}
	return &ServerRequest{ServerRequest: asked[0], server: server, call: call, mark: mark, kind: kind}
}

// mostRounds is how often a call is made at most, again because the server asks for
// more.
const mostRounds = 65

// Outcome waits for the end of the call that made the server ask, which the client
// answers meanwhile as it was told to. A call that does not end makes the check
// inconclusive; in the stateless era its end may be a question that the client does not
// answer.
func (q *ServerRequest) Outcome() session.Reply {
	return q.call.Need()
}

// MustEnd does the same for a check that is about the end: a call without one fails it.
func (q *ServerRequest) MustEnd() {
	q.call.Must(session.BeAnswered)
}

// Since returns what the server asked for by a method since the call began.
func (q *ServerRequest) Since(method string) []session.ServerRequest {
	return q.server.ServerRequests(q.mark, method)
}

// GiveUp leaves the question unanswered: it cancels the call that waits for the
// answer. In the stateless era none does.
func (q *ServerRequest) GiveUp(t *check.T) {
	if t.Has(protocol.ServerRequests) {
		q.server.Cancel(q.call)
	}
}

// Unasked calls a tool that would make the server ask by a method, on a connection
// where it should not, and returns what it asked for all the same. How the call ends is
// left to the server. A tool that does not ask a client of whom it may makes the check
// inconclusive.
func Unasked(t *check.T, able, server *session.Server, kind, method string) []session.ServerRequest {
	Provoke(t, able, kind, method).Outcome()
	server.KeepListening()
	mark := server.Mark()
	server.Call("tools/call", offer.Provoking(t, kind).Call()).Need()
	server.BarrierOnAllStreams()
	return server.ServerRequests(mark, method)
}

// DemandNone fails the check when something was asked for. It observes that it was not:
// the check sees to it that it could have been.
func DemandNone(t *check.T, all ...session.ServerRequest) {
	t.Observe()
	for _, asked := range all {
		t.Judge(rules.Mismatch{Wanted: "no " + asked.Method, Found: excerpt.Short(asked.Raw), Of: asked.At})
	}
}

// Succeeded tells whether a call ended with a result that is no error, and beside which none
// stands.
func Succeeded(outcome session.Reply) bool {
	result := outcome.Object()
	_, refused := outcome.Error()
	return !refused && result != nil && result["isError"] != true && result["resultType"] != "input_required"
}

// Marker is a value that stands where a wrong answer is wrong, so that it can be
// seen whether the server made use of it.
const Marker = "mcpconform-wrong-4711"

// NeedSuccess makes the check inconclusive when a tool that asks does not succeed for a
// client that gives it what it wants: then how it ends shows nothing of what it was
// given. It returns how the call ended.
func NeedSuccess(t *check.T, server *session.Server, kind string) session.Reply {
	provocation := offer.Provoking(t, kind)
	server.KeepListening()
	reply := server.Call("tools/call", provocation.Call()).Need()
	if !Succeeded(reply) {
		t.Inconclusive(
			"the tool "+provocation.Tool+" does not succeed with a client that answers its request: "+reply.Describe(),
			"name one that does under provocations."+kind+" in mcpconform.yaml",
		)
	}
	return reply
}

// JudgeValidation judges how the call ended, as the function does that has this name, of
// a tool that ended otherwise for a right answer. One that tells of errors in results
// which succeed may quote there what it rejects: then nothing shows which it does.
func (q *ServerRequest) JudgeValidation(t *check.T, outcome, good session.Reply, wrong string) {
	if t.Has(protocol.ServerRequests) && takes(outcome) {
		q.server.Answer(q.Method, scripted.Refusal(jsonrpc.InternalError, "the client failed"))
		failed := Provoke(t, q.server, q.kind, q.Method).Outcome()
		if Succeeded(failed) && alike(outcome, failed) > alike(outcome, good) {
			t.Inconclusive("the tool reports the failure in a successful result: "+failed.Describe(),
				"name a tool that returns an error under provocations."+q.kind+" in mcpconform.yaml")
		}
	}
	JudgeValidation(t, outcome, wrong)
}

// alike counts the bytes with which the texts of two results begin alike.
func alike(a, b session.Reply) int {
	one, other := refusal.TextOf(a), refusal.TextOf(b)
	for i := range min(len(one), len(other)) {
		if one[i] != other[i] {
			return i
		}
	}
	return min(len(one), len(other))
}

// takes tells whether a call succeeded and shows the marker that the client answered.
func takes(outcome session.Reply) bool {
	return Succeeded(outcome) && strings.Contains(string(outcome.Raw), Marker)
}

// JudgeValidation judges how a call ended whose question got a wrong answer, and which
// succeeds with a right one: a refusal shows that the server looked, the marker in a
// success that it did not. Anything else shows nothing.
func JudgeValidation(t *check.T, outcome session.Reply, wrong string) {
	taken := takes(outcome)
	if Succeeded(outcome) && !taken {
		t.Inconclusive("the call succeeded, and it is unknown whether the server noticed that "+wrong,
			"name a tool that returns the answer of the client under provocations in mcpconform.yaml")
	}
	t.DemandOf(outcome, !taken, "an error, since "+wrong)
}
