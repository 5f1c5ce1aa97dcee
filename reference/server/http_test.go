package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/mcpconform/mcpconform/reference/server"
)

// dialSession starts a server and a session over HTTP, without listening.
func dialSession(t *testing.T, revision string, options server.Options) *httpWire {
	t.Helper()
	w := dialHTTP(t, newServer(t, options), revision).(*httpWire)
	t.Cleanup(w.close)
	w.open(`{}`)
	return w
}

// open starts a session of a client with capabilities.
func (w *httpWire) open(capabilities string) {
	w.t.Helper()
	w.session = ""
	response := w.do(http.MethodPost, strings.Replace(hello(w.revision), `"capabilities":{}`, `"capabilities":`+capabilities, 1))
	if got := response.Header.Get("Content-Type"); got != "application/json" || response.StatusCode != http.StatusOK {
		w.t.Fatalf("initialize: %s %s", response.Status, got)
	}
	w.session = response.Header.Get("Mcp-Session-Id")
	discard(w.t, response)
	w.status(http.StatusAccepted, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func discard(t *testing.T, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("cannot read: %v", err)
	}
	_ = response.Body.Close()
	return string(body)
}

// status sends a request that must get a status, and returns the body.
func (w *httpWire) status(want int, method, body string, headers ...string) string {
	w.t.Helper()
	response := w.do(method, body, headers...)
	got := discard(w.t, response)
	if response.StatusCode != want {
		w.t.Errorf("%s %.60s %v: status %d, not %d: %s", method, body, headers, response.StatusCode, want, got)
	}
	return got
}

func toolCall(id int, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, name)
}

const pingRequest = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestHTTPStatus(t *testing.T) {
	for _, revision := range sessionRevisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			w := dialSession(t, revision, server.Options{
				AllowedOrigins: []string{"https://app.example.com"}, AllowedHosts: []string{"mcp.example.com"}})
			for _, c := range w.session {
				if c < 0x21 || c > 0x7e {
					t.Errorf("session id %q", w.session)
				}
			}
			other := server.Revision20250618
			if revision == other {
				other = server.Revision20251125
			}
			for _, test := range []struct {
				status       int
				method, body string
				headers      []string
			}{
				{200, "POST", pingRequest, nil},
				{200, "POST", pingRequest, []string{"Content-Type", "application/json; charset=utf-8", "Accept", "text/event-stream;q=0.5,application/json"}},
				{200, "POST", pingRequest, []string{"Mcp-Protocol-Version", ""}},
				{200, "POST", pingRequest, []string{"Origin", "http://localhost:3000"}},
				{200, "POST", pingRequest, []string{"Origin", "https://app.example.com"}},
				{200, "POST", pingRequest, []string{"Host", "localhost:80"}},
				{200, "POST", pingRequest, []string{"Host", "[::1]"}},
				{200, "POST", pingRequest, []string{"Host", "mcp.example.com"}},
				{200, "POST", `{"jsonrpc":"2.0","id":1,"method":"no/such/method"}`, nil},
				{202, "POST", `{"jsonrpc":"2.0","method":"notifications/unknown"}`, nil},
				{202, "POST", `{"jsonrpc":"2.0","id":99,"result":{}}`, nil},
				{400, "POST", `{"jsonrpc":"2.0","id":99,"result":{},"error":{}}`, nil},
				{400, "POST", `{"jsonrpc":"1.0","method":"notifications/unknown"}`, nil},
				{400, "POST", `{`, nil},
				{400, "POST", `[` + pingRequest + `]`, nil},
				{400, "POST", `{`, []string{"Mcp-Session-Id", ""}},
				{400, "POST", pingRequest, []string{"Mcp-Session-Id", ""}},
				{400, "GET", "", []string{"Mcp-Session-Id", ""}},
				{400, "DELETE", "", []string{"Mcp-Session-Id", ""}},
				{404, "POST", pingRequest, []string{"Mcp-Session-Id", "unknown"}},
				{404, "GET", "", []string{"Mcp-Session-Id", "unknown"}},
				{404, "DELETE", "", []string{"Mcp-Session-Id", "unknown"}},
				{400, "POST", pingRequest, []string{"Mcp-Protocol-Version", "1900-01-01"}},
				{400, "POST", pingRequest, []string{"Mcp-Protocol-Version", other}},
				{400, "GET", "", []string{"Mcp-Protocol-Version", "nonsense"}},
				{400, "GET", "", []string{"Last-Event-ID", "nonsense"}},
				{400, "GET", "", []string{"Last-Event-ID", "1-99"}},
				{403, "POST", pingRequest, []string{"Origin", "https://evil.example.com"}},
				{403, "POST", pingRequest, []string{"Origin", "null"}},
				{403, "POST", pingRequest, []string{"Origin", "http://localhost.evil.example.com"}},
				{403, "GET", "", []string{"Origin", "https://evil.example.com"}},
				{403, "DELETE", "", []string{"Origin", "https://evil.example.com"}},
				{403, "POST", pingRequest, []string{"Host", "evil.example.com"}},
				{405, "PUT", pingRequest, nil},
				{406, "POST", pingRequest, []string{"Accept", "application/json"}},
				{406, "POST", pingRequest, []string{"Accept", "text/event-stream"}},
				{406, "POST", pingRequest, []string{"Accept", ""}},
				{406, "GET", "", []string{"Accept", "application/json"}},
				{413, "POST", `"` + strings.Repeat("a", 5<<20) + `"`, nil},
				{415, "POST", pingRequest, []string{"Content-Type", "text/plain"}},
				{415, "POST", pingRequest, []string{"Content-Type", ""}},
			} {
				body := w.status(test.status, test.method, test.body, test.headers...)
				if test.status == http.StatusAccepted && body != "" {
					t.Errorf("202 with body %q", body)
				}
				if test.status >= 400 {
					var refused struct{ Error struct{ Message string } }
					if err := json.Unmarshal([]byte(body), &refused); err != nil || refused.Error.Message == "" {
						t.Errorf("%d without reason: %q", test.status, body)
					}
				}
			}
			w.status(http.StatusNoContent, "DELETE", "")
			w.status(http.StatusNotFound, "POST", pingRequest)
			w.status(http.StatusNotFound, "GET", "")
			w.status(http.StatusNotFound, "DELETE", "")
		})
	}
}

