package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// relayed is a relay before a server, and what it has recorded.
type relayed struct {
	address   string // of the relay
	authority []byte
	stop      func() []recording
}

type recording struct {
	header transcript.Header
	events []transcript.Event
}

// relay stands before a server that serves one connection after another with its own code.
func relay(t *testing.T, options proxy.RelayOptions, upstream string) relayed {
	t.Helper()
	directory := t.TempDir()
	recorder, err := proxy.NewRecorder(proxy.RecorderOptions{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	options.Recorder = recorder
	one, err := proxy.NewRelay(upstream, options)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- one.Serve(listener) }()
	stop := sync.OnceValue(func() []recording {
		_ = listener.Close()
		one.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		return recordings(t, directory)
	})
	t.Cleanup(func() { stop() })
	return relayed{listener.Addr().String(), one.Authority(), stop}
}

// recordings are what lies in a directory, in the order of the names.
func recordings(t *testing.T, directory string) []recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	var all []recording
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		header, events, err := transcript.Read(file)
		_ = file.Close()
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		all = append(all, recording{header, events})
	}
	return all
}

// rawServer gives each connection to serve.
func rawServer(t *testing.T, serve func(*net.TCPConn)) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn.(*net.TCPConn))
		}
	}()
	return "http://" + listener.Addr().String() + "/mcp"
}

// inPieces writes a text byte by byte, a long one in larger pieces.
func inPieces(to io.Writer, text string) {
	for piece := range slices.Chunk([]byte(text), 1+len(text)/1000) {
		_, _ = to.Write(piece) // who reads tells what is missing
	}
}

