package conform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/check"
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
	checks := map[string]func(context.Context, *Server){
		"the answer that it took last": func(ctx context.Context, server *Server) {
			server.Ask(ctx, "other", nil)
			wanted["the answer that it took last"] = server.Ask(ctx, "other", nil).At
			Demand(false, "something else", "this")
		},
		"the answer that it expects something of": func(ctx context.Context, server *Server) {
			first := server.Ask(ctx, "other", nil)
			server.Ask(ctx, "ping", nil)
			wanted["the answer that it expects something of"] = first.At
			Expect(first).To(BeResult())
		},
		"the one that it demands something of": func(ctx context.Context, server *Server) {
			first := server.Ask(ctx, "other", nil)
			server.Ask(ctx, "ping", nil)
			wanted["the one that it demands something of"] = first.At
			DemandOf(first, false, "something else")
		},
		"the first of several that are wrong": func(ctx context.Context, server *Server) {
			first := server.Ask(ctx, "other", nil)
			wanted["the first of several that are wrong"] = first.At
			Judge(Wrong(first, "something else"), Wrong(server.Ask(ctx, "ping", nil), "something else"))
		},
		"what a request brought, and not its plain form": func(ctx context.Context, server *Server) {
			InEachMethod(ctx, Be("HTTP 400", func(any) bool { return false }), func(request Harmless) any {
				reply := server.Ask(ctx, request.Method, request.With(nil))
				wanted["what a request brought, and not its plain form"] = reply.At
				return http.StatusOK
			})
		},
		"what came unasked": func(ctx context.Context, server *Server) {
			server.Ask(ctx, "ping", nil)
			wanted["what came unasked"] = transcript.Place{Connection: "c", Sequence: 3}
			DemandNone("nothing", []scripted.Received{{At: transcript.Place{Connection: "c", Sequence: 3}}})
		},
		"the refusal that came instead": func(ctx context.Context, server *Server) {
			server.Ask(ctx, "ping", nil)
			wanted["the refusal that came instead"] = missing.At
			Missing("an answer", fmt.Errorf("no: %w", missing))
		},
		"nothing, where nothing came": func(ctx context.Context, server *Server) {
			server.Ask(ctx, "ping", nil)
			Missing("an answer", errors.New("nothing came"))
		},
		"nothing, where it passes": func(ctx context.Context, server *Server) { server.Ask(ctx, "ping", nil); Observe() },
		"nothing, where it says so": func(ctx context.Context, server *Server) {
			server.Ask(ctx, "ping", nil)
			JudgingNothing()
			Demand(false, "a process that ends", "one that does not")
		},
	}
	outcomes := perform(environment, func() {
		for name, judge := range checks {
			check.It(name, check.Verifies("ping.answered"), func(ctx check.SpecContext) { judge(ctx, Session(ctx)) })
		}
	})
	for name := range checks {
		nothing := strings.HasPrefix(name, "nothing")
		if (outcomes[name].Ending != Failed) != strings.HasSuffix(name, "passes") || outcomes[name].Judged != wanted[name] || nothing == (wanted[name] != transcript.Place{}) {
			t.Errorf("%s: %v, wanted %v: %+v", name, outcomes[name].Judged, wanted[name], outcomes[name])
		}
	}
}
