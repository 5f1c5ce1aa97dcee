package session

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// minimal serves a small MCP server over HTTP.
func minimal(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body) // a body that is cut off is no message
	message := jsonrpc.Parse(body)
	var answer []byte
	switch {
	case request.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case message.Kind != jsonrpc.Request:
		w.WriteHeader(http.StatusAccepted)
		return
	case message.Method == "initialize":
		answer = jsonrpc.NewResult(message.ID, Object{"protocolVersion": "2025-06-18", "capabilities": Object{"tools": Object{}}, "serverInfo": Object{"name": "s", "version": "1"}})
	case message.Method == "ping":
		answer = jsonrpc.NewResult(message.ID, nil)
	case message.Method == "hang":
		<-request.Context().Done()
		return
	default:
		answer = jsonrpc.NewError(message.ID, jsonrpc.MethodNotFound, "no")
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// perform runs checks as the runner does, and returns how each ended.
func perform(environment *Environment, register func()) map[string]Outcome {
	outcomes := map[string]Outcome{}
	declared := Collect(register)
	environment.Know(declared)
	for _, one := range declared {
		t := environment.Begin(context.Background(), one)
		t.Run(func() {
			PassGates(t)
			one.Body(t)
		})
		outcome, exchanges := End(t, false)
		if len(exchanges) > 0 && len(exchanges[0]) == 0 {
			outcome.Reason = "an exchange without events"
		}
		outcomes[one.Text] = outcome
	}
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
	var records []scope.Connection
	environment.Record = func(record scope.Connection) {
		recording.Lock()
		defer recording.Unlock()
		records = append(records, record)
	}
	environment.Process = scope.NewProcess("w1-")

	var pooled []*Server
	outcomes := perform(environment, func() {
		It("1 uses a session", Verifies("ping.answered"), func(t *T) {
			server := Session(t)
			server.Client.Answer("ping", scripted.Silence)
			t.Expect(server.Call("ping", nil).Must()).To(BeResult())
			server.StaysUsable()
			server.Barrier()
			pooled = append(pooled, server)
		})
		It("2 uses it again and fails", Verifies("ping.answered"), func(t *T) {
			server := Session(t)
			pooled = append(pooled, server)
			t.Expect(server.Call("other", nil).Must()).To(BeResult())
		})
		It("3 uses another", Verifies("ping.answered"), func(t *T) {
			server := Session(t)
			pooled = append(pooled, server)
			server.Call("hang", nil) // is never answered
		})
		It("4 uses yet another", Verifies("ping.answered"), func(t *T) {
			server := Session(t)
			pooled = append(pooled, server)
			t.Demand(t.Revision() == "2025-06-18" && t.Cell.Transport == protocol.HTTP && Declares(t, "tools") && ListedTools(t) == nil, "the cell", "another")
		})
		It("5 uses a fresh one", Verifies("ping.answered"), func(t *T) {
			pooled = append(pooled, FreshSession(t))
		})
		It("is skipped", Verifies("ping.answered"), NeedsCapability("prompts"), func(*T) { panic("a gate is open") })
		It("cannot be provoked", Verifies("ping.answered"), NeedsProvocation("slow"), func(*T) { panic("a gate is open") })
		It("judges two things", Verifies("ping.answered"), func(t *T) {
			t.Judge(Mismatch{Wanted: "a", Found: "b"}, Mismatch{Wanted: "c", Found: "d", Where: "/e"})
		})
		It("demands nothing in vain", Verifies("ping.answered"), func(t *T) {
			t.Judge()
			t.Demand(true, "a", "b")
		})
		It("calls in vain", Verifies("ping.answered"), func(t *T) { Session(t).Call("other", nil).Must().Result() })
		It("needs in vain", Verifies("ping.answered"), func(t *T) { Session(t).Call("other", nil).Need().Result() })
		It("lists in vain", Verifies("ping.answered"), func(t *T) { Session(t).All("tools/list") })
		It("provokes in vain", Verifies("ping.answered"), func(t *T) { Provoking(t, "slow") })
		It("does not apply", Verifies("ping.answered"), func(t *T) { t.NotApplicable("over\n two  lines") })
		It("exchanges", Verifies("ping.status"), func(t *T) {
			server := Session(t)
			t.Expect(server.Get("", WithoutHeader("Accept"))).To(HaveStatus(http.StatusMethodNotAllowed))
			t.Expect(server.Delete("")).To(HaveStatus(http.StatusMethodNotAllowed))
			t.Expect(server.Post([]byte(`{"id":"p","method":"ping"}`), "", WithHeader("X-A", "b"))).To(HaveStatus(http.StatusAccepted))
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
		"cannot be provoked":        {Ending: Inconclusion, Reason: "no known tool " + provoke.Does("slow"), Hint: ProvocationHint("slow"), Provocation: "slow"},
		"judges two things":         {Ending: Failed, Mismatches: []Mismatch{{Wanted: "a", Found: "b"}, {Wanted: "c", Found: "d", Where: "/e"}}},
		"demands nothing in vain":   {Observed: 1},
		"calls in vain":             {Ending: Failed, Observed: 1, Mismatches: []Mismatch{vain}},
		"needs in vain":             {Ending: Inconclusion, Reason: "other did not succeed: " + vain.Found, Hint: "fix the failures of other first"},
		"lists in vain": {Ending: Inconclusion, Reason: "tools/list failed: error -32601: no",
			Hint: "fix the failures of tools/list first"},
		"provokes in vain": {Ending: Inconclusion, Reason: "no known tool " + provoke.Does("slow"), Hint: ProvocationHint("slow"), Provocation: "slow"},
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
		if len(record.Findings) != 1 || record.Findings[0].Observed == 0 || len(record.Events) == 0 || record.Cell != environment.Cell {
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
	server.mayLeave = nothingOpen
	if !server.reusable() {
		t.Error("a new session does not serve another check")
	}
	for server.Log().Len() < retireAfter {
		if !server.reusable() {
			t.Fatalf("a session retires after %d events", server.Log().Len())
		}
		if err := server.Connection.Notify(t.Context(), "n", nil); err != nil {
			t.Fatal(err)
		}
	}
	if server.reusable() {
		t.Error("a session that said much does not retire")
	}
	environment.JudgeConnection(t.Context(), server.Connection)
	server.mayLeave = nothingOpen
	if server.reusable() {
		t.Error("a closed connection serves another check")
	}
}

func TestCheckTimeout(t *testing.T) {
	t.Parallel()
	environment := &Environment{Offer: Offer{Scope: &scope.Scope{Target: scripted.Target{Reply: time.Second}}}}
	if environment.CheckTimeout() != 12*time.Second {
		t.Errorf("a check may take %s", environment.CheckTimeout())
	}
	if name := (Cell{Role: protocol.ServerRole, Revision: "2025-06-18", Transport: protocol.Stdio}).Name(); name != "server 2025-06-18 stdio" {
		t.Errorf("a cell is called %q", name)
	}
}
