package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/transport/transporttest"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// before serves the reference over HTTP behind a front that sees each message first,
// and may keep it.
func before(t *testing.T, keeps func(w http.ResponseWriter, r *http.Request, message jsonrpc.Message) bool) *httptest.Server {
	t.Helper()
	reference, err := server.New(server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	handler := reference.Handler()
	t.Cleanup(reference.Close)
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !keeps(w, r, jsonrpc.Parse(body)) {
			handler.ServeHTTP(w, r)
		}
	}))
	_ = front.Listener.Close()
	// The system must not give the address of a server that goes away to another.
	if front.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", transporttest.Unused(t)); err != nil {
		t.Fatal(err)
	}
	front.Start()
	t.Cleanup(front.Close)
	return front
}

// silence keeps a message until the client gives up.
func silence(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// shortWait are options of a run that waits for a short time only, and yet for a good server
// on a busy machine.
func shortWait(url, revision string) Options {
	return Options{
		URL: url + "/mcp", Revisions: contact.Revise{Listed: []string{revision}}, Tool: reports.Tool{Name: "test", Version: "1"},
		Timeout: 700 * time.Millisecond,
	}
}

// brokenIn are the ids of the requirements that a run found broken.
func brokenIn(found *reports.Run) []string {
	var ids []string
	for _, cell := range found.Cells {
		for _, result := range cell.Results {
			if result.Verdict == reports.Failed || result.Verdict == reports.Warned {
				ids = append(ids, result.ID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// A request that is left without a reply breaks one requirement; what waited for the
// reply says so.
func TestAReplyThatDoesNotCome(t *testing.T) {
	slowtest.Skip(t)
	for method, breaks := range map[string]string{
		"tools/list": session.AnsweredRequirement, "prompts/get": session.AnsweredRequirement, "ping": "ping.answered",
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			front := before(t, func(w http.ResponseWriter, r *http.Request, message jsonrpc.Message) bool {
				return message.Method == method && silence(w, r)
			})
			found := mustRun(t, shortWait(front.URL, "2025-11-25"))
			if ids := brokenIn(found); !slices.Equal(ids, []string{breaks}) {
				t.Errorf("broken: %q", ids)
			}
			if ended := found.Cells[0].Ended; ended != nil {
				t.Errorf("the cell ended: %+v", ended)
			}
		})
	}
}

// A reply that comes too late once, and in time when the check is repeated alone,
// brokenIn nothing.
func TestALateReplyIsNoFault(t *testing.T) {
	if testing.Short() {
		t.Skip("whole runs are for tests that are not short")
	}
	t.Parallel()
	var mu sync.Mutex
	asked := 0
	const early, late = 5, 3 // of the first contact, which has more time; of what checks ask, side by side
	front := before(t, func(w http.ResponseWriter, r *http.Request, message jsonrpc.Message) bool {
		if message.Method != "tools/list" {
			return false
		}
		mu.Lock()
		asked++
		isLate := early < asked && asked <= early+late
		mu.Unlock()
		return isLate && silence(w, r)
	})
	options := shortWait(front.URL, "2025-11-25")
	options.Timeout *= 3 // what is not kept has to come in time
	found := mustRun(t, options)
	if ids := brokenIn(found); len(ids) > 0 {
		t.Errorf("broken: %q", ids)
	}
	if asked <= early+late {
		t.Errorf("the tools were listed %d times", asked)
	}
	for _, result := range found.Cells[0].Results {
		if strings.Contains(result.Reason, "no reply") {
			t.Errorf("%q is %s: %s", result.Text, result.Verdict, result.Reason)
		}
	}
}

// Checks that send the same illegal bytes and then wait for the same are in doubt
// together: what one of them shows when it is repeated alone, counts for all.
func TestWhatWaitsForTheSameIsRepeatedOnce(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	var mu sync.Mutex
	broken := map[string]bool{} // sessions
	front := before(t, func(w http.ResponseWriter, r *http.Request, message jsonrpc.Message) bool {
		session := r.Header.Get("Mcp-Session-Id")
		mu.Lock()
		defer mu.Unlock()
		if bytes.Contains(message.Raw, []byte("mcpconform-cut")) {
			broken[session] = true
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		if !broken[session] || message.Method != "ping" {
			return false
		}
		mu.Unlock()
		defer mu.Lock()
		return silence(w, r)
	})
	options := shortWait(front.URL, "2025-11-25")
	options.Filter = "base.errors.parse-error || base.errors.survived"
	found := mustRun(t, options)
	const checks, again = 2, 1
	if len(broken) != checks+again {
		t.Errorf("text that is not JSON was sent in %d sessions", len(broken))
	}
	if ids := brokenIn(found); !slices.Equal(ids, []string{"base.errors.survived"}) {
		t.Errorf("broken: %q", ids)
	}
}

// isLegalCall tells whether a message is a call that every server has to answer, not one
// that is wrong on purpose: those that ask for progress are good.
func isLegalCall(message jsonrpc.Message) bool {
	params, _ := message.Params().(map[string]any)
	meta, _ := params["_meta"].(map[string]any)
	_, isNumber := meta["progressToken"].(json.Number)
	return message.Method == "tools/call" && isNumber
}

// A server that goes away ends its cell: with the last request before it, and with
// nothing broken but that requests are answered.
func TestATargetThatGoesAway(t *testing.T) {
	slowtest.Skip(t)
	for name, goes := range map[string]func(front *httptest.Server, r *http.Request){
		"refuses connections": func(front *httptest.Server, _ *http.Request) {
			_ = front.Listener.Close()
			front.CloseClientConnections()
		},
		"hangs": func(_ *httptest.Server, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var front *httptest.Server
			var mu sync.Mutex
			gone := false
			front = before(t, func(_ http.ResponseWriter, r *http.Request, message jsonrpc.Message) bool {
				mu.Lock()
				defer mu.Unlock()
				if gone = gone || isLegalCall(message); !gone {
					return false
				}
				mu.Unlock()
				goes(front, r)
				mu.Lock()
				return true
			})
			found := mustRun(t, shortWait(front.URL, "2025-11-25"))
			cell := found.Cells[0]
			if cell.Ended == nil || cell.Ended.After == "" || cell.Ended.Reason == "" {
				t.Fatalf("the cell ended: %+v", cell.Ended)
			}
			if ids := brokenIn(found); !slices.Equal(ids, []string{session.AnsweredRequirement}) {
				t.Errorf("broken: %q", ids)
			}
			if found.Conforms(false) {
				t.Error("it conforms")
			}
		})
	}
}

// What the run has no time to repeat stays open.
func TestDoubtsAtTheEndOfARun(t *testing.T) {
	t.Parallel()
	r := &run{collector: collector{cells: []*cellState{{findings: map[string]*found{}}}, report: &reports.Run{}}}
	r.cells[0].report.Role = protocol.ServerRole
	known, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	r.catalogue = known
	d := r.coordinator()
	d.take("a", checked{
		Text: "answers", Requirements: []string{"ping.answered"},
		Outcome: check.Outcome{Ending: check.Failed, Doubtful: true, Mismatches: []rules.Mismatch{{Wanted: "a", Found: "b"}}},
	}, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.confirm(ctx); err != nil {
		t.Fatal(err)
	}
	results := r.cells[0].report.Results
	if len(results) != 1 || results[0].Verdict != reports.Inconclusive || results[0].Hint == "" {
		t.Errorf("%+v", results)
	}
}

// What waits for a process of its own waits beside others of its kind; what needs peace, or
// another target that all share, alone.
func TestWhatIsRepeatedSideBySide(t *testing.T) {
	t.Parallel()
	late := check.Outcome{Doubtful: true, Late: &check.Late{For: "ping", Waited: time.Second}}
	starting := check.Outcome{Doubtful: true, Late: &check.Late{For: scope.Starting, Waited: time.Second}}
	for name, test := range map[string]struct {
		cell       check.Cell
		declared   check.Declaration
		outcome    check.Outcome
		overBudget bool
		apart      bool
	}{
		"a server's process":      {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, late, false, true},
		"a client's process":      {check.Cell{Role: protocol.ClientRole, Transport: protocol.HTTP}, check.Declaration{}, late, false, true},
		"one that was disturbed":  {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, check.Outcome{Disturbed: true}, false, true},
		"a server that all share": {check.Cell{Role: protocol.ServerRole, Transport: protocol.HTTP}, check.Declaration{}, late, false, false},
		"a lost connection":       {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, check.Outcome{Doubtful: true}, false, false},
		"one that needs peace":    {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{Alone: true}, late, false, false},
		"a login":                 {check.Cell{Role: protocol.ClientRole, Transport: protocol.HTTP}, check.Declaration{InTurn: true}, late, false, false},
		"one that did not start":  {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, starting, false, false},
		"no room":                 {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, late, true, false},
	} {
		environment := &session.Environment{Offer: offer.Offer{Scope: &scope.Scope{Cell: test.cell}}}
		test.declared.Text = "answers"
		d := (&run{
			plan: workerPlan{Cells: []cell{{Cell: test.cell}}}, planned: []*session.Environment{environment},
			collector: collector{declared: []plan.Declared{{Check: &test.declared}}},
		}).coordinator()
		d.overBudget = test.overBudget
		one := doubt{key: keyOf(environment.Name(), "answers"), found: checked{Outcome: test.outcome}}
		if d.apart(one) != test.apart {
			t.Errorf("%s: %t", name, !test.apart)
		}
		if d.slow = true; d.apart(one) {
			t.Errorf("%s: beside others on a machine that is too slow", name)
		}
	}
}

// A check for which there was no room when it was repeated beside others stays in doubt, and is
// repeated once more.
func TestARepeatedCheckWithoutRoomIsRepeatedAgain(t *testing.T) {
	t.Parallel()
	d := unhurried(t, scope.Pace{"ping": time.Millisecond})
	before := checked{Outcome: check.Outcome{Doubtful: true, Late: &check.Late{For: "ping", Waited: time.Second}}}
	d.take("a", before, false)
	if keys := d.toRepeat(); !slices.Equal(keys, []string{"a"}) {
		t.Fatalf("%q are repeated", keys)
	}
	d.take("a", checked{Outcome: check.Outcome{Ending: check.Deferred}}, true)
	if keys := d.toRepeat(); !slices.Equal(keys, []string{"a"}) || !d.overBudget {
		t.Errorf("then %q, overBudget is %t", keys, d.overBudget)
	}
}

// A check during whose repetition the target goes away has one result.
func TestATargetThatGoesAwayWhileACheckIsRepeated(t *testing.T) {
	t.Parallel()
	d := unhurried(t, scope.Pace{"ping": time.Millisecond})
	before := checked{
		Text: "answers", Requirements: []string{"ping.answered"},
		Outcome: check.Outcome{Doubtful: true, Late: &check.Late{For: "ping", Waited: time.Second}},
	}
	d.take("a", before, false)
	d.toRepeat()
	gone := before
	gone.Outcome = check.Outcome{Ending: check.Inconclusion, Gone: "ping"}
	d.take("a", gone, true)
	if err := d.confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if results := d.run.cells[0].report.Results; len(results) != 1 {
		t.Errorf("%d results: %+v", len(results), results)
	}
}

// What cannot be repeated stands if it is no failure, and rests on no wait.
func TestWhatStandsThoughItIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		outcome check.Outcome
		stands  bool
	}{
		"a skip":           {check.Outcome{Ending: check.Skipped, Disturbed: true}, true},
		"a pass":           {check.Outcome{Ending: check.Passed, Disturbed: true}, true},
		"a skip by a wait": {check.Outcome{Ending: check.Skipped, Doubtful: true}, false},
		"a failure":        {check.Outcome{Ending: check.Failed, Disturbed: true}, false},
	} {
		d := unhurried(t, nil)
		for _, left := range []check.Outcome{d.unrepeated(test.outcome), unconfirmed(test.outcome, "it ended")} {
			if (left.Ending == test.outcome.Ending) != test.stands || !test.stands && left.Ending != check.Inconclusion {
				t.Errorf("%s: %+v is left", name, left)
			}
		}
	}
}
