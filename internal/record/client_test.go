package record_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/record"
)

// asks is a request of a server.
const asks = `{"jsonrpc":"2.0","id":"s","method":"roots/list"}`

// asking is a server over HTTP that tells what comes, and asks for the roots before it
// answers a call.
func asking(t *testing.T) (came chan string, url string) {
	t.Helper()
	came = make(chan string, 16)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- strings.Join(strings.Fields(fmt.Sprint(r.Method, " ", r.Header.Get("X-Mark"), " ", r.Header.Get("Accept"), " ", string(body))), " ")
		switch message := jsonrpc.Parse(body); {
		case message.Kind != jsonrpc.Request:
			w.WriteHeader(http.StatusAccepted)
		case message.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: %s\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", asks, message.ID)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, message.ID)
		}
	}))
	t.Cleanup(served.CloseClientConnections)
	return came, served.URL + "/mcp"
}

// ofClient is a change of what a client says.
func ofClient(when, do string) string { return "  role: client\n" + one(when, do) }

// A server gets what a client into whose traffic something is injected would say, and the
// client does not notice.
func TestHTTPClients(t *testing.T) {
	t.Parallel()
	const roots = `{"jsonrpc":"2.0","id":"s","result":{}}`
	const accept = "application/json, text/event-stream "
	for name, test := range map[string]struct {
		change  string
		request string
		status  int
		came    []string // by the server
	}{
		"as it is":            {ofClient("method: other", "{drop: true}"), ping, 200, []string{"POST a " + accept + ping}},
		"edited":              {ofClient("method: ping", "{replace: /id, with: 2}"), ping, 200, []string{"POST a " + accept + `{"id":2,"jsonrpc":"2.0","method":"ping"}`}},
		"bytes":               {ofClient("method: ping", "{raw: '{'}"), ping, 202, []string{"POST a " + accept + "{"}},
		"answer edited":       {ofClient("kind: result", "{replace: /result, with: 1}"), roots, 202, []string{"POST a " + accept + `{"id":"s","jsonrpc":"2.0","result":1}`}},
		"answer dropped":      {ofClient("kind: result", "{drop: true}"), roots, 202, nil},
		"notice dropped":      {ofClient("kind: notification", "{drop: true}"), ready, 202, nil},
		"repeated":            {ofClient("method: ping", "{repeat: 1}"), ping, 200, []string{"POST a " + accept + ping, "POST a " + accept + ping}},
		"one more":            {ofClient("method: ping", "{send: {jsonrpc: '2.0', method: x}, place: before}"), ping, 200, []string{"POST a " + accept + extra, "POST a " + accept + ping}},
		"answered for it":     {ofClient("direction: in, method: roots/list", "{answer: {roots: 7}}"), call, 200, []string{"POST a " + accept + call, "POST a " + accept + `{"id":"s","jsonrpc":"2.0","result":{"roots":7}}`}},
		"header":              {ofClient("http: {header: {X-Mark: a}}", "{header: {X-Mark: b, Accept: null}}"), ping, 200, []string{"POST b " + ping}},
		"header of a message": {ofClient("method: ping", "{header: {X-Mark: '%s-b'}}"), ping, 200, []string{"POST a-b " + accept + ping}},
		"another request":     {ofClient("method: ping", "{request: {method: DELETE, header: {X-Mark: c, Accept: null}}}"), ping, 200, []string{"POST a " + accept + ping, "DELETE c"}},
		"instead of a message": {ofClient("kind: notification", "{request: {method: GET}}, {drop: true}"), ready, 202,
			[]string{"GET a " + strings.TrimSpace(accept)}},
		"not asked at all":          {ofClient("http: {header: {X-Mark: a}}", "{respond: {status: 204}}"), ready, 204, nil},
		"late, which nobody awaits": {ofClient("kind: notification", "{delay: 1ms}"), ready, 202, []string{"POST a " + accept + ready}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came, url := asking(t)
			front, stop, err := record.Front(url, record.HTTPOptions{Changes: injection(t, test.change).Changes()})
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			address, _, _ := strings.Cut(strings.TrimPrefix(front, "http://"), "/")
			if found := ask(t, address, post(test.request, "X-Mark: a", "Accept: application/json, text/event-stream")); found.Status != test.status {
				t.Errorf("the client sees %+v", found)
			}
			var found []string
			for range test.came {
				found = append(found, <-came)
			}
			if name == "another request" { // on a connection of its own: either may come first
				slices.Sort(found)
				slices.Sort(test.came)
			}
			if diff := cmp.Diff(test.came, found); diff != "" {
				t.Errorf("wanted - found +\n%s", diff)
			}
			ask(t, address, post(hello)) // a barrier
			if rest := <-came; !strings.HasSuffix(rest, hello) {
				t.Errorf("there is more: %s", rest)
			}
		})
	}
}

