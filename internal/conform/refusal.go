package conform

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Provoke sends a request that is to be refused, for the reason, and returns its
// answer with the HTTP status (0 over stdio). What is no JSON-RPC response fails the
// check.
func (s *Server) Provoke(ctx context.Context, method string, params any, reason string) (reply Reply, status int) {
	reply, status, err := s.Attempt(ctx, method, params, reason)
	if err != nil {
		judgeError(s.t, "a JSON-RPC error in answer to "+method, err)
	}
	return reply, status
}

// Attempt does the same for a check that goes on without a response. Over HTTP the
// error may stand in the body of the refusal without the request's id; a refusal that
// is none is returned as an error. No reply at all ends the check.
func (s *Server) Attempt(
	ctx context.Context,
	method string,
	params any,
	reason string,
) (reply Reply, status int, err error) {
	id := s.NextID()
	raw := jsonrpc.NewRequest(id, method, s.WithMeta(params))
	request := s.StartRaw(ctx, id, method, scripted.Outgoing{Raw: raw, Deliberate: reason}, nil)
	received, err := request.Wait(ctx)
	if refusal, inBody := errorInBody(err, id); inBody {
		received, err = refusal, nil
	}
	if err != nil {
		s.needReply(request, err)
	}
	return taken(s.t, received), request.Delivery.Status, err
}

// Try sends a request that the server may refuse in whatever way, and returns the
// response to it; responded is false when it is refused by an HTTP status without one.
// No reply at all ends the check.
func (s *Server) Try(ctx context.Context, method string, params any) (reply Reply, responded bool) {
	request := s.Start(ctx, method, params)
	received, err := request.Settle(ctx)
	return s.tried(request, received, err)
}

// Survives sends a request that must not stop the server, marked with the reason if it
// is illegal on purpose, and judges that the server goes on. That it replies to the
// request itself, in whatever way, is looked at afterwards.
func (s *Server) Survives(ctx context.Context, method string, params any, deliberate string) {
	request := s.StartRaw(ctx, s.NextID(), method, scripted.Outgoing{Deliberate: deliberate}, params)
	received, err := request.Settle(ctx)
	s.StaysUsable(ctx)
	s.tried(request, received, err)
}

func (s *Server) tried(request *scripted.Pending, received scripted.Received, err error) (reply Reply, responded bool) {
	if refusal, inBody := errorInBody(err, request.ID); inBody {
		received, err = refusal, nil
	}
	if err != nil {
		s.needReply(request, err)
	}
	return taken(s.t, received), err == nil
}

// TryTool does the same with a call of a tool. That may take its time, and over HTTP the
// stream may end before the answer, to be taken up again: such a call is cancelled, and
// inTime is false.
func (s *Server) TryTool(ctx context.Context, params any) (reply Reply, inTime bool) {
	request := s.Start(ctx, "tools/call", params)
	received, err := request.Settle(ctx)
	if errors.Is(err, scripted.ErrTimeout) || errors.Is(err, scripted.ErrNoAnswer) {
		s.Abandon(ctx, request)
		return reply, false
	}
	reply, _ = s.tried(request, received, err)
	return reply, true
}

// needReply ends the check unless an error is a reply, too: a status by which the server
// refuses the request.
func (s *Server) needReply(request *scripted.Pending, err error) {
	status, refused := errors.AsType[*scripted.StatusError](err)
	switch {
	case !refused, errors.Is(err, scripted.ErrNoAnswer):
		s.noReply(request.Method, request.ID, err)
	case unavailable(status.Status):
		s.turnedAway(request.Method, err)
	}
}

