package session

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

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

// CallWrong asks for what is to be refused, for the thing that the request names, and
// returns the response. It needs the contrast to controls, with which nothing is wrong:
// see NeedContrast. What is no JSON-RPC response fails the check, unless the controls get
// none either.
func (s *Server) CallWrong(wrong Request, controls ...Request) Reply {
	request := s.Call(wrong.Method, wrong.Params, Illegal(wrong.Deliberate))
	reply := request.May()
	if reply.Answered() {
		s.NeedContrast(reply, wrong.Name, controls...)
		s.t.Judging(reply) // and not a control
		return reply
	}
	answered := func(control Request) bool {
		_, responded := s.try(control)
		return responded
	}
	if !slices.ContainsFunc(controls[:min(mostControls, len(controls))], answered) {
		s.t.Inconclusive(
			"cannot tell why it was refused: "+reply.Instead.Error(),
			"fix the HTTP error status of "+wrong.Method+" first",
		)
	}
	judgeError(s.t, "a JSON-RPC response to "+wrong.Method, reply.Instead)
	return reply
}

// Survives judges that the server goes on after a request that must not stop it. That it
// replies to the request itself, in whatever way, is looked at afterwards.
func (s *Server) Survives(request *Answer) {
	_ = request.Wait()
	s.StaysUsable()
	request.May()
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
func (s *Server) StillServes(wrong, plain Request, served func(Reply) bool) {
	if before, after := s.afterwards(wrong, plain); !served(before) || !served(after) {
		StillServes(s.t, wrong, plain, served)
	}
	s.t.Observe()
}

func needAfterwards(t *T, wrong, plain Request, served func(Reply) bool) (after Reply, well bool) {
	before, after := FreshSession(t).afterwards(wrong, plain)
	if !served(before) {
		t.NotApplicable(plain.Method + " already failed before: " + before.Describe())
	}
	return after, served(after)
}

// afterwards asks for something before and after something wrong was asked for. What is
// answered by no response is not served.
func (s *Server) afterwards(wrong, plain Request) (before, after Reply) {
	before = s.Call(plain.Method, plain.Params).May()
	s.Call(wrong.Method, wrong.Params, Illegal(wrong.Deliberate)).May() // others judge the answer
	after = s.Call(plain.Method, plain.Params).May()
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
func (s *Server) try(control Request) (reply Reply, responded bool) {
	request := s.Call(control.Method, control.Params)
	if control.Method == "tools/call" {
		reply = request.May(BeLate)
		return reply, reply.Kind == jsonrpc.Response
	}
	reply = request.May()
	return reply, reply.Answered()
}

// NeedContrast makes a check inconclusive unless a refusal is about what was wrong with
// a request: what a server says that refuses everything, because its database is
// missing, is no answer to that. One of the controls, with which nothing is wrong, has
// to be answered otherwise; without any, the refusal has to name what was wrong.
func (s *Server) NeedContrast(refused Reply, wrong string, controls ...Request) {
	switch {
	case !refused.Refuses() || s.Contrasts(refused, wrong, controls...):
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
func (s *Server) Contrasts(refused Reply, wrong string, controls ...Request) bool {
	if len(controls) == 0 {
		return refused.mentions(wrong)
	}
	return slices.ContainsFunc(controls[:min(mostControls, len(controls))], func(control Request) bool {
		reply, responded := s.try(control)
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

const (
	// Stranger is an origin that nobody can have told a server to trust: the domain
	// invalid is reserved (RFC 2606).
	Stranger = "https://stranger.invalid"
	// ByStranger is why a request from there is illegal on purpose.
	ByStranger = "comes from a web page of another site"
)

// BeTurnedAway matches a response with an error status.
func BeTurnedAway() types.GomegaMatcher {
	return Be("an HTTP error status", func(actual any) bool {
		response, isResponse := actual.(*Response)
		return isResponse && response.Status >= 400
	})
}
