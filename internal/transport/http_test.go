package transport_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/transport/transporttest"
)

func client(t *testing.T, options transport.HTTPOptions) (*transport.HTTP, *transcript.Log) {
	t.Helper()
	log := transcript.NewLog("c1")
	h, err := transport.NewHTTP(options, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, log
}

// serve answers with a handler until the test ends.
func serve(t *testing.T, handler http.HandlerFunc) (*transport.HTTP, *transcript.Log) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return client(t, transport.HTTPOptions{URL: server.URL + "/mcp"})
}

// speak answers each connection with bytes, after the head of a request, and
// closes it.
func speak(t *testing.T, answer string) string {
	t.Helper()
	return converse(t, func(conn net.Conn) {
		reader := bufio.NewReader(conn)
		for {
			line, err := reader.ReadString('\n')
			if err != nil || line == "\r\n" {
				break
			}
		}
		_, _ = io.WriteString(conn, answer)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, reader) // a close with unread bytes would be a reset
	})
}

// converse hands each connection to a function and closes it afterwards.
func converse(t *testing.T, talk func(net.Conn)) string {
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
			go func() {
				defer func() { _ = conn.Close() }()
				talk(conn)
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/mcp"
}

func post(body string) transport.Request {
	return transport.Request{Method: http.MethodPost, Body: []byte(body),
		Header: http.Header{"Content-Type": {"application/json"}}}
}

func do(t *testing.T, h *transport.HTTP, request transport.Request) *transport.Exchange {
	t.Helper()
	exchange, err := h.Do(within(t, patient), request)
	if err != nil {
		t.Fatal(err)
	}
	return exchange
}

func TestHTTPTellsItsScenario(t *testing.T) {
	t.Parallel()
	h, log := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			w.Header().Set("Content-Type", "Application/JSON; charset=utf-8")
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
		case http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 1\ndata:\n\nid: 2\nevent: message\ndata: {}\n\n")
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	echo := do(t, h, post(`{"a":1}`))
	body, err := echo.Body(within(t, patient))
	if err != nil || string(body) != `{"a":1}` || echo.ContentType != "application/json" || echo.Status != http.StatusOK {
		t.Errorf("answered %q, %v, %+v", body, err, echo)
	}
	stream := do(t, h, transport.Request{Method: http.MethodGet, Note: "listens"})
	priming, err := stream.Next(within(t, patient))
	if err != nil || !priming.HasData || priming.Dispatched() || *priming.ID != "1" {
		t.Errorf("primed with %+v, %v", priming, err)
	}
	message, err := stream.Next(within(t, patient))
	if err != nil || string(message.Data) != "{}" || message.Name != "message" {
		t.Errorf("then %+v, %v", message, err)
	}
	if raw := log.Events()[message.Sequence].Raw; string(raw) != "{}" {
		t.Errorf("at its sequence number stands %q", raw)
	}
	if _, err := stream.Next(within(t, patient)); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
	empty := do(t, h, transport.Request{Method: http.MethodDelete, Deliberate: "no session"})
	if body, err := empty.Body(within(t, patient)); err != nil || len(body) != 0 {
		t.Errorf("answered %q, %v", body, err)
	}
	h.Close()
	if _, err := h.Do(t.Context(), post("{}")); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	wantScenario(t, log, fmt.Sprintf(`
		client open (to %s)
		post-1 client head POST 0
		post-1 client message "{\"a\":1}"
		post-1 server head 200
		post-1 server message "{\"a\":1}"
		post-1 server end (complete)
		get-1 client head GET 0 (listens)
		get-1 server head 200
		get-1 server block "id: 1\ndata:"
		get-1 server message "{}"
		get-1 server end (complete)
		delete-1 client head DELETE 0
		delete-1 server head 202
		delete-1 server end (complete)
		client close`, strings.TrimSuffix(log.Events()[1].HTTP.URL, "#")))
}

func TestHTTPHeadersAreExact(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	t.Cleanup(server.Close)
	elsewhere := httptest.NewServer(server.Config.Handler)
	t.Cleanup(elsewhere.Close)
	h, log := client(t, transport.HTTPOptions{URL: server.URL + "/mcp?x=1",
		Header: http.Header{"Authorization": {"Bearer secret"}, "X-Extra": {"1"}}})

	for name, test := range map[string]struct {
		request transport.Request
		want    http.Header
		host    string
		uri     string
	}{
		"bare": {transport.Request{Method: "POST", NoHeaders: true},
			http.Header{"User-Agent": {transport.UserAgent}, "Content-Length": {"0"}}, "", "/mcp?x=1"},
		"those of the options": {transport.Request{Method: "GET"},
			http.Header{"User-Agent": {transport.UserAgent}, "Authorization": {"Bearer secret"}, "X-Extra": {"1"}}, "", "/mcp?x=1"},
		"overridden": {transport.Request{Method: "GET", URL: "/other", Header: http.Header{
			"authorization": {"Bearer other"}, "X-Extra": nil, "User-Agent": nil, "host": {"evil.example"}}},
			http.Header{"Authorization": {"Bearer other"}}, "evil.example", "/other"},
		"another origin": {transport.Request{Method: "GET", URL: elsewhere.URL + "/metadata"},
			http.Header{"User-Agent": {transport.UserAgent}}, "", "/metadata"},
		"repeated": {transport.Request{Method: "GET", NoHeaders: true, Header: http.Header{"Accept": {"a", "b"}}},
			http.Header{"User-Agent": {transport.UserAgent}, "Accept": {"a", "b"}}, "", "/mcp?x=1"},
		"query only": {transport.Request{Method: "OPTIONS", NoHeaders: true, URL: "?y=2"},
			http.Header{"User-Agent": {transport.UserAgent}}, "", "/mcp?y=2"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := do(t, h, test.request).Body(within(t, patient)); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got.Header) != fmt.Sprint(test.want) {
				t.Errorf("sent %v, wanted %v", got.Header, test.want)
			}
			if want := test.host; want != "" && got.Host != want {
				t.Errorf("sent the host %q", got.Host)
			}
			if got.RequestURI != test.uri {
				t.Errorf("sent the URI %q", got.RequestURI)
			}
		})
	}
	if !strings.Contains(scenario(log), "get-1 client head") {
		t.Errorf("the log tells\n%s", scenario(log))
	}
}

