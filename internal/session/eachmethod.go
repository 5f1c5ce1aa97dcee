package session

import (
	"maps"
	"sync"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
)

// With are the params of the request with a _meta of its own, unless that is nil; nil for
// none at all.
func (h Harmless) With(meta any) any {
	if len(h.Params) == 0 && meta == nil {
		return nil
	}
	params := Object{}
	maps.Copy(params, h.Params)
	if meta != nil {
		params["_meta"] = meta
	}
	return params
}

// HarmlessRequests are those without side effects that the target has to answer.
func HarmlessRequests(t *T) []Harmless { return environmentOf(t).Harmless() }

// InEachMethod judges what ask brings for one request of each method of which the server
// has something to ask for, that may be asked: what a server refuses by one handler, it may
// let through by another. What it does not answer with a result in its plain form either
// shows nothing.
func InEachMethod(t *T, wanted types.GomegaMatcher, ask func(Harmless) any) {
	judged, plain := false, plainly(t)
	for _, request := range environmentOf(t).ofEachMethod(t) {
		found := ask(request)
		of := t.Outcome.Judged
		if matches, err := wanted.Match(found); err == nil && !matches && !plain(request) {
			continue
		}
		judged, t.Outcome.Judged = true, of // and not what came in the plain form
		t.Expect(found).To(wanted)
	}
	if !judged {
		t.Inconclusive("the server answers no request with a result", "fix the failures of its lists first")
	}
}

// AcceptInEachMethod demands a result of what ask sends for one request of each method that
// has params, wherever the request in its plain form brings one.
func AcceptInEachMethod(t *T, ask func(Harmless) any) {
	judged, plain := false, plainly(t)
	for _, request := range environmentOf(t).ofEachMethod(t) {
		if request.Method == "ping" || !plain(request) {
			continue
		}
		judged = true
		t.Expect(ask(request)).To(BeResult())
	}
	if !judged {
		t.NotApplicable("the server answers no request that has params")
	}
}

// plainly tells of requests whether a result comes in their plain form, all on one session.
func plainly(t *T) func(Harmless) bool {
	session := sync.OnceValue(func() *Server { return Session(t) })
	return func(request Harmless) bool {
		reply := session().Call(request.Method, request.With(nil)).May()
		_, refused := reply.Error()
		return !refused && reply.Object() != nil
	}
}

// ofEachMethod are the first of the harmless requests with each method, the templates where
// there are some, and the call of a tool that may be called where none is known to be
// read-only.
func (e *Environment) ofEachMethod(t *T) []Harmless {
	all := e.Harmless()
	if len(ListedTemplates(t)) > 0 {
		all = append(all, Harmless{Method: "resources/templates/list"})
	}
	if calls, _ := e.Callable(); len(calls) > 0 {
		all = append(all, Harmless{Method: "tools/call", Params: calls[0].Call()})
	}
	seen := map[string]bool{}
	var first []Harmless
	for _, request := range all {
		if !seen[request.Method] {
			seen[request.Method] = true
			first = append(first, request)
		}
	}
	return first
}