// Each side reads what the other writes, byte for byte.
func TestNoByteIsChanged(t *testing.T) {
	t.Parallel()
	const asks, refuses = "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n"
	fields := func(count int) string {
		var all strings.Builder
		for number := range count {
			fmt.Fprintf(&all, "X-%d: %d\r\n", number, number)
		}
		return all.String()
	}
	long := "X: " + strings.Repeat("x", 1<<20) + "\r\n"
	for name, test := range map[string]struct{ request, answer string }{
		"P04 a head of 1 MiB": {
			"GET /mcp HTTP/1.1\r\nHost: x\r\n" + long + "\r\n", "HTTP/1.1 405 No\r\n" + long + "Content-Length: 0\r\n\r\n",
		},
		"P05 10,000 fields": {
			"GET /mcp HTTP/1.1\r\nHost: x\r\n" + fields(10_000) + "\r\n", "HTTP/1.1 405 No\r\n" + fields(10_000) + "Content-Length: 0\r\n\r\n",
		},
		"P06 P15 chunks, extensions, trailers": {
			"POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2;a=b\r\n{}\r\n0\r\nT: 1\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n7\r\ndata: {\r\n4;x=\"y\"\r\n}\n\n:\r\n0\r\nT: 1\r\n\r\n",
		},
		"P06 a bad size": {
			"POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
		},
		"P07 both lengths": {
			"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		},
		"P07 two lengths":        {"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", refuses},
		"P08 HTTP/1.0":           {"GET /mcp HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\ufeffdata: x\r\rdata"},
		"P09 pipelined requests": {"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\nGET /mcp HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\nHTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"},
		"P12 interim answers": {
			"POST /mcp HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		},
		"P14 a half-closed POST": {asks, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"},
		"P16 an unknown coding":  {asks, "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\n\x01\x02\x03"},
		"P19 no HTTP at all":     {"\x00\x01\x02\xff hello", "\xff\xfe"},
		"P20 an early answer":    {"", "HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n"},
		"P30 odd spelling, order, duplicates, empty values": {
			"POST /mcp?a=%2F&& HTTP/1.1\r\nhOsT: x\r\nmcp-session-id:  a \r\nX:\r\nX: 2\r\nContent-Length: 2\r\n\r\n{}",
			"HTTP/1.1 200  Fine  \r\ncontent-type: application/json\r\nX:\r\nx: 2\r\nContent-length: 2\r\n\r\n{}",
		},
		"P31 an absolute target and no host": {"GET http://other.example/mcp HTTP/1.1\r\n\r\n", refuses},
		"P31 the target *":                   {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", refuses},
		"P31 CONNECT":                        {"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n\x16\x03\x01", "HTTP/1.1 200 OK\r\n\r\n\x16\x03\x03"},
		"P32 a redirect to another host":     {asks, "HTTP/1.1 307 Elsewhere\r\nLocation: https://other.example/mcp\r\nContent-Length: 0\r\n\r\n"},
		"P33 metadata of another resource": {
			"GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: x\r\n\r\n",
			"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer resource_metadata=\"https://other.example/x\"\r\nContent-Length: 36\r\n\r\n{\"resource\":\"https://other.example\"}",
		},
		"P35 a preface of HTTP/2": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
		"an upgrade":              {"GET /mcp HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nanything", "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n\x81\x05hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came := make(chan string, 1)
			relayed := relay(t, proxy.RelayOptions{}, rawServer(t, func(conn *net.TCPConn) {
				request, _ := io.ReadAll(conn)
				came <- string(request)
				inPieces(conn, test.answer)
				_ = conn.Close()
			}))
			client, err := net.Dial("tcp", relayed.address)
			if err != nil {
				t.Fatal(err)
			}
			inPieces(client, test.request)
			_ = client.(*net.TCPConn).CloseWrite()
			answer, err := io.ReadAll(client)
			if err != nil || string(answer) != test.answer {
				t.Errorf("%v, the answer came as %.300q", err, answer)
			}
			if request := <-came; request != test.request {
				t.Errorf("the request came as %.300q", request)
			}
		})
	}
}

// A connection that breaks is one that breaks at the other end; what ends well does so there.
func TestEndsArePassedOn(t *testing.T) {
	t.Parallel()
	relayed := relay(t, proxy.RelayOptions{}, rawServer(t, func(conn *net.TCPConn) {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal")
		_ = conn.SetLinger(0)
		_ = conn.Close()
	}))
	client, err := net.Dial("tcp", relayed.address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(client, "GET /mcp HTTP/1.1\r\n")
	if _, err := io.ReadAll(client); err == nil {
		t.Error("a connection that broke has a good end")
	}
	gone := relay(t, proxy.RelayOptions{}, "http://127.0.0.1:1/mcp")
	if client, err = net.Dial("tcp", gone.address); err == nil { // else it is broken already
		_, _ = io.WriteString(client, "GET /mcp HTTP/1.1\r\n\r\n")
		if answer, _ := io.ReadAll(client); len(answer) > 0 {
			t.Errorf("a server that cannot be reached answers %q", answer)
		}
	}
	failed := gone.stop()
	if len(failed) != 1 || !failed[0].header.Unjudged || !slices.ContainsFunc(failed[0].events, func(e transcript.Event) bool { return e.Kind == transcript.Failure }) {
		t.Errorf("recorded %+v", failed)
	}
}

// story is a recording in short: a word or two for each event.
func story(events []transcript.Event) (all []string) {
	for _, event := range events {
		text := string(event.Kind)
		switch {
		case event.HTTP != nil && event.HTTP.Status != 0:
			text = fmt.Sprintf("%s %d", event.Stream, event.HTTP.Status)
		case event.HTTP != nil:
			text = event.Stream + " " + event.HTTP.Method
		case event.Kind == transcript.Message:
			text = fmt.Sprintf("%s %s %s", event.Stream, event.From, event.Raw)
		case event.Kind == transcript.End:
			text = fmt.Sprintf("%s end %s", event.Stream, event.Note)
		case event.Kind == transcript.Block:
			text = fmt.Sprintf("%s block %s", event.Stream, event.SSE.Name)
		}
		all = append(all, text)
	}
	return all
}

// talk sends one request after another, each on the same connection, and reads the answers.
func talk(t *testing.T, address string, requests ...string) {
	t.Helper()
	client, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	reader := bufio.NewReader(client)
	for _, request := range requests {
		method, _, _ := strings.Cut(request, " ")
		_, _ = io.WriteString(client, request)
		answer, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

func post(body string, header ...string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", strings.Join(header, ""), len(body), body)
}

// A session has a record of its own, with what came over whichever connection of TCP.
func TestSessionsAreKeptApart(t *testing.T) {
	t.Parallel()
	number := 0
	var mu sync.Mutex
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case bytes.Contains(body, []byte("initialize")):
			number++
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", number))
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"number":%d}}}`, number)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, ": hi\n\ndata: {\"of\":%q}\n\n", r.Header.Get("Mcp-Session-Id"))
		}
	})
	relayed := relay(t, proxy.RelayOptions{}, serve(t, server))
	opening := post(`{"id":1,"method":"initialize","params":{"capabilities":{}}}`)
	talk(t, relayed.address, opening, opening, post(`{}`, "mcp-session-id: s1\r\n"))
	talk(t, relayed.address, post(`{}`, "MCP-SESSION-ID: s2\r\n"), "DELETE /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: s1\r\n\r\n")
	talk(t, relayed.address, post(`{}`, "Mcp-Session-Id: older\r\n"), "OPTIONS /mcp HTTP/1.1\r\nHost: x\r\n\r\n")
	recorded := relayed.stop()
	if len(recorded) != 4 {
		t.Fatalf("recorded %d connections", len(recorded))
	}
	first := strings.Join(story(recorded[0].events), "\n")
	want := strings.Join([]string{
		"open", "post-1 POST", `post-1 client {"id":1,"method":"initialize","params":{"capabilities":{}}}`, "post-1 200",
		`post-1 server {"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"number":1}}}`, "post-1 end complete",
		"post-2 POST", "post-2 client {}", "post-2 200", "post-2 block ", `post-2 server {"of":"s1"}`, "post-2 end complete",
		"delete-1 DELETE", "delete-1 204", "delete-1 end complete", "close",
	}, "\n")
	if first != want {
		t.Errorf("recorded\n%s\nwanted\n%s", first, want)
	}
	for position, one := range recorded {
		if joined := position == 2; one.header.Joined != joined || one.header.Unjudged != (position == 3) {
			t.Errorf("%d: %+v", position, one.header)
		}
		if position < 2 && (one.header.Revision != "2025-06-18" || fmt.Sprint(one.header.Capabilities.Server) != fmt.Sprintf("map[number:%d]", position+1)) {
			t.Errorf("%d agreed on %+v", position, one.header.Agreement)
		}
	}
}

// Where there are no sessions, what belongs to a request may have come over another
// connection of the client: nothing is missed in the record of either.
func TestConnectionsWithoutSessions(t *testing.T) {
	t.Parallel()
	asked := post(`{"id":1,"method":"ping"}`, "MCP-Protocol-Version: 2026-07-28\r\n")
	for count := range 4 {
		relayed := relay(t, proxy.RelayOptions{}, serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		for range count {
			talk(t, relayed.address, asked, asked)
		}
		gaps := 0
		recorded := relayed.stop()
		for _, one := range recorded {
			gaps += strings.Count(strings.Join(story(one.events), " "), "gap")
		}
		if want := max(0, count-1); len(recorded) != count || gaps < want || gaps > count || count < 2 && gaps > 0 {
			t.Errorf("of %d connections %d are recorded, with %d gaps", count, len(recorded), gaps)
		}
	}
}

// An endpoint at the root may be named without a path.
func TestURLWithoutPath(t *testing.T) {
	t.Parallel()
	upstream := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	relayed := relay(t, proxy.RelayOptions{}, strings.TrimSuffix(upstream, "/mcp"))
	talk(t, relayed.address, strings.Replace(post(`{"id":1,"method":"initialize"}`), "/mcp", "/", 1))
	recorded := relayed.stop()
	if len(recorded) != 1 || recorded[0].header.Unjudged {
		t.Errorf("%d connections are recorded: %+v", len(recorded), recorded)
	}
}

// What is refused before anything has begun belongs to no connection of the protocol.
func TestRefusedBeforehand(t *testing.T) {
	t.Parallel()
	upstream := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	relayed := relay(t, proxy.RelayOptions{}, upstream)
	talk(t, relayed.address, "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n")
	recorded := relayed.stop()
	if len(recorded) != 1 || recorded[0].header.Joined || !recorded[0].header.Unjudged {
		t.Errorf("%d connections are recorded: %+v", len(recorded), recorded)
	}
}

func serve(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	return "http://" + listener.Addr().String() + "/mcp"
}

// Over HTTP with SSE a stream and what is posted to its endpoint are one connection. What is
// posted is recorded at the URL that the server names, whether it is of its own or of the
// relay, which it takes from the Host field.
func TestStreamsOfHTTPWithSSE(t *testing.T) {
	t.Parallel()
	for name, endpoint := range map[string]string{"relative": "messages?session=1", "of the Host field": "http://x/messages?session=1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamOfHTTPWithSSE(t, endpoint)
		})
	}
}

func streamOfHTTPWithSSE(t *testing.T, endpoint string) {
	t.Helper()
	streams := make(chan chan string, 2)
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusAccepted)
			stream := <-streams
			stream <- string(body)
			return
		}
		stream := make(chan string)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", endpoint)
		_ = http.NewResponseController(w).Flush()
		streams <- stream
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", <-stream)
	})
	upstream := serve(t, server)
	relayed := relay(t, proxy.RelayOptions{}, upstream)
	client, err := net.Dial("tcp", relayed.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	_, _ = io.WriteString(client, "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(client), &http.Request{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	events := bufio.NewReader(answer.Body)
	if _, err := events.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	talk(t, relayed.address, strings.Replace(post(`{"id":7}`), "/mcp", "/messages?session=1", 1))
	if _, err := io.Copy(io.Discard, events); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	recorded := relayed.stop()
	if len(recorded) != 1 || recorded[0].header.Transport != "sse" || recorded[0].header.Joined {
		t.Fatalf("recorded %+v", recorded)
	}
	at := endpoint
	if !strings.Contains(endpoint, "://") {
		at = strings.Replace(upstream, "mcp", endpoint, 1)
	}
	if !slices.ContainsFunc(recorded[0].events, func(one transcript.Event) bool { return one.HTTP != nil && one.HTTP.URL == at }) {
		t.Errorf("nothing is posted to %s: %+v", at, recorded[0].events)
	}
	told := strings.Join(story(recorded[0].events), "\n")
	for _, part := range []string{"get-1 GET", "get-1 200", "post-1 POST", `post-1 client {"id":7}`, "post-1 202", `get-1 server {"id":7}`, "get-1 end complete"} {
		if !strings.Contains(told, part) {
			t.Errorf("%s is not in\n%s", part, told)
		}
	}
}

// Under another name a server hears its own, and all else as it came.
func TestServerHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ sent, hears string }{
		"a request":            {"GET /mcp HTTP/1.1\r\nA: 1\r\nhost:relay\r\nB: 2\r\n\r\n", "GET /mcp HTTP/1.1\r\nA: 1\r\nhost: SERVER\r\nB: 2\r\n\r\n"},
		"bare newlines":        {"GET / HTTP/1.1\nHost: relay\n\n", "GET / HTTP/1.1\nHost: SERVER\n\n"},
		"an absolute target":   {"GET http://relay/a?b=http://relay/ HTTP/1.1\r\nHost: relay\r\n\r\n", "GET http://SERVER/a?b=http://relay/ HTTP/1.1\r\nHost: SERVER\r\n\r\n"},
		"a body that names it": {"POST / HTTP/1.1\r\nHost: relay\r\nContent-Length: 15\r\n\r\nHost: relay\r\n\r\nGET / HTTP/1.1\r\nHost: relay\r\n\r\n", "POST / HTTP/1.1\r\nHost: SERVER\r\nContent-Length: 15\r\n\r\nHost: relay\r\n\r\nGET / HTTP/1.1\r\nHost: SERVER\r\n\r\n"},
		"chunks":               {"POST / HTTP/1.1\r\nHost: relay\r\nTransfer-Encoding: chunked\r\n\r\nf;x\r\nHost: relay\r\n\r\n\r\n0\r\nHost: relay\r\n\r\nGET / HTTP/1.1\r\nHost: relay\r\n\r\n", "POST / HTTP/1.1\r\nHost: SERVER\r\nTransfer-Encoding: chunked\r\n\r\nf;x\r\nHost: relay\r\n\r\n\r\n0\r\nHost: relay\r\n\r\nGET / HTTP/1.1\r\nHost: SERVER\r\n\r\n"},
		"what is no length":    {"POST / HTTP/1.1\r\nHost: relay\r\nContent-Length: x\r\n\r\nHost: relay\r\n\r\n", "POST / HTTP/1.1\r\nHost: SERVER\r\nContent-Length: x\r\n\r\nHost: relay\r\n\r\n"},
		"an upgrade":           {"GET / HTTP/1.1\r\nHost: relay\r\nUpgrade: x\r\n\r\nGET / HTTP/1.1\r\nHost: relay\r\n\r\n", "GET / HTTP/1.1\r\nHost: SERVER\r\nUpgrade: x\r\n\r\nGET / HTTP/1.1\r\nHost: relay\r\n\r\n"},
		"a head without end":   {"GET / HTTP/1.1\r\nHost: " + strings.Repeat("x", 2<<20), "GET / HTTP/1.1\r\nHost: " + strings.Repeat("x", 2<<20)},
	} {
		for _, size := range []int{1, 7, 1 << 22} {
			if size == 1 && len(test.sent) > 1<<20 {
				continue
			}
			var heard bytes.Buffer
			to := proxy.NewRehoster(&heard, "SERVER")
			for piece := range slices.Chunk([]byte(test.sent), size) {
				if n, err := to.Write(piece); err != nil || n != len(piece) {
					t.Errorf("%s: wrote %d of %d, %v", name, n, len(piece), err)
				}
			}
			if heard.String() != test.hears {
				t.Errorf("%s, in pieces of %d: heard %.300q", name, size, heard.String())
			}
		}
	}
}