// packed is a text, compressed.
func packed(text string) string {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, _ = io.WriteString(writer, text)
	_ = writer.Close()
	return compressed.String()
}

// A server may compress unasked; that is undone, as every client does.
func TestHTTPAddsNothing(t *testing.T) {
	t.Parallel()
	h, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Error("compression was asked for")
		}
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, packed("{}"))
		case "/away":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/gzip", http.StatusTemporaryRedirect)
		case "/":
			if r.Header.Get("Cookie") != "" {
				t.Error("a cookie was kept")
			}
		}
	})
	zipped := do(t, h, transport.Request{Method: http.MethodGet, URL: "/gzip"})
	if body, err := zipped.Body(within(t, patient)); err != nil || string(body) != "{}" || zipped.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("read %q, %v", body, err)
	}
	away := do(t, h, transport.Request{Method: http.MethodGet, URL: "/away"})
	if away.Status != http.StatusTemporaryRedirect || away.Header.Get("Location") != "/gzip" {
		t.Errorf("followed to %+v", away)
	}
	if _, err := do(t, h, transport.Request{Method: http.MethodGet, URL: "/"}).Body(within(t, patient)); err != nil {
		t.Error(err)
	}
}

func TestHTTPFailuresBeforeTheHead(t *testing.T) {
	t.Parallel()
	nobody := "http://" + transporttest.Unused(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client
	secure.StartTLS()
	t.Cleanup(secure.Close)

	for name, test := range map[string]struct {
		url  string
		kind error
		says string
	}{
		"refused":       {nobody, transport.ErrRefused, "connection refused; is the server running"},
		"no such host":  {"http://no-such-host.invalid/mcp", transport.ErrDNS, `host name "no-such-host.invalid"`},
		"not TLS":       {strings.Replace(plain.URL, "http:", "https:", 1), transport.ErrTLS, "should the URL begin with http://?"},
		"certificate":   {secure.URL, transport.ErrTLS, "SSL_CERT_FILE"},
		"another thing": {speak(t, "SSH-2.0-OpenSSH_9.6\r\n"), transport.ErrNotHTTP, `"SSH-2.0-OpenSSH_9.6"`},
		"a TLS alert":   {speak(t, "\x15\x03\x01\x00\x02\x02\x16\r\n"), transport.ErrNotHTTP, "should the URL begin with https://?"},
		"bad status":    {speak(t, "HTTP/1.1 abc OK\r\n\r\n"), transport.ErrNotHTTP, "malformed"},
		"bad header":    {speak(t, "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n"), transport.ErrNotHTTP, "malformed"},
		"bad length":    {speak(t, "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"), transport.ErrNotHTTP, "Content-Length"},
		"nothing":       {speak(t, ""), transport.ErrClosed, "closed the connection without an answer"},
		"half a head":   {speak(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"), transport.ErrCut, `in the middle of the response's head, after 36 bytes of it ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")`},
		"half a header": {speak(t, "HTTP/1.1 200 OK\r\nContent-Ty"), transport.ErrCut, `after 27 bytes of it`},
		"header flood":  {speak(t, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-Flood: "+strings.Repeat("x", 1000)+"\r\n", 1200)+"\r\n"), transport.ErrTooLarge, "limit of 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, log := client(t, transport.HTTPOptions{URL: test.url})
			_, err := h.Do(within(t, patient), post("{}"))
			wantKind(t, err, test.kind, test.says)
			var failure *transport.Error
			if !errors.As(err, &failure) || failure.Kind != test.kind { //nolint:errorlint // the kind itself
				t.Errorf("not an Error: %#v", err)
			}
			if !strings.Contains(scenario(log), "post-1 failure (POST "+test.url) {
				t.Errorf("the log tells\n%s", scenario(log))
			}
		})
	}
}

func TestHTTPFailuresOfTheBody(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, test := range map[string]struct {
		answer string
		kind   error
		says   string
		came   string
	}{
		"content-length":      {head + "Content-Length: 100\r\n\r\n{\"half\":", transport.ErrCut, "after 8 bytes of the body", `{"half":`},
		"chunked":             {head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", transport.ErrCut, "after 3 bytes", "abc"},
		"lies about a chunk":  {head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n", transport.ErrNotHTTP, "invalid HTTP framing", "abc"},
		"no chunk at all":     {head + "Transfer-Encoding: chunked\r\n\r\n{\"a\":1}\n", transport.ErrNotHTTP, "invalid HTTP framing", ""},
		"no gzip":             {head + "Content-Encoding: gzip\r\n\r\n{\"jsonrpc\":\"2.0\"}", transport.ErrNotHTTP, "Content-Encoding is gzip", ""},
		"a bomb":              {head + "Content-Encoding: gzip\r\n\r\n" + packed(strings.Repeat(" ", 10<<20)), transport.ErrTooLarge, "limit of 64 KiB", ""},
		"half of gzip":        {head + "Content-Encoding: gzip\r\n\r\n" + packed(strings.Repeat(" ", 1000))[:20], transport.ErrCut, "of the body", strings.Repeat(" ", 1000)},
		"another coding":      {head + "Content-Encoding: br\r\n\r\nabc", transport.ErrNotHTTP, `content coding "br"`, ""},
		"longer than allowed": {head + "\r\n" + strings.Repeat("x", 70_000), transport.ErrTooLarge, "the body is longer than the limit of 64 KiB", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, log := client(t, transport.HTTPOptions{URL: speak(t, test.answer), Limits: transport.Limits{Message: 64 << 10}})
			body, err := do(t, h, post("{}")).Body(within(t, patient))
			wantKind(t, err, test.kind, test.says)
			if string(body) != test.came {
				t.Errorf("came %q", body)
			}
			if !strings.Contains(scenario(log), "post-1 server end (reading the answer to POST") {
				t.Errorf("the log tells\n%s", scenario(log))
			}
			if errors.Is(err, transport.ErrCut) {
				demandNoMessage(t, log)
			}
		})
	}
}

// The beginning of a message is not recorded as one, which rules would judge.
func demandNoMessage(t *testing.T, log *transcript.Log) {
	t.Helper()
	for _, event := range log.Events() {
		if event.Kind == transcript.Message && event.From == protocol.Server {
			t.Errorf("recorded as a message: %q", event.Raw)
		}
	}
}

func TestHTTPBodyThatIsGivenUp(t *testing.T) {
	t.Parallel()
	h, log := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"half":`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	do(t, h, post("{}")).Close()
	demandNoMessage(t, log)
}

func TestHTTPBodyToTheEndOfTheConnection(t *testing.T) {
	t.Parallel()
	h, _ := client(t, transport.HTTPOptions{URL: speak(t, "HTTP/1.0 200 OK\r\n\r\n{}")})
	if body, err := do(t, h, post("{}")).Body(within(t, patient)); err != nil || string(body) != "{}" {
		t.Errorf("read %q, %v", body, err)
	}
}

func TestHTTPStreamCutInTheMiddle(t *testing.T) {
	t.Parallel()
	event := "data: {}\n\ndata: {\"ha"
	h, _ := client(t, transport.HTTPOptions{URL: speak(t, fmt.Sprintf(
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(event), event))})
	stream := do(t, h, post("{}"))
	first, err := stream.Next(within(t, patient))
	if err != nil || string(first.Data) != "{}" {
		t.Errorf("first %+v, %v", first, err)
	}
	second, err := stream.Next(within(t, patient))
	if err != nil || !second.Unterminated || second.Dispatched() {
		t.Errorf("second %+v, %v", second, err)
	}
	_, err = stream.Next(within(t, patient))
	wantKind(t, err, transport.ErrCut, "of the event stream")
}

func TestHTTPStreamEventTooLarge(t *testing.T) {
	t.Parallel()
	h, _ := client(t, transport.HTTPOptions{Limits: transport.Limits{Message: 64 << 10}, URL: speak(t,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: "+strings.Repeat("x", 1<<20)+"\n\n")})
	_, err := do(t, h, post("{}")).Next(within(t, patient))
	wantKind(t, err, transport.ErrTooLarge, "an event is longer than the limit of 64 KiB")
}

// endless writes events until the client goes away, which it tells.
func endless(gone chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() { gone <- struct{}{} }()
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1000)+"\n\n"); err != nil {
				return
			}
		}
	}
}

func TestHTTPEndlessStreamIsHeldUpAndClosed(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	h, log := serve(t, endless(gone))
	first, second := do(t, h, post("{}")), do(t, h, post("{}"))
	for range 10 {
		if _, err := first.Next(within(t, patient)); err != nil {
			t.Fatal(err)
		}
	}
	first.Close()
	<-gone
	h.Close() // ends the second
	<-gone
	<-second.Done()
	if events := log.Len(); events > 3000 {
		t.Errorf("%d events were read ahead", events)
	}
	if !strings.Contains(scenario(log), "post-2 server end (closed by the harness)") {
		t.Error("the log does not tell who closed the stream")
	}
}

func TestHTTPWaitsEndWithTheContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			<-r.Context().Done() // no head
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		_ = http.NewResponseController(w).Flush()
		<-release
		_, _ = io.WriteString(w, "data: late\n\n")
	})
	_, err := h.Do(within(t, soon), post(""))
	wantKind(t, err, transport.ErrTimeout, "timed out")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Do(ctx, post(""))
	wantKind(t, err, transport.ErrCanceled, "canceled")

	get := func(accept string) *transport.Exchange {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel() // the exchange outlives the call
		exchange, err := h.Do(ctx, transport.Request{Method: http.MethodGet, Header: http.Header{"Accept": {accept}}})
		if err != nil {
			t.Fatal(err)
		}
		return exchange
	}
	stream, body := get("text/event-stream"), get("application/json")
	_, err = stream.Next(within(t, soon))
	wantKind(t, err, transport.ErrTimeout, "")
	_, err = body.Body(within(t, soon))
	wantKind(t, err, transport.ErrTimeout, "")
	if _, err := body.Next(t.Context()); err == nil {
		t.Error("a body was read as events")
	}
	if _, err := stream.Body(t.Context()); err == nil {
		t.Error("events were read as a body")
	}
	close(release)
	_ = body.OfBody() // whether it has come or not
	event, err := stream.Next(within(t, patient))
	if err != nil || string(event.Data) != "late" {
		t.Errorf("after a timeout came %+v, %v", event, err)
	}
	if late, err := body.Body(within(t, patient)); err != nil || string(late) != "data: late\n\n" {
		t.Errorf("after a timeout came %q, %v", late, err)
	}
	if body.OfBody() == 0 {
		t.Error("nobody knows where in the log the body is")
	}
}