// errorInBody reads the JSON-RPC error in a response that has a status of refusal. It
// is about the request with the id, or names none.
func errorInBody(err error, id jsonrpc.ID) (refusal scripted.Received, there bool) {
	status, refused := errors.AsType[*scripted.StatusError](err)
	if !refused || transcript.KindOfBody(http.MethodPost, status.Status, status.Body) != transcript.Message {
		return refusal, false
	}
	refusal = scripted.Received{Message: jsonrpc.Parse(status.Body), At: status.OfBody}
	_, there = refusal.Error()
	return refusal, there && (refusal.ID == id || refusal.ID == jsonrpc.NoID || refusal.ID == jsonrpc.NullID)
}

// A Request is what a check asks for.
type Request struct {
	Method string
	Params any
	// Name is what it is about, or what is wrong about it, as an error would name it: a
	// tool, a resource, an argument; "" for none.
	Name       string
	Deliberate string // why it is illegal on purpose, if it is
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

// AskWrong asks for what is to be refused, for the thing that the request names, and
// returns the response. It needs the contrast to controls, with which nothing is wrong:
// see NeedContrast. What is no JSON-RPC response fails the check, unless the controls get
// none either.
func (s *Server) AskWrong(ctx context.Context, wrong Request, controls ...Request) Reply {
	request := s.StartRaw(ctx, s.NextID(), wrong.Method, scripted.Outgoing{Deliberate: wrong.Deliberate}, wrong.Params)
	received, err := request.Settle(ctx)
	reply, responded := s.tried(request, received, err)
	if responded {
		s.NeedContrast(ctx, reply, wrong.Name, controls...)
		s.t.Judging(reply) // and not a control
		return reply
	}
	answered := func(control Request) bool {
		_, responded := s.try(ctx, control)
		return responded
	}
	if !slices.ContainsFunc(controls[:min(mostControls, len(controls))], answered) {
		s.t.Inconclusive(
			"cannot tell why it was refused: "+err.Error(),
			"fix the HTTP error status of "+wrong.Method+" first",
		)
	}
	judgeError(s.t, "a JSON-RPC response to "+wrong.Method, err)
	return reply
}

// StillServes judges that the server serves a request after it was asked for something wrong by
// the same method as it does before. What it does not serve at all makes the check
// inapplicable; what fails by chance does not do so twice.
func StillServes(t *T, wrong, plain Request, served func(Reply) bool) {
	reply, well := needAfterwards(t, wrong, plain, served)
	t.Observe()
	if well {
		return
	}
	if _, well := needAfterwards(t, wrong, plain, served); well {
		t.Inconclusive(
			plain.Method+" is served only sometimes: "+reply.Describe(),
			"make sure that the server can serve "+plain.Method,
		)
	}
	t.Judge(Mismatch{
		Wanted: plain.Method + " served as before the request for " + wrong.Name,
		Found:  reply.Describe(),
	})
}

// StillServes judges the same, first on a session that other methods have been tried on.
func (s *Server) StillServes(ctx context.Context, wrong, plain Request, served func(Reply) bool) {
	if before, after := s.afterwards(ctx, wrong, plain); !served(before) || !served(after) {
		StillServes(s.t, wrong, plain, served)
	}
	s.t.Observe()
}

func needAfterwards(t *T, wrong, plain Request, served func(Reply) bool) (after Reply, well bool) {
	before, after := FreshSession(t).afterwards(t, wrong, plain)
	if !served(before) {
		t.NotApplicable(plain.Method + " already failed before: " + before.Describe())
	}
	return after, served(after)
}

// afterwards asks for something before and after something wrong was asked for. What is
// answered by no response is not served.
func (s *Server) afterwards(ctx context.Context, wrong, plain Request) (before, after Reply) {
	before, _ = s.Try(ctx, plain.Method, plain.Params)
	request := s.StartRaw(
		ctx, s.NextID(), wrong.Method, scripted.Outgoing{Deliberate: wrong.Deliberate}, wrong.Params,
	)
	received, err := request.Settle(ctx)
	s.tried(request, received, err) // others judge the answer
	after, _ = s.Try(ctx, plain.Method, plain.Params)
	return before, after
}

// Brings tells whether a reply brings a list, and is no refusal.
func Brings(member string) func(Reply) bool {
	return func(reply Reply) bool {
		_, there := reply.Object()[member].([]any)
		return there && !reply.Refuses()
	}
}

// mostControls bounds how many are made: what fails so often fails for another reason.
const mostControls = 3

// try asks for something with which nothing is wrong.
func (s *Server) try(ctx context.Context, control Request) (reply Reply, responded bool) {
	if control.Method == "tools/call" {
		reply, _ = s.TryTool(ctx, control.Params)
		return reply, reply.Kind == jsonrpc.Response
	}
	return s.Try(ctx, control.Method, control.Params)
}

// NeedContrast makes a check inconclusive unless a refusal is about what was wrong with
// a request: what a server says that refuses everything, because its database is
// missing, is no answer to that. One of the controls, with which nothing is wrong, has
// to be answered otherwise; without any, the refusal has to name what was wrong.
func (s *Server) NeedContrast(ctx context.Context, refused Reply, wrong string, controls ...Request) {
	switch {
	case !refused.Refuses() || s.Contrasts(ctx, refused, wrong, controls...):
	case len(controls) == 0:
		s.t.Inconclusive(
			"cannot tell why it was refused: no valid call may be made to compare: "+refused.Describe(),
			"annotate a tool with readOnlyHint, or name one with its arguments in mcpconform.yaml",
		)
	default:
		s.t.Inconclusive(
			"a valid request is rejected in the same way: "+refused.Describe(),
			"make sure that the server can serve "+controls[0].Method+", or name valid arguments in mcpconform.yaml",
		)
	}
}

// Contrasts tells the same for a check that goes on without.
func (s *Server) Contrasts(ctx context.Context, refused Reply, wrong string, controls ...Request) bool {
	if len(controls) == 0 {
		return refused.mentions(wrong)
	}
	return slices.ContainsFunc(controls[:min(mostControls, len(controls))], func(control Request) bool {
		reply, responded := s.try(ctx, control)
		return responded && !refused.Alike(wrong, reply, control.Name)
	})
}

// Alike tells whether another reply refuses in the same way, with the names of what each
// request was about left out: with the same words, or with the same code and words that
// do not name what was wrong, or name it after the same words where nothing is wrong with it.
func (r Reply) Alike(wrong string, other Reply, name string) bool {
	if !r.Refuses() || !other.Refuses() {
		return false
	}
	one, isError := r.Error()
	another, isErrorToo := other.Error()
	if isError != isErrorToo {
		return false
	}
	sameWords := r.refusal(wrong) == other.refusal(name)
	byChance := other.mentions(wrong) && r.before(wrong) == other.before(wrong) // as a common word
	namesWrong := r.mentions(wrong) && !byChance
	return sameWords || one.Code == another.Code && !namesWrong
}

// mentions tells whether a refusal names something, as a word of its own.
func (r Reply) mentions(name string) bool {
	text := r.refusal("")
	for name != "" {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		if !unicode.IsLetter(last) && !unicode.IsLetter(first) {
			return true
		}
		text = after
	}
	return false
}

// before is what a refusal says before it names something.
func (r Reply) before(name string) string {
	text, _, _ := strings.Cut(r.refusal(""), name)
	return text
}

// Words are the texts of a reply: of an error, or of the content of a result.
func (r Reply) Words() string { return r.refusal("") }

// refusal is what a reply says of why it refuses, with a name left out.
func (r Reply) refusal(name string) string {
	var text strings.Builder
	if refusal, refused := r.Error(); refused {
		text.WriteString(refusal.Message + " " + jsonrpc.Text(refusal.Data))
	}
	content, _ := r.Object()["content"].([]any)
	for _, element := range content {
		block, _ := element.(map[string]any)
		words, _ := block["text"].(string)
		text.WriteString(words + "\n")
	}
	if name == "" {
		return text.String()
	}
	return strings.ReplaceAll(text.String(), name, "")
}
