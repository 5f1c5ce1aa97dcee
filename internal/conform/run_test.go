package conform

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
)

// minimal serves a small MCP server over HTTP.
func minimal(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body) // a body that is cut off is no message
	said := jsonrpc.Parse(body)
	var answer []byte
	switch {
	case request.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case said.Kind != jsonrpc.Request:
		w.WriteHeader(http.StatusAccepted)
		return
	case said.Method == "initialize":
		answer = jsonrpc.NewResult(said.ID, Object{"protocolVersion": "2025-06-18", "capabilities": Object{"tools": Object{}}, "serverInfo": Object{"name": "s", "version": "1"}})
	case said.Method == "ping":
		answer = jsonrpc.NewResult(said.ID, nil)
	case said.Method == "hang":
		<-request.Context().Done()
		return
	default:
		answer = jsonrpc.NewError(said.ID, jsonrpc.MethodNotFound, "no")
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// discard takes the place of a testing.T in a suite whose checks are to fail.
type discard struct{}

func (discard) Fail() {}

// perform runs checks as the runner does, and returns how each ended.
func perform(environment *Environment, register func()) map[string]Outcome {
	outcomes := map[string]Outcome{}
	globals.Reset()
	declared := check.Collect(register)
	environment.Know(declared)
	ginkgo.Describe("in order", func() {
		for _, one := range declared {
			ginkgo.It(one.Text, func(ctx ginkgo.SpecContext) {
				Begin(environment, one)
				one.Body(ctx)
			})
		}
	})
	ginkgo.ReportAfterEach(func(report types.SpecReport) {
		outcome, exchanges := End(report)
		if outcome.Ending == Passed && report.State != types.SpecStatePassed {
			outcome.Reason = report.State.String()
		}
		if len(exchanges) > 0 && len(exchanges[0]) == 0 {
			outcome.Reason = "an exchange without events"
		}
		outcomes[report.LeafNodeText] = outcome
	})
	formatter.ColorableStdOut, formatter.ColorableStdErr = io.Discard, io.Discard
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.RandomSeed, suite.GracePeriod = 1, time.Second
	reporter.NoColor, reporter.Succinct = true, true
	ginkgo.RunSpecs(discard{}, "conform", suite, reporter)
	Finish(environment)
	return outcomes
}

// Checks end as their gates, their matchers and the server say; sessions are
// used again when a check left them as they were.
func TestChecks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(minimal))
	defer server.Close()
	environment := environment(t, protocol.HTTP)
	environment.Target = scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: 20 * time.Second}
	environment.Rules = []rules.Rule{{Text: "speaks", Verifies: rules.Verifies("ping.answered"),
		Judge: func(c *Conversation, reporter *rules.Reporter) {
			for range c.ByTarget() {
				reporter.Observe()
			}
		}}}
	var recording sync.Mutex
	var records []Connection
	environment.Record = func(record Connection) {
		recording.Lock()
		defer recording.Unlock()
		records = append(records, record)
	}
	environment.Process = NewProcess("w1-")

	var pooled []*Server
	outcomes := perform(environment, func() {
		check.It("1 uses a session", check.Verifies("ping.answered"), func(ctx check.SpecContext) {
			server := Session(ctx)
			server.Client.Answer("ping", scripted.Silence)
			Expect(server.Ask(ctx, "ping", nil)).To(BeResult())
			server.StaysUsable(ctx)
			server.Barrier(ctx)
			pooled = append(pooled, server)
		})
		check.It("2 uses it again and fails", check.Verifies("ping.answered"), func(ctx check.SpecContext) {
			server := Session(ctx)
			pooled = append(pooled, server)
			Expect(server.Ask(ctx, "other", nil)).To(BeResult())
		})
		check.It("3 uses another", check.Verifies("ping.answered"), func(ctx check.SpecContext) {
			server := Session(ctx)
			pooled = append(pooled, server)
			server.Start(ctx, "hang", nil) // is never answered
		})
		check.It("4 uses yet another", check.Verifies("ping.answered"), func(ctx check.SpecContext) {
			server := Session(ctx)
			pooled = append(pooled, server)
			Demand(Revision() == "2025-06-18" && Transport() == protocol.HTTP && Declares("tools") && ListedTools() == nil, "the leg", "another")
		})
		check.It("5 uses a fresh one", check.Verifies("ping.answered"), func(ctx check.SpecContext) {
			pooled = append(pooled, FreshSession(ctx))
		})
		check.It("is skipped", check.Verifies("ping.answered"), check.NeedsCapability("prompts"), func() { panic("a gate is open") })
		check.It("cannot be provoked", check.Verifies("ping.answered"), check.NeedsProvocation("slow"), func() { panic("a gate is open") })
		check.It("judges two things", check.Verifies("ping.answered"), func() {
			Judge(Mismatch{Wanted: "a", Found: "b"}, Mismatch{Wanted: "c", Found: "d", Where: "/e"})
		})
		check.It("demands nothing in vain", check.Verifies("ping.answered"), func() {
			Judge()
			Demand(true, "a", "b")
		})
		check.It("calls in vain", check.Verifies("ping.answered"), func(ctx check.SpecContext) { Session(ctx).Call(ctx, "other", nil) })
		check.It("needs in vain", check.Verifies("ping.answered"), func(ctx check.SpecContext) { Session(ctx).Need(ctx, "other", nil) })
		check.It("lists in vain", check.Verifies("ping.answered"), func(ctx check.SpecContext) { Session(ctx).All(ctx, "tools/list") })
		check.It("provokes in vain", check.Verifies("ping.answered"), func() { Provoking("slow") })
		check.It("does not apply", check.Verifies("ping.answered"), func() { NotApplicable("over\n two  lines") })
		check.It("exchanges", check.Verifies("ping.status"), func(ctx check.SpecContext) {
			server := Session(ctx)
			Expect(server.Get(ctx, "", WithoutHeader("Accept"))).To(HaveStatus(http.StatusMethodNotAllowed))
			Expect(server.Delete(ctx, "")).To(HaveStatus(http.StatusMethodNotAllowed))
			Expect(server.Post(ctx, []byte(`{"id":"p","method":"ping"}`), "", WithHeader("X-A", "b"))).To(HaveStatus(http.StatusAccepted))
		})
	})

	vain := Mismatch{Wanted: "a result of other", Found: `error -32601 (Method not found) "no"`}
	want := map[string]Outcome{
		"1 uses a session":          {Observed: 2},
		"2 uses it again and fails": {Ending: Failed, Observed: 1, Mismatches: []Mismatch{{Wanted: "a result", Found: vain.Found}}},
		"3 uses another":            {},
		"4 uses yet another":        {Observed: 1},
		"5 uses a fresh one":        {},
		"is skipped":                {Ending: Skipped, Reason: `the server does not declare the capability "prompts"`},
		"cannot be provoked":        {Ending: Inconclusion, Reason: (&Environment{Survey: &survey.Survey{}}).unprovoked("slow"), Hint: provocationHint("slow"), Provocation: "slow"},
		"judges two things":         {Ending: Failed, Mismatches: []Mismatch{{Wanted: "a", Found: "b"}, {Wanted: "c", Found: "d", Where: "/e"}}},
		"demands nothing in vain":   {Observed: 1},
		"calls in vain":             {Ending: Failed, Observed: 1, Mismatches: []Mismatch{vain}},
		"needs in vain":             {Ending: Inconclusion, Reason: "other did not succeed: " + vain.Found, Hint: "fix the failures of other first"},
		"lists in vain": {Ending: Inconclusion, Reason: "tools/list failed: error -32601: no",
			Hint: "fix the failures of tools/list first"},
		"provokes in vain": {Ending: Inconclusion, Reason: (&Environment{Survey: &survey.Survey{}}).unprovoked("slow"), Hint: provocationHint("slow"), Provocation: "slow"},
		"does not apply":   {Ending: Skipped, Reason: "over two lines"},
		"exchanges": {Ending: Failed, Observed: 3, Mismatches: []Mismatch{{Wanted: "HTTP 202 (Accepted)",
			Found: `HTTP 200 (OK), application/json, {"jsonrpc":"2.0","id":"p","result":{}}`, Where: "HTTP status"}}},
	}
	if difference := cmp.Diff(want, outcomes, cmpopts.IgnoreFields(Outcome{}, "Judged")); difference != "" {
		t.Fatal(difference)
	}
	if pooled[0] != pooled[1] {
		t.Error("a session that was left as it was is not used again")
	}
	for number, server := range pooled[2:] {
		if server == pooled[0] || number > 0 && server == pooled[2] {
			t.Error("a session is used again after a failure, or with a request unanswered")
		}
	}
	names := map[string]bool{}
	for _, record := range records {
		names[record.Name] = true
		if len(record.Findings) != 1 || record.Findings[0].Observed == 0 || len(record.Events) == 0 || record.Leg != environment.Leg {
			t.Errorf("the record of %s is of %d events, with the findings %v", record.Name, len(record.Events), record.Findings)
		}
		if !strings.HasPrefix(record.Name, "w1-2025-06-18-http-") {
			t.Errorf("a connection is called %q", record.Name)
		}
	}
	if len(names) != len(records) || len(records) < 4 {
		t.Errorf("%d connections were closed, by %d names", len(records), len(names))
	}
}