// A server may close a connection at any moment without a word, and may have acted
// on the request that it does not answer.
func TestHTTPNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	for _, request := range []transport.Request{
		post(`{"id":1}`),
		{Method: http.MethodPost, Body: []byte(`{"id":1}`), Header: http.Header{"Idempotency-Key": {"1"}}}, // which net/http knows
		{Method: http.MethodGet},
		{Method: http.MethodDelete},
	} {
		var requests atomic.Int32
		url := converse(t, func(conn net.Conn) {
			reader := bufio.NewReader(conn)
			for {
				request, err := http.ReadRequest(reader)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, request.Body)
				if requests.Add(1) > 1 {
					return // without an answer
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
		})
		h, _ := client(t, transport.HTTPOptions{URL: url})
		if _, err := do(t, h, post("{}")).Body(within(t, patient)); err != nil {
			t.Fatal(err)
		}
		_, err := h.Do(within(t, patient), request)
		wantKind(t, err, transport.ErrClosed, "closed the connection without an answer")
		if count := requests.Load(); count != 2 {
			t.Errorf("%s %v: the server has seen %d requests, wanted 2", request.Method, request.Header, count)
		}
	}
}

// A server may close a connection as soon as it has answered, and need not say so:
// nothing is lost with it.
func TestHTTPConnectionThatIsClosedAfterTheAnswer(t *testing.T) {
	t.Parallel()
	h, _ := client(t, transport.HTTPOptions{URL: converse(t, func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})})
	for range 50 {
		if body, err := do(t, h, post("{}")).Body(within(t, patient)); err != nil || string(body) != "{}" {
			t.Fatalf("read %q, %v", body, err)
		}
	}
}