// What a client holds back comes when the other message has passed, and does not
// keep the client waiting.
func TestHTTPClientsHold(t *testing.T) {
	t.Parallel()
	came, url := asking(t)
	front, stop, err := record.Front(url, record.HTTPOptions{Changes: injection(t, ofClient("kind: notification", "{hold: {method: ping}}")).Changes()})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	address, _, _ := strings.Cut(strings.TrimPrefix(front, "http://"), "/")
	const session = "Mcp-Session-Id: a" // what waits, waits on one connection
	if found := ask(t, address, post(ready, session)); found.Status != http.StatusAccepted {
		t.Errorf("the client sees %+v", found)
	}
	ask(t, address, post(ping, session))
	for range 2 {
		if text := <-came; strings.HasSuffix(text, ready) {
			return
		}
	}
	t.Error("what was held never came")
}

// A server that a client has started hears what was injected into the traffic of a client.
func TestStdioClients(t *testing.T) {
	t.Parallel()
	both := call + "\n" + ready + "\n"
	for name, test := range map[string]struct{ change, hears string }{
		"edited":        {ofClient("method: tools/call", "{replace: /id, with: 2}"), `{"id":2,"jsonrpc":"2.0","method":"tools/call"}` + "\n" + ready + "\n"},
		"dropped":       {ofClient("kind: notification", "{drop: true}"), call + "\n"},
		"repeated":      {ofClient("kind: notification", "{repeat: 1}"), both + ready + "\n"},
		"one more":      {ofClient("method: tools/call", "{send: {jsonrpc: '2.0', method: x}}"), call + "\n" + extra + "\n" + ready + "\n"},
		"text":          {ofClient("method: tools/call", `{write: "hello\n", place: before}`), "hello\n" + both},
		"split":         {ofClient("method: tools/call", "{split: 3}"), call[:3] + "\n" + call[3:] + "\n" + ready + "\n"},
		"not ended":     {ofClient("kind: notification", `{end: ""}`), call + "\n" + ready},
		"closed early":  {ofClient("method: tools/call", "{close: true}"), call + "\n"},
		"held for good": {ofClient("method: tools/call", "{hold: {method: never}}"), ready + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input, toServer := io.Pipe()
			fromServer, output := io.Pipe()
			client, stop := record.Through(record.Pipes{In: toServer, Out: fromServer}, record.StdioOptions{Changes: injection(t, test.change).Changes()})
			defer stop()
			if _, err := fmt.Fprint(client.In, call+"\n"+ready+"\n"); err == nil {
				_ = client.In.Close()
			}
			heard, err := io.ReadAll(input)
			if err != nil || string(heard) != test.hears {
				t.Errorf("wanted %q\nfound %q, %v", test.hears, heard, err)
			}
			go func() { _, _ = io.WriteString(output, answer+"\n"); _ = output.Close() }()
			if raw, err := io.ReadAll(client.Out); err != nil || string(raw) != answer+"\n" {
				t.Errorf("the client hears %q, %v", raw, err)
			}
		})
	}
}

// What stands between can be stopped at any time, even if a change makes it hang.
func TestThroughEnds(t *testing.T) {
	t.Parallel()
	input, toServer := io.Pipe()
	fromServer, _ := io.Pipe()
	client, stop := record.Through(record.Pipes{In: toServer, Out: fromServer}, record.StdioOptions{Changes: injection(t, ofClient("method: ping", "{hang: true}")).Changes()})
	go func() { _, _ = io.WriteString(client.In, ping+"\n"+ping+"\n") }()
	if line, err := bufio.NewReader(input).ReadString('\n'); err != nil || line != ping+"\n" {
		t.Errorf("the server hears %q, %v", line, err)
	}
	stop()
	if _, err := client.Out.Read(make([]byte, 1)); err == nil {
		t.Error("the client still hears something")
	}
}

// What a client says beside its last message comes before what stands between is
// ended.
func TestFrontEndsWhenAllHasCome(t *testing.T) {
	t.Parallel()
	for range 20 {
		came, url := asking(t)
		front, stop, err := record.Front(url, record.HTTPOptions{Changes: injection(t, ofClient("method: ping", "{send: {jsonrpc: '2.0', method: x}}, {request: {method: DELETE}}")).Changes()})
		if err != nil {
			t.Fatal(err)
		}
		address, _, _ := strings.Cut(strings.TrimPrefix(front, "http://"), "/")
		ask(t, address, post(ping))
		stop()
		if len(came) != 3 {
			t.Fatalf("%d requests have come of 3", len(came))
		}
	}
}

// The server gets what a client has said, even if that is gone by then.
func TestHTTPClientsLeave(t *testing.T) {
	t.Parallel()
	came, url := asking(t)
	front, stop, err := record.Front(url, record.HTTPOptions{Changes: watching(t).Changes()})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	address, _, _ := strings.Cut(strings.TrimPrefix(front, "http://"), "/")
	for range 50 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, post(ping)); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		select {
		case text := <-came:
			if !strings.HasSuffix(text, ping) {
				t.Errorf("the server gets %q", text)
			}
		case <-time.After(time.Minute):
			t.Fatal("the server gets nothing")
		}
	}
}
