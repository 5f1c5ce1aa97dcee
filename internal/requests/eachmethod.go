package requests

import (
	"sync"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// InEachMethod judges what ask brings for one request of each method of which the server
// has something to ask for, that may be asked: what a server refuses by one handler, it may
// let through by another. What it does not answer with a result in its plain form either
// shows nothing.
func InEachMethod(t *T, wanted types.GomegaMatcher, ask func(Harmless) any) {
	judged, plain := false, succeeds(t)
	for _, request := range OneOfEachMethod(t) {
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
	judged, plain := false, succeeds(t)
	for _, request := range OneOfEachMethod(t) {
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

// succeeds tells of requests whether a result comes in their plain form, all on one session.
func succeeds(t *T) func(Harmless) bool {
	session := sync.OnceValue(func() *Server { return Session(t) })
	return func(request Harmless) bool {
		reply := session().Call(request.Method, request.With(nil)).May()
		_, refused := reply.Error()
		return !refused && reply.Object() != nil
	}
}