// Over HTTP/2 requests share a connection: that it ends says which of them the
// server has not looked at.
func TestHTTP2SharesAConnection(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	clients := map[string]bool{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		clients[r.RemoteAddr] = true
		mu.Unlock()
		_, _ = io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	trusting := transport.NewTransport(0)
	trusting.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	h, _ := client(t, transport.HTTPOptions{URL: server.URL, Transport: trusting})
	for range 3 {
		if body, err := do(t, h, post("{}")).Body(within(t, patient)); err != nil || string(body) != "HTTP/2.0" {
			t.Errorf("read %q, %v", body, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(clients) != 1 {
		t.Errorf("there were %d connections, wanted one", len(clients))
	}
}

// A server that switches to another protocol, which was not asked for, has answered:
// its body is not waited for.
func TestHTTPThatSwitchesProtocols(t *testing.T) {
	t.Parallel()
	switching := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	stays := converse(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadByte()
		_, _ = io.WriteString(conn, switching)
		_, _ = io.Copy(io.Discard, conn)
	})
	floods := converse(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadByte()
		for _, err := io.WriteString(conn, switching); err == nil; {
			_, err = io.WriteString(conn, strings.Repeat("\x81\x05frame", 1000))
		}
	})
	for _, url := range []string{stays, floods} {
		h, _ := client(t, transport.HTTPOptions{URL: url})
		exchange := do(t, h, post("{}"))
		raw, err := h.Raw(within(t, patient), transport.RawRequest{Bytes: []byte("GET / HTTP/1.1\r\n\r\n")})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range []*transport.Exchange{exchange, raw} {
			body, err := one.Body(within(t, patient))
			if one.Status != http.StatusSwitchingProtocols || len(body) != 0 || err != nil {
				t.Errorf("HTTP %d, the body %q, %v", one.Status, body, err)
			}
		}
		h.Close()
	}
}

func TestHTTPOverTLS(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {}\n\n")
		}))
		server.EnableHTTP2 = protocol == "HTTP/2.0"
		server.StartTLS()
		t.Cleanup(server.Close)
		trusting := transport.NewTransport(0)
		trusting.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		trusting.TLSClientConfig.NextProtos = nil
		t.Cleanup(trusting.CloseIdleConnections)
		h, _ := client(t, transport.HTTPOptions{URL: server.URL, Transport: trusting})
		exchange := do(t, h, post("{}"))
		event, err := exchange.Next(within(t, patient))
		if err != nil || string(event.Data) != "{}" || exchange.Proto != protocol {
			t.Errorf("%s: %+v over %s, %v", protocol, event, exchange.Proto, err)
		}
		raw, err := h.Raw(within(t, patient), transport.RawRequest{Bytes: []byte("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")})
		if err != nil || raw.Status != http.StatusOK {
			t.Errorf("raw beside %s: %v", protocol, err)
		}
	}
}