func TestFailedInitializeStartsNoSession(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{})
	response := w.do("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "Mcp-Session-Id", "")
	if body := discard(t, response); response.Header.Get("Mcp-Session-Id") != "" || !strings.Contains(body, "-32602") {
		t.Errorf("%v %s", response.Header, body)
	}
}

// stream is an event stream that is being read.
type stream struct {
	t      *testing.T
	body   io.Closer
	events chan sseEvent
}

func (w *httpWire) stream(method, body string, headers ...string) *stream {
	w.t.Helper()
	response := w.do(method, body, headers...)
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: status %d, %s", method, response.StatusCode, got)
	}
	s := &stream{t: w.t, body: response.Body, events: make(chan sseEvent)}
	w.readers.Go(func() {
		defer close(s.events)
		for e := range sseEvents(response.Body) {
			select {
			case s.events <- e:
			case <-w.ctx.Done():
				return
			}
		}
	})
	w.t.Cleanup(func() { _ = response.Body.Close() })
	return s
}

// next returns the next event; ended tells that there is none.
func (s *stream) next() (e sseEvent, ended bool) {
	s.t.Helper()
	select {
	case e, more := <-s.events:
		return e, !more
	case <-time.After(patience):
		s.t.Fatal("nothing comes over the stream")
		return e, true
	}
}

func (s *stream) wants(part string) sseEvent {
	s.t.Helper()
	e, ended := s.next()
	if ended || !strings.Contains(e.data, part) {
		s.t.Fatalf("%+v (ended %v), not %s", e, ended, part)
	}
	return e
}

func (s *stream) ends() {
	s.t.Helper()
	if e, ended := s.next(); !ended {
		s.t.Errorf("%+v, not the end", e)
	}
}

func TestStreamOfPost(t *testing.T) {
	for _, revision := range sessionRevisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			w := dialSession(t, revision, server.Options{})
			s := w.stream("POST", toolCall(1, "test_tool_with_logging"))
			ids := map[string]bool{}
			if revision == server.Revision20251125 {
				e, _ := s.next()
				if e.id == "" || e.data != "" {
					t.Errorf("the first event is %+v", e)
				}
				ids[e.id] = true
			}
			for _, part := range []string{"started", "processing", "completed", `"id":1,"result"`} {
				e := s.wants(part)
				if e.id == "" || ids[e.id] {
					t.Errorf("id %q is empty or not unique", e.id)
				}
				ids[e.id] = true
			}
			s.ends()
		})
	}
}

