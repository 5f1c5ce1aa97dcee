package session

import (
	"errors"
	"fmt"
	"net/http"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// An Answer is what comes of a request. Call sends, and one of three judgements waits:
//
//	what came                      Must          Need          May            Must(BeAnswered)
//	a result, a JSON-RPC error     the reply     the reply     the reply      the reply
//	an HTTP error status           failed        inconclusive  reply.Instead  failed
//	the same, and in its body an
//	error without the id           failed        inconclusive  the reply      failed
//	401, 407, 408, 429, 502–504    inconclusive  inconclusive  inconclusive   failed
//	nothing: no answer in time,
//	the connection or process gone inconclusive  inconclusive  inconclusive   failed
//	the call of a tool that may
//	take longer than the wait      inconclusive  inconclusive  inconclusive   inconclusive
//	more than the harness takes    inconclusive  inconclusive  inconclusive   inconclusive
//
// Must is for the answer that a check is about, Need for one without which it cannot go on,
// May for one that may be absent. Nothing at all is a finding of its own, of
// AnsweredRequirement, on which the check is inconclusive; only a check that is about being
// answered, in circumstances of its own, says so: Must(BeAnswered). How the answer is judged
// holds for its result, too: see Reply.Result.
type Answer struct {
	*scripted.Pending
	server *Server
	calling

	over     bool // Wait was called, and this is what came:
	received scripted.Received
	err      error
}

// calling is what the options of a call say.
type calling struct {
	id       jsonrpc.ID
	message  scripted.Outgoing
	rounds   int
	refused  bool // it is to be refused
	inherits bool // another check has sent it
	or       func(scripted.Received) bool
}

// CallOption says how a request is sent, or waited for.
type CallOption func(*calling)

// Once has Call return the very answer, also when that asks for input. Otherwise the client
// gives the input and asks again, as long as the server asks for it.
func Once(c *calling) { c.rounds = 1 }

// Attempts has the client ask so many times at most, the first included.
func Attempts(most int) CallOption { return func(c *calling) { c.rounds = most } }

// WithID sends the request with an id of the check's choice.
func WithID(id jsonrpc.ID) CallOption { return func(c *calling) { c.id = id } }

// Illegal marks the request in the transcript as illegal on purpose, for the reason; for ""
// it is a legal one.
func Illegal(reason string) CallOption { return func(c *calling) { c.message.Deliberate = reason } }

// Raw sends bytes as they are in the place of the request, which is one for the transport
// alone. They are illegal for the reason, unless that is "".
func Raw(bytes []byte, reason string) CallOption {
	return func(c *calling) { c.message = scripted.Outgoing{Raw: bytes, Deliberate: reason} }
}

// ToBeRefused sends a request that is to be refused, and that is illegal for the reason, unless
// that is "": over HTTP the JSON-RPC error may stand in the body of an error status, with the
// id of the request or without. It is sent once.
func ToBeRefused(reason string) CallOption {
	return func(c *calling) { c.message.Deliberate, c.rounds, c.refused = reason, 1, true }
}

// Call sends a request and does not wait: how its answer is judged says for what the check
// needs it.
func (s *Server) Call(method string, params any, options ...CallOption) *Answer {
	how := calling{id: jsonrpc.NoID}
	for _, option := range options {
		option(&how)
	}
	if how.id == jsonrpc.NoID {
		how.id = s.NextID()
	}
	return &Answer{Pending: s.StartRaw(s.t, how.id, method, how.message, params), server: s, calling: how}
}

// OrUntil returns an answer whose wait also ends when another message has come, since the
// request, that matches: that is then the reply.
func (a *Answer) OrUntil(match func(scripted.Received) bool) *Answer {
	until := Answer{Pending: a.Pending, server: a.server, calling: a.calling}
	until.or = match
	return &until
}

// Wait waits for what comes, and judges nothing: the error says why no answer came.
func (a *Answer) Wait() error {
	if a.over {
		return a.err
	}
	a.over = true
	switch t := a.server.t; {
	case a.or != nil:
		a.received, a.err = a.WaitOr(t, a.or)
	case a.rounds > 0:
		a.received, a.err = a.SettleWithin(t, a.rounds)
	default:
		a.received, a.err = a.Settle(t)
	}
	return a.err
}

// BeAnswered has Must judge that an answer comes at all, when the target is there and the
// check was repeated alone.
var BeAnswered mustBe

type mustBe struct{}

// Must judges the answer of a request that the check is about.
func (a *Answer) Must(be ...mustBe) Reply {
	wanted := "a JSON-RPC response to " + a.Method
	if a.refused {
		wanted = "a JSON-RPC error in answer to " + a.Method
	}
	switch err := a.Wait(); {
	case a.refused && a.readBody():
	case err != nil && len(be) > 0:
		a.missing(err)
	case err != nil:
		a.needReply(err)
		if status, _ := errors.AsType[*scripted.StatusError](err); !a.refused {
			// A server that was started anew has lost its sessions.
			a.server.t.Outcome.Doubtful = status.Status == http.StatusNotFound
		}
		judgeError(a.server.t, wanted, err)
	case len(be) > 0 && !a.inherits:
		a.server.t.Observe()
	}
	return a.reply(must)
}

// Need makes the check inconclusive unless an answer comes: another one judges that.
func (a *Answer) Need() Reply {
	if err := a.Wait(); err != nil {
		status, refused := errors.AsType[*scripted.StatusError](err)
		if refused && !unavailable(status.Status) && !errors.Is(err, scripted.ErrNoAnswer) {
			a.server.t.Inconclusive(
				fmt.Sprintf("%s was refused: %s", a.Method, err),
				"fix the failures of "+a.Method+" first",
			)
		}
		a.needReply(err)
	}
	return a.reply(need)
}

// BeLate has May cancel a call that takes its time, or of which the stream ends before the
// answer, to be taken up again: its reply is Late.
var BeLate mayBe

type mayBe struct{}

// May returns what came, an answer or an HTTP status in its place.
func (a *Answer) May(be ...mayBe) Reply {
	err := a.Wait()
	switch {
	case len(be) > 0 && (errors.Is(err, scripted.ErrTimeout) || errors.Is(err, scripted.ErrNoAnswer)):
		a.server.Cancel(a)
		return Reply{Late: true}
	case err != nil && !a.readBody():
		a.needReply(err)
	}
	return a.reply(may)
}

// readBody takes the JSON-RPC error in the body of a refusal for the answer, if there is one.
func (a *Answer) readBody() bool {
	refusal, inBody := scripted.ErrorInBody(a.err, a.ID)
	if inBody {
		a.received, a.err = refusal, nil
	}
	return inBody
}

// needReply ends the check unless an error is a reply, too: a status by which the server
// refuses the request.
func (a *Answer) needReply(err error) {
	status, refused := errors.AsType[*scripted.StatusError](err)
	switch {
	case !refused, errors.Is(err, scripted.ErrNoAnswer):
		a.server.Unanswered(a.Method, a.ID, err)
	case unavailable(status.Status):
		a.server.turnedAway(a.Method, err)
	}
}

// missing fails a check that is about being answered.
func (a *Answer) missing(err error) {
	s := a.server
	s.needPosted(a.Method, err)
	if s.mayTakeLonger(a.ID, err) {
		s.Unanswered(a.Method, a.ID, err)
	}
	_, s.t.Outcome.NoReply = s.unreplied(a.Method, a.ID, err) // reported if the server is gone
	s.tooLate(a.Method, a.ID, err)
	missing(s.t, "a response to "+a.Method, err, !hasStray(s.Log().Events()))
}

// judgement is how an answer is judged.
type judgement int

const (
	may judgement = iota
	need
	must
)

func (a *Answer) reply(judged judgement) Reply {
	reply := Reply{Received: a.received, of: a, judged: judged}
	reply.Instead, _ = errors.AsType[*scripted.StatusError](a.err)
	select {
	case <-a.Delivery.Head():
		reply.Status = a.Delivery.Status
	default: // another message has come before
	}
	a.server.t.Judging(reply)
	return reply
}

// Reply is the answer to a request, a result or an error, and what a check is about until it
// takes another.
type Reply struct {
	scripted.Received
	Status  int                   // of the HTTP response that brought it; 0 over stdio
	Instead *scripted.StatusError // the HTTP response that came in its place; nil for none
	Late    bool                  // none came in time

	of     *Answer
	judged judgement
}

// Answered tells whether there is an answer, which need not be after May.
func (r Reply) Answered() bool { return r.Instead == nil && !r.Late }

// Result returns the result, which is an object. Any other answer fails the check after Must,
// makes it inconclusive after Need, and has a nil result after May.
func (r Reply) Result() Object {
	result, isObject := AsObject(r)
	switch {
	case r.judged == must:
		r.of.server.t.DemandOf(r, isObject, "a result of "+r.of.Method)
	case r.judged == need && !isObject:
		r.of.server.t.Inconclusive(
			fmt.Sprintf("%s did not succeed: %s", r.of.Method, r.Describe()),
			"fix the failures of "+r.of.Method+" first",
		)
	}
	return result
}

// Object returns the result, however the answer is judged; nil when it is not an object.
func (r Reply) Object() Object {
	object, _ := AsObject(r)
	return object
}

// Refuses tells whether a reply refuses what was asked for: by an error, or by the
// result of a tool that is one.
func (r Reply) Refuses() bool {
	_, refused := r.Error()
	return refused || r.Object()["isError"] == true
}

// WantsCapability tells whether a reply refuses a request because it needs a capability that
// the client has not declared, as any request may (2026-07-28, basic/index): that of an
// extension, perhaps.
func (r Reply) WantsCapability(t *T) bool {
	refusal, refused := r.Error()
	return refused && t.Has(protocol.Extensions) && refusal.Code == jsonrpc.MissingCapability
}

// OrStatus is the reply for a matcher, or the HTTP status that came in its place.
func (r Reply) OrStatus() any {
	if r.Instead != nil {
		return Status{r.Instead}
	}
	return r
}

// Describe says in words what the answer is.
func (r Reply) Describe() string { return Sent{Message: r.Message}.Describe() }

// Place is where the answer stands in the transcript.
func (r Reply) Place() transcript.Place { return r.At }

// Response is the message itself.
func (r Reply) Response() jsonrpc.Message { return r.Message }

// Notice is a notification that was sent.
type Notice struct {
	server  *Server
	method  string
	refused *scripted.StatusError // nil for one that was accepted
}

// Notify sends a notification. When nothing shows what became of it, the check ends.
func (s *Server) Notify(method string, params any) Notice {
	err := s.Connection.Notify(s.t, method, params)
	status, refused := errors.AsType[*scripted.StatusError](err)
	switch {
	case err == nil:
	case !refused:
		s.Unanswered(method, jsonrpc.NoID, err)
	case unavailable(status.Status):
		s.turnedAway(method, err)
	}
	return Notice{s, method, status}
}

// Must fails the check when the transport refuses the notification.
func (n Notice) Must() {
	if n.refused != nil {
		judgeError(n.server.t, n.method+" to be accepted", n.refused)
	}
}

// May tells whether the notification, which the server may refuse by an HTTP status, was
// accepted.
func (n Notice) May() bool { return n.refused == nil }
