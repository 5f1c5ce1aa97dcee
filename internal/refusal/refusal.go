// Package refusal judges by a server's refusals: whether one is about what was wrong with the
// request, and whether what is right is served all the same.
package refusal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// A Request is what a check asks for.
type Request struct {
	Method string
	Params any
	// Name is what it is about, or what is wrong about it, as an error would name it: a
	// tool, a resource, an argument; "" for none.
	Name       string
	Deliberate string // why it is illegal on purpose, if it is
	// Passing says that it is right for a while only, so that a refusal may have come too late.
	Passing bool
}

// CallWrong asks for what is to be refused, for the thing that the request names, and
// returns the response. It needs the contrast to controls, with which nothing is wrong:
// see NeedContrast. What is no JSON-RPC response fails the check, unless the controls get
// none either.
func CallWrong(t *T, server *Server, wrong Request, controls ...Request) Reply {
	request := server.Call(wrong.Method, wrong.Params, Illegal(wrong.Deliberate))
	reply := request.May()
	if reply.Answered() {
		NeedContrast(t, server, reply, wrong.Name, controls...)
		t.Judging(reply) // and not a control
		return reply
	}
	answered := func(control Request) bool {
		_, responded := try(server, control)
		return responded
	}
	if !slices.ContainsFunc(controls[:min(mostControls, len(controls))], answered) {
		inconclusive(t, controls,
			"cannot tell why it was refused: "+reply.Instead.Error(),
			"fix the HTTP error status of "+wrong.Method+" first",
		)
	}
	t.Judging(Status{Response: reply.Instead})
	t.Observe()
	t.Judge(Mismatch{Wanted: "a JSON-RPC response to " + wrong.Method, Found: reply.Instead.Error()})
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

// StillServesOn judges the same, first on a session that other methods have been tried on.
func StillServesOn(t *T, used *Server, wrong, plain Request, served func(Reply) bool) {
	if before, after := afterwards(used, wrong, plain); !served(before) || !served(after) {
		StillServes(t, wrong, plain, served)
	}
	t.Observe()
}

func needAfterwards(t *T, wrong, plain Request, served func(Reply) bool) (after Reply, well bool) {
	before, after := afterwards(FreshSession(t), wrong, plain)
	if !served(before) {
		t.NotApplicable(plain.Method + " already failed before: " + before.Describe())
	}
	return after, served(after)
}

// afterwards asks for something before and after something wrong was asked for. What is
// answered by no response is not served.
func afterwards(server *Server, wrong, plain Request) (before, after Reply) {
	before = server.Call(plain.Method, plain.Params).May()
	server.Call(wrong.Method, wrong.Params, Illegal(wrong.Deliberate)).May() // others judge the answer
	after = server.Call(plain.Method, plain.Params).May()
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
func try(server *Server, control Request) (reply Reply, responded bool) {
	request := server.Call(control.Method, control.Params)
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
func NeedContrast(t *T, server *Server, refused Reply, wrong string, controls ...Request) {
	switch {
	case !refused.Refuses() || Contrasts(server, refused, wrong, controls...):
	case len(controls) == 0:
		t.Inconclusive(
			"cannot tell why it was refused: no valid call may be made to compare: "+refused.Describe(),
			"annotate a tool with readOnlyHint, or name one with its arguments in mcpconform.yaml",
		)
	default:
		inconclusive(t, controls,
			"a valid request is rejected in the same way: "+refused.Describe(),
			"make sure that the server can serve "+controls[0].Method+", or name valid arguments in mcpconform.yaml",
		)
	}
}

// inconclusive ends a check to which its controls do not tell why something is refused: one that is
// right for a while only may have come too late.
func inconclusive(t *T, controls []Request, reason, hint string) {
	if slices.ContainsFunc(controls, func(control Request) bool { return control.Passing }) {
		t.TooLate(reason, hint)
	}
	t.Inconclusive(reason, hint)
}

// Contrasts tells the same for a check that goes on without.
func Contrasts(server *Server, refused Reply, wrong string, controls ...Request) bool {
	if len(controls) == 0 {
		return mentions(refused, wrong)
	}
	return slices.ContainsFunc(controls[:min(mostControls, len(controls))], func(control Request) bool {
		reply, responded := try(server, control)
		return responded && !Alike(refused, wrong, reply, control.Name)
	})
}

// Alike tells whether another reply refuses in the same way, with the names of what each
// request was about left out: with the same words, or with the same code and words that
// do not name what was wrong, or name it after the same words where nothing is wrong with it.
func Alike(refused Reply, wrong string, other Reply, name string) bool {
	if !refused.Refuses() || !other.Refuses() {
		return false
	}
	one, isError := refused.Error()
	another, isErrorToo := other.Error()
	if isError != isErrorToo {
		return false
	}
	sameWords := textWithout(refused, wrong) == textWithout(other, name)
	byChance := mentions(other, wrong) && textBefore(refused, wrong) == textBefore(other, wrong) // as a common word
	namesWrong := mentions(refused, wrong) && !byChance
	return sameWords || one.Code == another.Code && !namesWrong
}

// mentions tells whether a refusal names something, as a word of its own.
func mentions(refused Reply, name string) bool {
	text := textWithout(refused, "")
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

// textBefore is what a refusal says before it names something.
func textBefore(refused Reply, name string) string {
	text, _, _ := strings.Cut(textWithout(refused, ""), name)
	return text
}

// TextOf is the text of a reply: of an error, or of the content of a result.
func TextOf(reply Reply) string { return textWithout(reply, "") }

// textWithout is what a reply says of why it refuses, with a name left out.
func textWithout(reply Reply, name string) string {
	var text strings.Builder
	if refusal, refused := reply.Error(); refused {
		text.WriteString(refusal.Message + " " + jsonrpc.Text(refusal.Data))
	}
	content, _ := reply.Object()["content"].([]any)
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
	// Stranger is an origin that no server can have been told to trust: the domain invalid is
	// reserved (RFC 2606).
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