// once tells the other reader never to connect again.
type once struct{}

func (once) NextBackOff() time.Duration { return -1 }
func (once) Reset()                     {}

// The SSE client of another project reads the streams, and resumes with Last-Event-ID.
func TestStreamsAreReadByAnotherReader(t *testing.T) {
	t.Parallel()
	w := dialSession(t, server.Revision20251125, server.Options{})
	s := w.stream("POST", toolCall(1, "test_tool_with_logging"))
	prime, _ := s.next()
	s.wants("started")
	_ = s.body.Close()

	reader := sse.NewClient(w.url)
	reader.Headers = map[string]string{"Mcp-Session-Id": w.session, "Mcp-Protocol-Version": w.revision}
	reader.LastEventID.Store([]byte(prime.id))
	reader.ReconnectStrategy = once{}
	var read []string
	err := reader.SubscribeRawWithContext(w.ctx, func(event *sse.Event) {
		if len(event.ID) == 0 {
			t.Errorf("the event has no id: %q", event.Data)
		}
		read = append(read, string(event.Data))
	})
	if err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	wanted := []string{"started", "processing", "completed", `"id":1,"result"`}
	if len(read) != len(wanted) {
		t.Fatalf("it has read %q", read)
	}
	for i, part := range wanted {
		if !strings.Contains(read[i], part) {
			t.Errorf("it has read %s, not %s", read[i], part)
		}
	}
}

func TestResumption(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{})
	s := w.stream("POST", toolCall(1, "test_tool_with_logging"))
	prime, _ := s.next()
	started := s.wants("started")
	other := w.stream("POST", toolCall(2, "test_tool_with_logging"))
	_, _ = other.next()
	_ = s.body.Close()

	resumed := w.stream("GET", "", "Last-Event-ID", started.id)
	resumed.wants("processing")
	resumed.wants("completed")
	last := resumed.wants(`"id":1,"result"`)
	resumed.ends()
	again := w.stream("GET", "", "Last-Event-ID", prime.id)
	if got := again.wants("started"); got.id != started.id {
		t.Errorf("replayed as %q, was %q", got.id, started.id)
	}
	w.stream("GET", "", "Last-Event-ID", last.id).ends()
	w.open(`{}`) // another session has other streams
	w.status(http.StatusBadRequest, "GET", "", "Last-Event-ID", started.id)
}

func TestServerSendsTheClientAway(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{})
	s := w.stream("POST", toolCall(1, "test_reconnection"))
	_, _ = s.next()
	away, _ := s.next()
	if away.retry == "" || away.id == "" || away.data != "" {
		t.Errorf("%+v", away)
	}
	s.ends()
	back := w.stream("GET", "", "Last-Event-ID", away.id)
	back.wants(`"id":1,"result"`)
	back.ends()

	older := dialSession(t, server.Revision20250618, server.Options{})
	if body := older.status(200, "POST", toolCall(1, "test_reconnection")); !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":1,"result"`) {
		t.Error(body)
	}
}

