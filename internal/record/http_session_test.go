package record_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/reference/server"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize"}`

// unanswered sends a request that is never answered and leaves when a barrier says that
// nothing more can come of it.
func unanswered(t *testing.T, address, method, body string, barrier func(), header ...string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			err = fmt.Errorf("answered with %s", response.Status)
			_ = response.Body.Close()
		} else if ctx.Err() != nil {
			err = nil
		}
		answered <- err
	}()
	barrier()
	leave()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestHTTPNeverAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change string
		got    int // POSTs that the target gets of it
	}{
		"request dropped": {one("direction: in, method: ping", "{drop: true}"), 0},
		"answer dropped":  {one("response-to: ping", "{drop: true}"), 1},
		"head dropped":    {one("direction: in, http: {header: {X-Lost: yes}}", "{drop: true}"), 0},
		"kept open":       {one("response-to: ping", "{keep-open: true}, {drop: true}"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, address := faulty(t, test.change)
			unanswered(t, address, http.MethodPost, ping, func() {
				ask(t, address, post(ready))
				target.received(test.got + 1)
			}, "X-Lost", "yes")
		})
	}
}

func TestHTTPKeepsStreamsOpen(t *testing.T) {
	t.Parallel()
	_, address := faulty(t, one("direction: out, http: {header: {Content-Type: text/event-stream}}", "{keep-open: true}"))
	ctx, leave := context.WithCancel(t.Context())
	response := open(ctx, t, http.MethodPost, address, call)
	piece(t, response, events)
	more := make(chan error, 1)
	go func() {
		_, err := response.Read(make([]byte, 1))
		more <- err
	}()
	ask(t, address, post(ready)) // in which time it would end
	select {
	case err := <-more:
		t.Errorf("the stream ended: %v", err)
	default:
	}
	leave()
	if err := <-more; err == nil {
		t.Error("something came after the end")
	}
}

// begin begins a session and returns its id.
func begin(t *testing.T, address string) string {
	t.Helper()
	answer := ask(t, address, post(hello))
	if answer.Status != http.StatusOK {
		t.Fatalf("initialize: %+v", answer)
	}
	return answer.Header.Get("Mcp-Session-Id")
}

func inSession(id string) string { return "Mcp-Session-Id: " + id }

// A session is one connection: what has passed in one exchange counts in another.
func TestHTTPKnowsSessions(t *testing.T) {
	t.Parallel()
	_, address := faulty(t, one("response-to: ping, nth: 2", "{replace: /result, with: 2}"))
	session := begin(t, address)
	for i, want := range []string{answer, `{"id":1,"jsonrpc":"2.0","result":2}`, answer} {
		if found := ask(t, address, post(ping, inSession(session))); found.Body != want {
			t.Errorf("answer %d: %s", i+1, found.Body)
		}
		if found := ask(t, address, post(ping)); found.Body != answer {
			t.Errorf("outside of the session: %s", found.Body)
		}
	}
}

// Over HTTP with SSE a stream and what is posted to its endpoint are one connection.
func TestHTTPKnowsStreamsWithEndpoints(t *testing.T) {
	t.Parallel()
	changes := injection(t, one("response-to: ping, nth: 2", "{replace: /result, with: changed}")).Changes()
	address := "http://" + before(t, strings.TrimPrefix(reference(t), "http://"), record.HTTPOptions{Changes: changes})
	for range 2 { // each client is a connection of its own
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+server.SSEPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		events := transport.NewEventReader(response.Body, 1<<20)
		next := func() string {
			event, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			return string(event.Data)
		}
		endpoint := next()
		say := func(message string) string {
			posted, err := http.Post(address+endpoint, "application/json", strings.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			_ = posted.Body.Close()
			if posted.StatusCode != http.StatusAccepted {
				t.Fatalf("%s is answered with %s", message, posted.Status)
			}
			return next()
		}
		say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		for at, changed := range []bool{false, true, false} {
			if found := say(ping); strings.Contains(found, "changed") != changed {
				t.Errorf("answer %d is %s", at+1, found)
			}
		}
	}
}

// Where a change gives the client another id, the target still knows its own.
func TestHTTPTranslatesSessionIDs(t *testing.T) {
	t.Parallel()
	target, address := faulty(t, one("response-to: initialize", "{header: {mcp-session-id: not %s}}"))
	if session := begin(t, address); session != "not real" {
		t.Errorf("the client gets %q", session)
	}
	ask(t, address, post(ping, inSession("not real")))
	if got := target.received(2)[1]; got != "real "+ping {
		t.Errorf("the target gets %q", got)
	}
}

func TestHTTPSaysOnTheOtherStream(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint("stream open ", before), func(t *testing.T) {
			t.Parallel()
			_, address := faulty(t, one("direction: in, method: ping", "{send: {x: 1}, direction: out, stream: get}"))
			session := begin(t, address)
			var listening io.Reader
			listen := func() {
				listening = open(t.Context(), t, http.MethodGet, address, "", "Mcp-Session-Id", session)
			}
			if before {
				listen()
				piece(t, listening, ": welcome\n\n")
			}
			if found := ask(t, address, post(ping, inSession(session))); found.Body != answer {
				t.Errorf("the answer is %q", found.Body)
			}
			if !before {
				listen()
			}
			text := "data: {\"x\":1}\n\n"
			if before {
				piece(t, listening, text)
			} else {
				inEitherOrder(t, listening, ": welcome\n\n", text)
			}
		})
	}
}

func TestHTTPSaysOnAllOtherStreams(t *testing.T) {
	t.Parallel()
	_, address := faulty(t, `  changes:
    - {when: {carried: get, nth: 2}, do: [{send: {x: 1}, stream: others}]}
    - {when: {direction: in, method: ping}, do: [{send: {y: 2}, direction: out, stream: others}]}`)
	session := begin(t, address)
	var listening []io.Reader
	for range 2 {
		stream := open(t.Context(), t, http.MethodGet, address, "", "Mcp-Session-Id", session)
		piece(t, stream, ": welcome\n\n")
		listening = append(listening, stream)
	}
	piece(t, listening[0], "data: {\"x\":1}\n\n")
	ask(t, address, post(ping, inSession(session)))
	for _, stream := range listening {
		piece(t, stream, "data: {\"y\":2}\n\n")
	}
}

func TestHTTPHangs(t *testing.T) {
	t.Parallel()
	target := newScript()
	served := httptest.NewServer(target)
	t.Cleanup(served.CloseClientConnections)
	middleman, err := record.NewHTTP(served.URL, record.HTTPOptions{
		Changes: injection(t, one("direction: in, method: ping", "{hang: true, place: before}")).Changes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(middleman.Close)
	address := serving(t, middleman.ServeHTTP)
	session := begin(t, address)
	unanswered(t, address, http.MethodPost, ping, func() { <-middleman.Hung(session) }, "Mcp-Session-Id", session)
	unanswered(t, address, http.MethodPost, call, func() { ask(t, address, post(ready)) }, "Mcp-Session-Id", session)
	if got := target.received(2); !slices.Equal(got, []string{hello, ready}) { // others go on
		t.Errorf("the target gets %q", got)
	}
}

func TestHTTPExits(t *testing.T) {
	t.Parallel()
	target := newScript()
	served := httptest.NewServer(target)
	t.Cleanup(served.CloseClientConnections)
	exits := make(chan int, 1)
	address := before(t, served.Listener.Addr().String(), record.HTTPOptions{
		Changes: injection(t, one("direction: in, method: ping", "{exit: 3, place: before}")).Changes(), Exit: func(status int) { exits <- status },
	})
	listening := open(t.Context(), t, http.MethodGet, address, "")
	piece(t, listening, ": welcome\n\n")
	if found := ask(t, address, post(ping)); !found.Silent {
		t.Errorf("found %+v", found)
	}
	if status := <-exits; status != 3 {
		t.Errorf("status %d", status)
	}
	if rest, err := io.ReadAll(listening); err == nil {
		t.Errorf("the open stream ends in good order: %q", rest)
	}
	if found := ask(t, address, post(ready)); !found.Silent || len(target.received(0)) > 0 {
		t.Errorf("afterwards: %+v; the target gets %q", found, target.received(0))
	}
}

// logs collects the records of connections.
type logs struct {
	mu  sync.Mutex
	all []*transcript.Log
}

func (l *logs) open(connection string) *transcript.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, transcript.NewLog(connection))
	return l.all[len(l.all)-1]
}

func (l *logs) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, log := range l.all {
		for _, event := range log.Events() {
			line := fmt.Sprint(event.Connection, " ", event.Stream, " ", event.From, " ", event.Kind, " ", string(event.Raw), event.Note)
			if event.HTTP != nil {
				line += fmt.Sprint(event.HTTP.Method, event.HTTP.URL, event.HTTP.Status, event.HTTP.Header.Get("Mcp-Session-Id"))
			}
			lines = append(lines, strings.ReplaceAll(line, "\n", "|"))
		}
	}
	return lines
}

func TestHTTPRecords(t *testing.T) {
	t.Parallel()
	for _, injection := range []fault.Injection{{}, watching(t)} {
		served := httptest.NewServer(newScript())
		t.Cleanup(served.CloseClientConnections)
		var logs logs
		address := before(t, served.Listener.Addr().String(), record.HTTPOptions{Changes: injection.Changes(), Log: logs.open})
		session := begin(t, address)
		ask(t, address, post(ready, inSession(session)))
		ask(t, address, post(call, inSession(session)))
		ask(t, address, post(ping))
		lines := logs.lines()
		to := "client open to http://" + served.Listener.Addr().String()
		want := []string{
			"connection-1  " + to,
			"connection-1 post-1 client head POST/mcp0",
			"connection-1 post-1 client message " + hello,
			"connection-1 post-1 server head 200real",
			`connection-1 post-1 server message {"jsonrpc":"2.0","id":0,"result":{}}`,
			"connection-1 post-1 server end complete",
			"connection-1 post-2 client head POST/mcp0real",
			"connection-1 post-2 client message " + ready,
			"connection-1 post-2 server head 202",
			"connection-1 post-2 server end complete",
			"connection-1 post-3 client head POST/mcp0real",
			"connection-1 post-3 client message " + call,
			"connection-1 post-3 server head 200",
			"connection-1 post-3 server block id: 1|data:",
			"connection-1 post-3 server message " + progress,
			"connection-1 post-3 server message " + answer,
			"connection-1 post-3 server end complete",
			"connection-2  " + to,
			"connection-2 post-1 client head POST/mcp0",
			"connection-2 post-1 client message " + ping,
			"connection-2 post-1 server head 200",
			"connection-2 post-1 server message " + answer,
			"connection-2 post-1 server end complete",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("unread %t: wanted - found +\n%s", injection.None(), diff)
		}
	}
}

// Over HTTP+SSE a session is known by the endpoint that its stream names.
func TestHTTPKnowsSessionsByTheirEndpoints(t *testing.T) {
	t.Parallel()
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: messages?of="+r.URL.Query().Get("of")+"\n\n")
	}))
	t.Cleanup(served.CloseClientConnections)
	var logs logs
	address := before(t, served.Listener.Addr().String(), record.HTTPOptions{Log: logs.open})
	stream := func(of string) string {
		return "GET /a/sse?of=" + of + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	}
	post := func(to string) string { return strings.Replace(post(ping), "POST /mcp", "POST "+to, 1) }
	for _, request := range []string{stream("1"), stream("2"), post("/a/messages?of=1"), post("/a/messages?of=2"), post("/a/messages")} {
		ask(t, address, request)
	}
	var found []string
	for _, line := range logs.lines() {
		if strings.Contains(line, "client message") {
			found = append(found, line)
		}
	}
	want := []string{
		"connection-1 post-1 client message " + ping, "connection-2 post-1 client message " + ping,
		"connection-3 post-1 client message " + ping,
	}
	if !slices.Equal(want, found) {
		t.Errorf("recorded %q", found)
	}
}
