package contact

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// streaming serves HTTP with SSE: streams that begin with some text, of which @ is the number,
// and answers what is posted as a server of the revisions does.
func streaming(t *testing.T, begin string, revisions ...string) scripted.Target {
	t.Helper()
	var last atomic.Int64
	var all sync.Map // of chan string, by number
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			known, there := all.Load(r.URL.RawQuery)
			answers, _ := known.(chan string)
			body, _ := io.ReadAll(r.Body)
			request := jsonrpc.Parse(body)
			switch {
			case !there:
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			case request.Method == "initialize":
				answer := httptest.NewRecorder()
				shakes(revisions...)(answer, request)
				answers <- answer.Body.String()
			case request.Kind == jsonrpc.Request:
				answers <- string(jsonrpc.NewResult(request.ID, object{}))
			}
			w.WriteHeader(http.StatusAccepted)
			return
		}
		number, answers := strconv.FormatInt(last.Add(1), 10), make(chan string, 16)
		all.Store(number, answers)
		all.Store("latest", answers)
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		_, _ = io.WriteString(w, strings.ReplaceAll(begin, "@", number)+"\n\n")
		_ = control.Flush()
		for strings.Contains(begin, "endpoint") {
			select {
			case answer := <-answers:
				_, _ = io.WriteString(w, "data: "+answer+"\n\n")
				_ = control.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // Close waits for the open streams
		server.Close()
	})
	return scripted.Target{Transport: protocol.SSE, URL: server.URL + "/sse", Reply: 10 * time.Second}
}

const namesPosts = "event: endpoint\ndata: /posts?@"

// TestStreams finds the stream of HTTP with SSE behind a URL that takes no POST.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		begin string
		is    bool
	}{
		"a stream that names its endpoint":        {namesPosts, true},
		"a stream without, as of Streamable HTTP": {": hello", false},
		"an endpoint on another host":             {"event: endpoint\ndata: https://stranger.invalid/", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := streaming(t, one.begin, "2025-11-25")
			to.Transport = protocol.HTTP
			if found := Streams(t.Context(), to, transcript.NewMemoryBudget(1<<30)); found != one.is {
				t.Errorf("is found: %t", found)
			}
		})
	}
}

// TestSpokenOverSSE asks for no revision that is not spoken over HTTP with SSE, and takes a
// stream that names no endpoint for one whose opening is broken.
func TestSpokenOverSSE(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		begin     string
		revisions []string
		broken    string
	}{
		"a good one":   {namesPosts, []string{"2024-11-05"}, ""},
		"no endpoint":  {": bye", []string{"2025-11-25"}, "ended the stream without an endpoint event"},
		"a JSON event": {"event: endpoint\ndata: {\"uri\": \"/posts\"}", []string{"2025-11-25"}, "which is no URI"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := streaming(t, one.begin, one.revisions...)
			found, err := Server(t.Context(), to, Options{
				Revisions: Revise{Auto: true}.Over(protocol.SSE), Budget: transcript.NewMemoryBudget(1 << 30),
				Flaw: nil,
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Openings) != 1 || found.Openings[0].Revision != one.revisions[0] || !strings.Contains(found.Openings[0].Broken, one.broken) ||
				(one.broken == "") != (found.Openings[0].Broken == "") {
				t.Errorf("%+v", found.Openings)
			}
			for _, opening := range found.Openings {
				if opening.Connection != nil {
					opening.Connection.Close(t.Context())
				}
			}
		})
	}
}

// TestAstray tells of a server that sends all its answers on the stream that was opened last.
func TestAstray(t *testing.T) {
	t.Parallel()
	to := streaming(t, "event: endpoint\ndata: /posts?latest", "2024-11-05")
	to.Reply = 300 * time.Millisecond

	found, err := Server(t.Context(), to, Options{
		Revisions: Revise{Listed: []string{"2024-11-05"}}.Over(protocol.SSE), Budget: transcript.NewMemoryBudget(1 << 30),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close(t.Context())

	one := found.Openings[0]
	one.Close(t.Context())
	if !one.Astray || one.Unresponsive == "" || one.Denial == nil || one.Denial.ID != "transports.sse.clients" ||
		!strings.Contains(one.Denial.Found, `"result":{}`) || !strings.Contains(string(one.Denial.Events[1].Raw), `"method":"ping"`) {
		t.Errorf("%+v, denied by %+v", one, one.Denial)
	}
}
