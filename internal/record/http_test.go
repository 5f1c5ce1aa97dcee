package record_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/record"
)

// rawServer answers every request with the same bytes, and ends the connection.
func rawServer(t *testing.T, answer string) (address string) {
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
				request, err := http.ReadRequest(bufio.NewReader(conn))
				if err == nil {
					_, _ = io.Copy(io.Discard, request.Body)
					_, _ = io.WriteString(conn, answer)
				}
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// before stands a middleman before an address.
func before(t *testing.T, address string, options record.HTTPOptions) (through string) {
	t.Helper()
	middleman, err := record.NewHTTP("http://"+address, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(middleman.Close)
	served := httptest.NewServer(middleman)
	t.Cleanup(served.CloseClientConnections)
	return served.Listener.Addr().String()
}

// seen is what a client sees of a response.
type seen struct {
	Status  int
	Header  http.Header
	Length  int64
	Body    string
	Trailer http.Header
	Cut     bool
	Silent  bool // no answer at all
}

// ask sends a request over a connection of its own and reads what comes.
func ask(t *testing.T, address, request string) seen {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return seen{Silent: true}
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return seen{Status: response.StatusCode, Header: response.Header, Length: response.ContentLength,
		Body: string(body), Trailer: response.Trailer, Cut: err != nil}
}

// post is a request with a body.
func post(body string, header ...string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		strings.Join(append(header, ""), "\r\n"), len(body), body)
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// chunked writes parts as chunks, without the last.
func chunked(parts ...string) string {
	var text strings.Builder
	for _, part := range parts {
		_, _ = fmt.Fprintf(&text, "%x\r\n%s\r\n", len(part), part)
	}
	return text.String()
}

// oddEvents is an event stream in every spelling, of which the end is missing.
const oddEvents = "\xef\xbb\xbf: a comment\r\rid: 1\r\ndata: {\"a\":1}\r\n\r\n\n\nretry: 5\revent:message\ndata:{}\r\n" +
	"data\n\n: \xff\n\nwhatever\r\rid: 2\ndata: cut off"

func TestHTTPPassesEverythingAsItCame(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	const events = ok + "Content-Type: text/event-stream\r\n"
	for name, answer := range map[string]string{
		"JSON":                  ok + "Content-Type: application/json; charset=utf-8\r\nContent-Length: 8\r\nDate: today\r\n\r\n{\"a\": 1}",
		"repeated values":       ok + "X-One: b\r\nX-One: a\r\nx-one: a\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n",
		"no headers":            ok + "\r\n<html>",
		"no media type":         ok + "Content-Length: 6\r\n\r\n<html>",
		"accepted":              "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		"no content":            "HTTP/1.1 204 No Content\r\nMcp-Session-Id: a b\r\n\r\n",
		"refused":               "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno",
		"redirected":            "HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
		"odd status":            "HTTP/1.1 599 Odd\r\nContent-Length: 0\r\n\r\n",
		"compressed":            ok + "Content-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x00\x01",
		"not JSON":              ok + "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n\xff{\x00",
		"events":                events + "Transfer-Encoding: chunked\r\n\r\n" + chunked("data: {}\n\n", ": still here\n\n") + "0\r\n\r\n",
		"odd events":            events + "Transfer-Encoding: chunked\r\n\r\n" + chunked(strings.Split(oddEvents, "")...) + "0\r\n\r\n",
		"odd events, length":    events + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(oddEvents), oddEvents),
		"odd events, no length": events + "\r\n" + oddEvents,
		"no events":             events + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"trailers":              ok + "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" + chunked("a", "b") + "0\r\nX-Sum: 2\r\n\r\n",
		"body cut":              ok + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\"",
		"events cut":            events + "Transfer-Encoding: chunked\r\n\r\n" + chunked("data: {}\n\n", "data: "),
		"head cut":              "HTTP/1.1 200 OK\r\nContent-",
		"no answer":             "",
		"not HTTP":              "hello\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := rawServer(t, answer)
			direct := ask(t, address, post(ping))
			for _, injection := range []fault.Injection{{}, watching(t)} {
				through := ask(t, before(t, address, record.HTTPOptions{Changes: injection.Changes()}), post(ping))
				if !injection.None() && strings.HasPrefix(name, "odd events") { // events that are read are passed on without a length
					direct.Length = -1
					through.Header.Del("Content-Length")
					direct.Header.Del("Content-Length")
				}
				if diff := cmp.Diff(direct, through); diff != "" {
					t.Errorf("unread %t: direct - through +\n%s", injection.None(), diff)
				}
			}
		})
	}
}
