package proxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// onlyHTTP2 is a server that speaks HTTP/2, and nothing else.
func onlyHTTP2(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the server got a request of %s", r.Proto)
		}
		handler(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// overHTTP2 is a relay before it.
func overHTTP2(t *testing.T, server *httptest.Server) (relayed, *heard) {
	t.Helper()
	told := &heard{}
	return relay(t, proxy.RelayOptions{HTTP2: true, Roots: pool(server), Tell: told.tell}, server.URL+"/mcp"), told
}

// A request over HTTP/1.1 comes as one of HTTP/2 with the same fields, and so does the answer.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	server := onlyHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "early")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		body, _ := io.ReadAll(r.Body)
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		w.Header().Set("Trailer", "After")
		_, _ = fmt.Fprintf(w, "%s %s %s %s %d %v", r.Method, r.Host, r.RequestURI, body, r.ContentLength, r.Header)
		w.Header().Set("After", "all")
	})
	one, _ := overHTTP2(t, server)
	for sent, says := range map[string]string{
		"POST /mcp?a=%2F&& HTTP/1.1\r\nHost: x\r\nmcp-odd: 1\r\nMcp-Odd:\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nContent-Length: 2\r\n\r\n{}": "POST SERVER /mcp?a=%2F&& {} 2 map[Content-Length:[2] Mcp-Odd:[1 ]]",
		"PUT /%6Dcp? HTTP/1.1\r\nHost: x\r\nUser-Agent: me\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n":                                      "PUT SERVER /%6Dcp? {} -1 map[User-Agent:[me]]",
		"DELETE /mcp HTTP/1.1\r\nHost: x\r\n\r\n": "DELETE SERVER /mcp  0 map[]",
	} {
		conn, err := net.Dial("tcp", one.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, sent)
		answer := ""
		for reader := bufio.NewReader(conn); !strings.HasSuffix(answer, "After: all\r\n\r\n"); {
			line, err := reader.ReadString('\n')
			if err != nil {
				t.Fatalf("%q: %v", answer+line, err)
			}
			answer += line
		}
		_ = conn.Close()
		says = strings.ReplaceAll(says, "SERVER", strings.TrimPrefix(server.URL, "https://"))
		want := fmt.Sprintf("HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\nHTTP/1.1 200 OK\r\nTrailer: After\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nAfter: all\r\n\r\n", len(says), says)
		if answer != want {
			t.Errorf("%.20q is answered\n%q, wanted\n%q", sent, answer, want)
		}
	}
	for _, recorded := range one.stop() {
		if recorded.header.Grade != transcript.Messages {
			t.Errorf("recorded at the grade %s", recorded.header.Grade)
		}
	}
}