// What cannot be the endpoint of HTTP with SSE passes at once: who waits for it may say
// nothing before.
func TestNothingElseIsHeldBack(t *testing.T) {
	t.Parallel()
	const head, coded = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, sent := range map[string][]string{
		"a head":              {head},
		"a head, chunked":     {coded},
		"a comment":           {head, ": hi\n\n", ":\n\n"},
		"a comment, chunked":  {coded, "6\r\n: hi\n\n\r\n"},
		"half of a message":   {head, "data: {"},
		"half, chunked":       {coded, "7\r\ndata: {\r\n"},
		"an id":               {head, "id: 1\ndata:\n\n"},
		"an event":            {head, "event: message\n"},
		"an event and more":   {coded, "19\r\nid: 1\nevent: message\ndata:"},
		"an answer":           {"HTTP/1.1 202 Accepted\r\n\r\n", "HTTP/1.1 200 OK\r\n"},
		"what is no HTTP":     {"x", "HTTP"},
		"all after the first": {head, "event: endpoint\ndata: /m\n\n", "event: endpoint\n", "data"},
	} {
		var heard bytes.Buffer
		to, _ := proxy.NewStayer(&heard, "http://SERVER", "RELAY")
		all := ""
		for _, piece := range sent {
			_, _ = io.WriteString(to, piece)
			if all += piece; heard.String() != all {
				t.Errorf("%s: of %q passed %q", name, all, heard.String())
			}
		}
	}
}