func TestSessionsRetire(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(minimal))
	defer web.Close()
	environment := environment(t, protocol.HTTP)
	environment.Target = scripted.Target{Transport: protocol.HTTP, URL: web.URL, Reply: 20 * time.Second}
	server, err := dial(environment)
	if err != nil {
		t.Fatal(err)
	}
	if server.reusable() {
		t.Error("a connection without a session serves another check")
	}
	server.allowed = nothingOpen
	if !server.reusable() {
		t.Error("a new session does not serve another check")
	}
	for server.Log().Len() < retireAfter {
		if !server.reusable() {
			t.Fatalf("a session retires after %d events", server.Log().Len())
		}
		if err := server.Notify(t.Context(), "n", nil); err != nil {
			t.Fatal(err)
		}
	}
	if server.reusable() {
		t.Error("a session that said much does not retire")
	}
	environment.JudgeConnection(t.Context(), server.Connection)
	server.allowed = nothingOpen
	if server.reusable() {
		t.Error("a closed connection serves another check")
	}
}

func TestCheckTimeout(t *testing.T) {
	t.Parallel()
	environment := &Environment{Target: scripted.Target{Reply: time.Second}}
	if environment.CheckTimeout() != 12*time.Second {
		t.Errorf("a check may take %s", environment.CheckTimeout())
	}
	if name := (Leg{Role: protocol.ServerRole, Revision: "2025-06-18", Transport: protocol.Stdio}).Name(); name != "server 2025-06-18 stdio" {
		t.Errorf("a leg is called %q", name)
	}
}