func TestHTTPRaw(t *testing.T) {
	t.Parallel()
	h, log := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"path":"`+r.URL.Path+`"}`)
	})
	exchange, err := h.Raw(within(t, patient), transport.RawRequest{
		Bytes: []byte("GET /raw HTTP/1.1\r\nHost: a\r\n\r\n"), Deliberate: "by hand"})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := exchange.Body(within(t, patient)); err != nil || string(body) != `{"path":"/raw"}` || exchange.Stream != "raw-1" {
		t.Errorf("read %q, %v", body, err)
	}
	illegal, err := h.Raw(within(t, patient), transport.RawRequest{Bytes: []byte("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n")})
	if err != nil || illegal.Status != http.StatusBadRequest {
		t.Errorf("answered %+v, %v", illegal, err)
	}
	_, err = h.Raw(within(t, soon), transport.RawRequest{Bytes: []byte("GET / HT")})
	wantKind(t, err, transport.ErrTimeout, "")
	if !strings.Contains(scenario(log), `raw-1 client head 0 "GET /raw HTTP/1.1\r\nHost: a\r\n\r\n"`) {
		t.Errorf("the log tells\n%s", scenario(log))
	}
	for answer, kind := range map[string]error{
		"":                            transport.ErrClosed,
		"hello\r\n\r\n":               transport.ErrNotHTTP,
		"HTTP/1.1 200 OK\r\nX: y\r\n": transport.ErrCut,
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20): transport.ErrTooLarge,
	} {
		h, _ := client(t, transport.HTTPOptions{URL: speak(t, answer)})
		_, err := h.Raw(within(t, patient), transport.RawRequest{Bytes: []byte("GET / HTTP/1.1\r\n\r\n")})
		wantKind(t, err, kind, "raw request to http://")
	}
}

func TestHTTPRawSkipsInterimResponses(t *testing.T) {
	t.Parallel()
	h, _ := client(t, transport.HTTPOptions{URL: speak(t, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")})
	exchange, err := h.Raw(within(t, patient), transport.RawRequest{Bytes: []byte("GET / HTTP/1.1\r\n\r\n")})
	if err != nil || exchange.Status != http.StatusNoContent {
		t.Errorf("answered %+v, %v", exchange, err)
	}
}

func TestHTTPLeavesNothing(t *testing.T) {
	leavesNothing(t)
	gone := make(chan struct{}, 8)
	server := httptest.NewServer(endless(gone))
	defer server.Close()
	h, err := transport.NewHTTP(transport.HTTPOptions{URL: server.URL}, transcript.NewLog("c1"))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		do(t, h, post("{}"))
	}
	if _, err := h.Raw(within(t, patient), transport.RawRequest{Bytes: []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")}); err != nil {
		t.Error(err)
	}
	h.Close()
	for range 5 {
		<-gone
	}
}

func TestHTTPCloseEndsWaits(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 2)
	h, _ := client(t, transport.HTTPOptions{URL: converse(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadByte()
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, conn)
	})})
	failures := make(chan error, 2)
	go func() {
		_, err := h.Do(context.Background(), post("{}"))
		failures <- err
	}()
	go func() {
		_, err := h.Raw(context.Background(), transport.RawRequest{Bytes: []byte("GET / HTTP/1.1\r\n\r\n")})
		failures <- err
	}()
	<-arrived
	<-arrived
	h.Close()
	wantKind(t, <-failures, transport.ErrClosed, "the harness closed the connection")
	wantKind(t, <-failures, transport.ErrClosed, "the harness closed the connection")
}

func TestHTTPRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	h, _ := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, request := range []transport.Request{
		{Method: "GET", Header: http.Header{"X": {"a\nb"}}},
		{Method: "GET", Header: http.Header{"X Y": {"a"}}},
		{Method: "G T"},
	} {
		_, err := h.Do(within(t, patient), request)
		wantKind(t, err, transport.ErrNotSendable, "raw bytes")
	}
}

func TestHTTPURLs(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"":                 "must begin with http:// or https://",
		"localhost:3000":   "must begin with http:// or https://",
		"ftp://a/b":        "must begin with http:// or https://",
		"http:///mcp":      "names no host",
		"http://a b/":      "invalid character",
		"http://a:port/":   "invalid port",
		"://localhost/mcp": "missing protocol scheme",
	} {
		_, err := transport.NewHTTP(transport.HTTPOptions{URL: url}, transcript.NewLog("c1"))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("URL %q: %v, wanted %q", url, err, says)
		}
	}
}