func TestDisconnectionIsNotCancellation(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{})
	w.open(`{"sampling":{}}`)
	s := w.stream("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_sampling","arguments":{"prompt":"a"}}}`)
	_, _ = s.next()
	asked := s.wants("sampling/createMessage")
	_ = s.body.Close()
	w.status(http.StatusAccepted, "POST", `{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"still here"}}}`)
	resumed := w.stream("GET", "", "Last-Event-ID", asked.id)
	resumed.wants("still here")
	resumed.ends()
}

func TestUnrelatedMessagesGoToOneListener(t *testing.T) {
	for _, revision := range sessionRevisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			w := dialSession(t, revision, server.Options{})
			listen := func(headers ...string) *stream {
				s := w.stream("GET", "", headers...)
				if revision == server.Revision20251125 && len(headers) == 0 {
					if e, _ := s.next(); e.id == "" || e.data != "" {
						t.Errorf("the first event is %+v", e)
					}
				}
				return s
			}
			change := func(tool string) {
				if body := w.status(200, "POST", toolCall(1, tool)); !strings.HasPrefix(body, "{") {
					t.Errorf("unrelated messages on the stream of a request: %s", body)
				}
			}
			change("test_trigger_tool_change") // waits, since no listening stream is open
			first := listen()
			seen := first.wants("tools/list_changed")
			change("test_trigger_prompt_change")
			first.wants("prompts/list_changed")
			second := listen()
			change("test_trigger_resource_change")
			change("test_trigger_tool_change")
			second.wants("resources/list_changed")
			second.wants("tools/list_changed")

			taken := listen("Last-Event-ID", seen.id) // while first is still open
			taken.wants("prompts/list_changed")
			first.ends()
			change("test_trigger_tool_change")
			taken.wants("tools/list_changed")
			w.status(http.StatusNoContent, "DELETE", "")
			second.ends()
			taken.ends()
		})
	}
}

func TestTooManyListeners(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{})
	for range 16 {
		w.stream("GET", "")
	}
	w.status(http.StatusTooManyRequests, "GET", "")
}

func TestCancelledRequestEndsItsStream(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{})
	s := w.stream("POST", toolCall(7, "test_slow"))
	prime, _ := s.next()
	w.status(http.StatusAccepted, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	s.ends()
	w.stream("GET", "", "Last-Event-ID", prime.id).ends()
}

func TestOldStreamsAreForgotten(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{})
	var ids []string
	for i := range 40 {
		s := w.stream("POST", toolCall(i, "test_tool_with_logging"))
		prime, _ := s.next()
		for ended := false; !ended; {
			_, ended = s.next()
		}
		ids = append(ids, prime.id)
	}
	w.status(http.StatusBadRequest, "GET", "", "Last-Event-ID", ids[0])
	w.stream("GET", "", "Last-Event-ID", ids[39]).wants("started")
}

func TestTooManySessions(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{})
	first := w.session
	busy := w.stream("POST", toolCall(1, "test_slow"))
	_, _ = busy.next()
	second := ""
	for range 1024 {
		w.open(`{}`)
		if second == "" {
			second = w.session
		}
	}
	w.status(http.StatusNotFound, "POST", pingRequest, "Mcp-Session-Id", second)
	w.status(http.StatusOK, "POST", pingRequest, "Mcp-Session-Id", first) // is in use
	w.status(http.StatusNoContent, "DELETE", "", "Mcp-Session-Id", first)
}

func TestIdleSessionExpires(t *testing.T) {
	w := dialSession(t, server.Revision20251125, server.Options{SessionIdle: time.Hour})
	w.status(http.StatusOK, "POST", pingRequest)

	short := dialHTTP(t, newServer(t, server.Options{SessionIdle: time.Nanosecond}), server.Revision20251125).(*httpWire)
	t.Cleanup(short.close)
	response := short.do("POST", hello(short.revision))
	discard(t, response)
	short.session = response.Header.Get("Mcp-Session-Id")
	for deadline := time.Now().Add(patience); ; {
		response := short.do("POST", pingRequest)
		discard(t, response)
		if response.StatusCode == http.StatusNotFound {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the session does not expire")
		}
	}
}

func TestListenAndServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	s := newServer(t, server.Options{Path: "/other"})
	go func() { done <- s.Serve(ctx, listener) }()

	w := &httpWire{t: t, url: "http://" + listener.Addr().String() + "/other", revision: server.Revision20251125, ctx: context.Background()}
	w.open(`{}`)
	listening := w.stream("GET", "")
	running := w.stream("POST", toolCall(1, "test_slow"))
	_, _ = listening.next()
	_, _ = running.next()
	w.url = strings.Replace(w.url, "/other", "/mcp", 1)
	w.status(http.StatusNotFound, "POST", pingRequest)

	cancel()
	listening.ends()
	running.ends()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.ListenAndServe(context.Background(), "nonsense"); err == nil {
		t.Error("no error")
	}
}

// When everything has ended, nothing is left behind.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Run("sessions", func(t *testing.T) {
		at(t, server.Revision20251125, func(_ *testing.T, connect func(object) *client) {
			c := connect(everything())
			c.answers["elicitation/create"] = nil
			c.start("tools/call", object{"name": "test_slow", "arguments": object{"seconds": 10}})
			id := c.createTask("test_elicitation", object{"message": "who?"}, object{})["taskId"]
			c.start("tasks/result", object{"taskId": id})
			c.hears("elicitation/create")
		})
	})
	http.DefaultClient.CloseIdleConnections()
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "reference/server.(*session)") && !strings.Contains(string(stacks), "reference/server.(*call)") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind:\n%s", stacks)
		}
	}
}
