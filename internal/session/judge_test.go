package session

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// What a check is about is what it took last from the server, unless it says otherwise; of
// what did not come, it is nothing.
func TestWhatAFailureIsAbout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(minimal))
	defer server.Close()
	environment := environment(t, protocol.HTTP)
	environment.Target = scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: 20 * time.Second}
	environment.Process = scope.NewProcess("w1-")
	missing := &scripted.StatusError{At: transcript.Place{Connection: "c", Sequence: 7}, Status: http.StatusNotFound}
	wanted := map[string]transcript.Place{}
	checks := map[string]func(*T, *Server){
		"the answer that it took last": func(t *T, server *Server) {
			server.Call("other", nil).Must()
			wanted["the answer that it took last"] = server.Call("other", nil).Must().At
			t.Demand(false, "something else", "this")
		},
		"the answer that it expects something of": func(t *T, server *Server) {
			first := server.Call("other", nil).Must()
			server.Call("ping", nil).Must()
			wanted["the answer that it expects something of"] = first.At
			t.Expect(first).To(BeResult())
		},
		"the one that it demands something of": func(t *T, server *Server) {
			first := server.Call("other", nil).Must()
			server.Call("ping", nil).Must()
			wanted["the one that it demands something of"] = first.At
			t.DemandOf(first, false, "something else")
		},
		"the first of several that are wrong": func(t *T, server *Server) {
			first := server.Call("other", nil).Must()
			wanted["the first of several that are wrong"] = first.At
			t.Judge(Wrong(first, "something else"), Wrong(server.Call("ping", nil).Must(), "something else"))
		},
		"what came unasked": func(t *T, server *Server) {
			server.Call("ping", nil).Must()
			wanted["what came unasked"] = transcript.Place{Connection: "c", Sequence: 3}
			t.DemandNone("nothing", []scripted.Received{{At: transcript.Place{Connection: "c", Sequence: 3}}})
		},
		"the refusal that came instead": func(t *T, server *Server) {
			server.Call("ping", nil).Must()
			wanted["the refusal that came instead"] = missing.At
			Missing(t, "an answer", fmt.Errorf("no: %w", missing))
		},
		"nothing, where nothing came": func(t *T, server *Server) {
			server.Call("ping", nil).Must()
			Missing(t, "an answer", errors.New("nothing came"))
		},
		"nothing, where it passes": func(t *T, server *Server) { server.Call("ping", nil).Must(); t.Observe() },
		"nothing, where it says so": func(t *T, server *Server) {
			server.Call("ping", nil).Must()
			t.JudgingNothing()
			t.Demand(false, "a process that ends", "one that does not")
		},
	}
	outcomes := perform(environment, func() {
		for name, judge := range checks {
			It(name, Verifies("ping.answered"), func(t *T) { judge(t, Session(t)) })
		}
	})
	for name := range checks {
		nothing := strings.HasPrefix(name, "nothing")
		if (outcomes[name].Ending != Failed) != strings.HasSuffix(name, "passes") || outcomes[name].Judged != wanted[name] || nothing == (wanted[name] != transcript.Place{}) {
			t.Errorf("%s: %v, wanted %v: %+v", name, outcomes[name].Judged, wanted[name], outcomes[name])
		}
	}
}