// A client of HTTP with SSE stays at the relay when the server names its endpoint by a URL of
// its own; of all else nothing is changed.
func TestEndpointOfTheServer(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	for name, test := range map[string]struct{ sent, hears string }{
		"until the end":       {head + "\r\nevent: endpoint\ndata: http://SERVER/m?s=1\n\ndata: http://SERVER/m\n\n", head + "\r\nevent: endpoint\ndata: http://RELAY/m?s=1\n\ndata: http://SERVER/m\n\n"},
		"in chunks":           {head + "transfer-encoding: chunked\r\n\r\n10\r\nevent: endpoint\n\r\n19\r\ndata: http://SERVER/m?s\n\n\r\n3;x\r\n:\n\n\r\n0\r\n\r\n", head + "transfer-encoding: chunked\r\n\r\n28\r\nevent: endpoint\ndata: http://RELAY/m?s\n\n\r\n3;x\r\n:\n\n\r\n0\r\n\r\n"},
		"behind a comment":    {head + "\r\n: hi\n\nevent: endpoint\r\ndata: http://SERVER/\r\n\r\n", head + "\r\n: hi\n\nevent: endpoint\r\ndata: http://RELAY/\r\n\r\n"},
		"a path":              {head + "\r\nevent: endpoint\ndata: /m\n\n", head + "\r\nevent: endpoint\ndata: /m\n\n"},
		"another server":      {head + "\r\nevent: endpoint\ndata: http://other/m\n\n", head + "\r\nevent: endpoint\ndata: http://other/m\n\n"},
		"another event":       {head + "\r\nevent: message\ndata: http://SERVER/m\n\nevent: endpoint\ndata: http://SERVER/m\n\n", head + "\r\nevent: message\ndata: http://SERVER/m\n\nevent: endpoint\ndata: http://SERVER/m\n\n"},
		"no end of an event":  {head + "\r\nevent: endpoint\ndata: http://SERVER/m\n", head + "\r\nevent: endpoint\ndata: http://SERVER/m\n"},
		"no stream":           {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nevent: endpoint\ndata: http://SERVER/m\n\n", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nevent: endpoint\ndata: http://SERVER/m\n\n"},
		"no HTTP":             {"event: endpoint\ndata: http://SERVER/m\n\n", "event: endpoint\ndata: http://SERVER/m\n\n"},
		"a bad chunk":         {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"},
		"a head without end":  {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10), "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10)},
		"an event without an": {head + "\r\ndata: " + strings.Repeat("x", 100<<10), head + "\r\ndata: " + strings.Repeat("x", 100<<10)},
	} {
		for _, size := range []int{1, 5, 1 << 20} {
			if size == 1 && len(test.sent) > 10<<10 {
				continue
			}
			var heard bytes.Buffer
			to, flush := proxy.NewStayer(&heard, "http://SERVER", "RELAY")
			for piece := range slices.Chunk([]byte(test.sent), size) {
				if n, err := to.Write(piece); err != nil || n != len(piece) {
					t.Errorf("%s: wrote %d of %d, %v", name, n, len(piece), err)
				}
			}
			flush()
			if heard.String() != test.hears {
				t.Errorf("%s, in pieces of %d: heard\n%.300q, wanted\n%.300q", name, size, heard.String(), test.hears)
			}
		}
	}
}
