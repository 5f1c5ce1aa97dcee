// Package requests makes requests without side effects in each of their legal forms, and one
// with each method, and judges whether the server takes them alike.
package requests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/forms"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Essence is what the answers to a request have in common in all forms of it: that it is a
// result or an error, and the names of a list's items.
func Essence(method string, reply Reply) string {
	if refusal, refused := reply.Error(); refused {
		return fmt.Sprintf("error %s %q", CodeName(refusal.Code), refusal.Message)
	}
	result := reply.Object()
	if result == nil {
		return reply.Describe()
	}
	items, isList := result[mcp.ListMember(method)].([]any)
	if !isList {
		return "a result"
	}
	names := make([]string, len(items))
	for i, item := range items {
		object, _ := item.(map[string]any)
		name, _ := object["name"].(string)
		names[i] = name
	}
	slices.Sort(names)
	return "a result with " + strings.Join(names, ", ")
}

// InEachForm asks for the same in each of some forms, on a session that it shares, and
// demands what the plain form brings under the id of the request. Where a form brings
// something else, each one is tried alone on a session of its own, so that all are judged
// and those that fail are named.
func InEachForm(t *T, asked Harmless, all []forms.Form) {
	server := Session(t)
	fresh := func() *Server { return UnusedSession(t) }
	judgeForms(t, asked, forms.Fan(all), func() *Server { return server }, fresh)
}

// InEachHello does so with initialize, on fresh connections: the forms are those of what
// a client says of itself, the first of each class at once. Over stdio each connection is
// a process.
func InEachHello(t *T, all []forms.Form) {
	hello := Harmless{Method: "initialize", Params: Hello(t, t.Revision())}
	hello.Params["capabilities"] = Object(scripted.Everything(t.Revision()))
	fresh := func() *Server { return Connect(t) }
	judgeForms(t, hello, forms.Fan(all)[:1], fresh, fresh)
}

func judgeForms(t *T, asked Harmless, fan [][]forms.Form, shared, fresh func() *Server) {
	if len(fan) == 0 {
		t.NotApplicable("no other form of this request is legal here")
	}
	server := shared()
	patience := server.ReplyTime()
	plain := plainly(t, server, asked)
	broken := inForms(t, asked, plain, patience, shared, fan)
	if len(broken) == 0 {
		t.Observe()
		return
	}
	if plainly(t, fresh(), asked) != plain {
		t.Inconclusive(asked.Method+" is answered differently each time", "make the answer repeatable")
	}
	var alone [][]forms.Form
	for _, one := range broken {
		for _, form := range one.forms {
			alone = append(alone, []forms.Form{form})
		}
	}
	if found := inForms(t, asked, plain, patience, fresh, alone); len(found) > 0 {
		broken = found
	} else if first := broken[0]; !slices.ContainsFunc(broken, func(one brokenForm) bool { return !one.late }) {
		first.server.Unanswered(asked.Method, first.id, first.err) // which form it had does not matter
	}
	mismatches := make([]Mismatch, len(broken))
	for i, one := range broken {
		t.Outcome.Doubtful = t.Outcome.Doubtful || one.late
		mismatches[i] = Mismatch{
			Of:     one.at,
			Wanted: fmt.Sprintf("%s in answer to %s %s", plain, asked.Method, forms.Names(one.forms)),
			Found:  one.found,
			Form:   forms.Names(one.forms),
		}
	}
	t.Observe()
	t.JudgingNothing() // but what is of a mismatch
	t.Judge(mismatches...)
}

// plainly asks in the plain form and returns what comes of it, which is a result.
func plainly(t *T, server *Server, asked Harmless) string {
	reply := server.Call(asked.Method, anyOf(asked.Params)).Need()
	if _, isObject := AsObject(reply); !isObject {
		t.Inconclusive(
			fmt.Sprintf("%s did not succeed: %s", asked.Describe(), reply.Describe()),
			"fix the failures of "+asked.Method+" first",
		)
	}
	if !utf8.Valid(reply.Raw) {
		t.Inconclusive(
			asked.Method+" is answered with bytes that are not UTF-8",
			"fix the failures of "+asked.Method+" first",
		)
	}
	if len(reply.Raw) > largestInForms {
		t.Inconclusive(
			fmt.Sprintf(
				"the answer to %s is longer than %d KiB, and was not requested in other forms",
				asked.Method,
				largestInForms>>10,
			),
			"run again with a server that lists less",
		)
	}
	return Essence(asked.Method, reply)
}

// largestInForms bounds, in bytes, what is asked for in many forms at once.
const largestInForms = 1 << 20

func anyOf(params Object) any {
	if params == nil {
		return nil
	}
	return params
}

// brokenForm is what came of a request in some forms that is not what comes of it in the
// plain form.
type brokenForm struct {
	forms []forms.Form
	found string
	at    transcript.Place // of the answer; zero where none came
	late  bool             // nothing came, in time or at all: err says why
	err   error

	server *Server
	id     jsonrpc.ID
}

// FormsOf returns the forms of some classes that are legal at the revision and over the
// transport under test.
func FormsOf(t *T, classes ...forms.Class) []forms.Form {
	return forms.Of(t.Revision(), t.Cell.Transport, classes...)
}

// inForms asks in several forms at once, and returns those that bring something else.
func inForms(
	t *T,
	asked Harmless,
	wanted string,
	patience time.Duration,
	on func() *Server,
	fan [][]forms.Form,
) (broken []brokenForm) {
	var ctx context.Context = t

	var open []*scripted.Pending
	var servers []*Server
	expected := map[jsonrpc.ID]bool{}
	for _, together := range fan {
		server := on()
		message := forms.Write(asked.Message(server.NextID()), together)
		expected[message.ID] = true
		open, servers = append(open, message.Start(ctx, server.Client)), append(servers, server)
	}
	ctx, cancel := wait.WithTimeout(ctx, patience)
	defer cancel()
	stray := func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && !expected[received.ID]
	}
	for i, request := range open {
		received, err := request.WaitOr(ctx, stray)
		if refusal, inBody := scripted.ErrorInBody(err, request.ID); inBody {
			received, err = refusal, nil
		}
		if scripted.TooMuch(err) {
			t.Inconclusive(err.Error(), "find out why the target sends so much")
		}
		one := brokenForm{forms: fan[i], late: scripted.Lost(err), err: err, server: servers[i], id: request.ID}
		switch {
		case err != nil && errors.Is(err, context.DeadlineExceeded):
			one.found, one.late = "no answer", true
			one.err = scripted.Late(
				ctx,
				patience,
				fmt.Sprintf("%s was not answered within %s while other requests were open", asked.Method, patience),
			)
		case err != nil:
			one.found, one.at = err.Error(), scripted.PlaceOf(err)
		case received.ID != request.ID:
			one.found, one.at = "a response with the id "+received.ID.String(), received.At
		default:
			if one.found, one.at = Essence(asked.Method, Reply{Received: received}), received.At; one.found == wanted {
				one.found = ""
			}
		}
		if one.found != "" {
			one.found = excerpt.OneLine(cmp.Or(one.found, "no answer"))
			broken = append(broken, one)
		}
	}
	return broken
}
