package conform

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestStandingRules(t *testing.T) {
	t.Parallel()
	environment := environment(t, protocol.Stdio)
	environment.Rules = []rules.Rule{
		{Text: "stands", Verifies: rules.Verifies("ping.answered")},
		{Text: "stood", Verifies: rules.Verifies("ping.gone")},
		{Text: "over protocol.HTTP", Verifies: rules.Verifies("ping.status")},
		{Text: "in part", Verifies: rules.Verifies("ping.gone", "ping.later")},
	}
	standing, elsewhere := environment.StandingRules()
	if len(standing) != 2 || standing[0].Text != "stands" || standing[1].Text != "in part" {
		t.Errorf("standing are %v", standing)
	}
	for _, rule := range environment.Rules {
		if found := environment.StandsRule(rule); found != (rule.Text != "stood") {
			t.Errorf("%s: stands %t", rule.Text, found)
		}
	}
	want := map[string]string{"ping.status": "applies to the http and sse transport only"}
	if difference := cmp.Diff(want, elsewhere); difference != "" {
		t.Error(difference)
	}
}

// What a connection negotiated decides which rules judge it, and where that counts.
func TestRulesOfWhatWasNegotiated(t *testing.T) {
	t.Parallel()
	environment := environment(t, protocol.Stdio)
	seen := func(_ *Conversation, reporter *rules.Reporter) { reporter.Observe() }
	environment.Rules = []rules.Rule{
		{Text: "stood", Verifies: rules.Verifies("ping.gone"), Judge: seen},
		{Text: "stands", Verifies: rules.Verifies("ping.later"), Judge: seen},
	}
	var recorded []Connection
	environment.Record = func(connection Connection) { recorded = append(recorded, connection) }
	for version, wanted := range map[string]string{"2024-11-05": "stood", "2025-06-18": "stands"} {
		log := transcript.NewLog("connection")
		for _, event := range said(`>{"id":1,"method":"initialize"}`, `<{"id":1,"result":{"protocolVersion":"`+version+`"}}`) {
			log.Append(event)
		}
		environment.judge(log)
		found := recorded[len(recorded)-1]
		standing := environment.rulesAt(found.Leg)
		if found.Leg.Revision != version || len(found.Findings) != 1 || found.Findings[0].Rule != standing[0].ID() || standing[0].Text != wanted {
			t.Errorf("at %s: %+v", version, found)
		}
	}
}

// What a check is about is what it took last from the server, unless it says otherwise; of
// what did not come, it is nothing.
func TestWhatAFailureIsAbout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(minimal))
	defer server.Close()
	environment := environment(t, protocol.HTTP)
	environment.Target = scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: 20 * time.Second}
	environment.Process = NewProcess("w1-")
	missing := &scripted.StatusError{At: transcript.Place{Connection: "c", Sequence: 7}, Status: http.StatusNotFound}
	wanted := map[string]transcript.Place{}
	checks := map[string]func(*T, *Server){
		"the answer that it took last": func(t *T, server *Server) {
			server.Ask(t, "other", nil)
			wanted["the answer that it took last"] = server.Ask(t, "other", nil).At
			t.Demand(false, "something else", "this")
		},
		"the answer that it expects something of": func(t *T, server *Server) {
			first := server.Ask(t, "other", nil)
			server.Ask(t, "ping", nil)
			wanted["the answer that it expects something of"] = first.At
			t.Expect(first).To(BeResult())
		},
		"the one that it demands something of": func(t *T, server *Server) {
			first := server.Ask(t, "other", nil)
			server.Ask(t, "ping", nil)
			wanted["the one that it demands something of"] = first.At
			t.DemandOf(first, false, "something else")
		},
		"the first of several that are wrong": func(t *T, server *Server) {
			first := server.Ask(t, "other", nil)
			wanted["the first of several that are wrong"] = first.At
			t.Judge(Wrong(first, "something else"), Wrong(server.Ask(t, "ping", nil), "something else"))
		},
		"what a request brought, and not its plain form": func(t *T, server *Server) {
			InEachMethod(t, Be("HTTP 400", func(any) bool { return false }), func(request Harmless) any {
				reply := server.Ask(t, request.Method, request.With(nil))
				wanted["what a request brought, and not its plain form"] = reply.At
				return http.StatusOK
			})
		},
		"what came unasked": func(t *T, server *Server) {
			server.Ask(t, "ping", nil)
			wanted["what came unasked"] = transcript.Place{Connection: "c", Sequence: 3}
			t.DemandNone("nothing", []scripted.Received{{At: transcript.Place{Connection: "c", Sequence: 3}}})
		},
		"the refusal that came instead": func(t *T, server *Server) {
			server.Ask(t, "ping", nil)
			wanted["the refusal that came instead"] = missing.At
			Missing(t, "an answer", fmt.Errorf("no: %w", missing))
		},
		"nothing, where nothing came": func(t *T, server *Server) {
			server.Ask(t, "ping", nil)
			Missing(t, "an answer", errors.New("nothing came"))
		},
		"nothing, where it passes": func(t *T, server *Server) { server.Ask(t, "ping", nil); t.Observe() },
		"nothing, where it says so": func(t *T, server *Server) {
			server.Ask(t, "ping", nil)
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