// Events pass as they come, a client that leaves is one that leaves, and a stream that breaks
// does so for the client, too.
func TestHTTP2Streams(t *testing.T) {
	t.Parallel()
	left, leave := make(chan struct{}), make(chan struct{}, 1)
	var asked atomic.Int32
	server := onlyHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch r.URL.Path {
		case "/refused":
			asked.Add(1)
			panic(http.ErrAbortHandler)
		case "/uploaded":
			piece := make([]byte, 1)
			for _, err := r.Body.Read(piece); err == nil; _, err = r.Body.Read(piece) {
				_, _ = w.Write(piece)
				_ = http.NewResponseController(w).Flush()
			}
			return
		}
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		switch r.URL.Path {
		case "/broken":
			panic(http.ErrAbortHandler)
		case "/leaving":
			<-leave
			_, _ = io.WriteString(w, "data: 2\n\n")
		case "/left":
			<-r.Context().Done()
			close(left)
		}
	})
	one, _ := overHTTP2(t, server)
	open := func(method, path string, body io.Reader) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+one.address+path, body)
		if err != nil {
			t.Fatal(err)
		}
		return http.DefaultTransport.RoundTrip(request)
	}
	read := func(answer *http.Response) string {
		buffer := make([]byte, 100)
		n, _ := io.ReadAtLeast(answer.Body, buffer, len("data: 1\n\n"))
		return string(buffer[:n])
	}

	answer, err := open(http.MethodGet, "/left", nil)
	if err != nil || read(answer) != "data: 1\n\n" {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	<-left

	if answer, err = open(http.MethodGet, "/broken", nil); err == nil {
		_, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that broke ended with %v", err)
	}

	if answer, err = open(http.MethodPost, "/refused", strings.NewReader("{}")); err == nil {
		_ = answer.Body.Close()
		t.Errorf("a refused request is answered %d", answer.StatusCode)
	}
	if times := asked.Load(); times != 1 {
		t.Errorf("it was sent %d times", times)
	}

	body, upload := io.Pipe()
	go func() { _, _ = io.WriteString(upload, "a") }()
	if answer, err = open(http.MethodPost, "/uploaded", body); err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 1)
	for _, sent := range []string{"", "b", "c"} { // each comes back before the next is sent
		if _, err := io.WriteString(upload, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(answer.Body, piece); err != nil || sent != "" && string(piece) != sent {
			t.Fatalf("%q came back for %q: %v", piece, sent, err)
		}
	}
	_ = upload.Close()
	_ = answer.Body.Close()

	if answer, err = open(http.MethodGet, "/leaving", nil); err != nil || read(answer) != "data: 1\n\n" {
		t.Fatal(err)
	}
	going, shut := make(chan struct{}), make(chan error, 1)
	server.Config.RegisterOnShutdown(func() { close(going) })
	go func() { shut <- server.Config.Shutdown(t.Context()) }() // GOAWAY
	<-going
	leave <- struct{}{}
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "data: 2\n\n" {
		t.Errorf("a server that goes away ends with %q, %v", text, err)
	}
	_ = answer.Body.Close()
	if err := <-shut; err != nil {
		t.Error(err)
	}
}

// A server that does not speak it is told of, and so is one that speaks nothing else to a
// relay that does not.
func TestHTTP2IsTold(t *testing.T) {
	t.Parallel()
	older := httptest.NewUnstartedServer(http.HandlerFunc(toldBack))
	older.Config.ErrorLog = log.New(io.Discard, "", 0)
	older.StartTLS()
	t.Cleanup(older.Close)
	one, told := overHTTP2(t, older)
	if answer := converse(t, one.address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); answer != "" {
		t.Errorf("answered %q", answer)
	}
	one.stop()
	if !strings.HasPrefix(told.all(), "The server cannot be reached: ") || !strings.Contains(told.all(), "HTTP/2") {
		t.Errorf("told %q", told.all())
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: older.TLS.Certificates, NextProtos: []string{"other"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_ = conn.(*tls.Conn).HandshakeContext(t.Context())
			_ = conn.Close()
		}
	}()
	told = &heard{}
	one = relay(t, proxy.RelayOptions{Roots: pool(older), Tell: told.tell}, "https://"+listener.Addr().String()+"/mcp")
	converse(t, one.address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	one.stop()
	if !strings.Contains(told.all(), "no application protocol: if it speaks HTTP/2 alone, there is --http2") {
		t.Errorf("told %q", told.all())
	}
}

// Behind a forward proxy, too.
func TestHTTP2BehindForward(t *testing.T) {
	t.Parallel()
	server := onlyHTTP2(t, toldBack)
	one := relay(t, proxy.RelayOptions{HTTP2: true, Forward: true, Roots: pool(server)}, server.URL+"/mcp")
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(one.authority)
	conn := tls.Client(tunnelled(t, one.address, strings.TrimPrefix(server.URL, "https://")), &tls.Config{RootCAs: trusted, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
	for range 2 {
		_, _ = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if _ = answer.Body.Close(); err != nil || !strings.Contains(string(text), `"host":"localhost","target":"/mcp","read":2,"proto":"HTTP/2.0"`) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_ = conn.Close()
}
