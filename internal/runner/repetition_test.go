package runner

import (
	"bytes"
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

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/transport/transporttest"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/reports"
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
