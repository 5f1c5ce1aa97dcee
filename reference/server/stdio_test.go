package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/server"
)

// hello is a good initialize request, with the id 0.
func hello(revision string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, revision)
}

// converse writes lines to a new server, closes its input, and returns the
// lines that it writes.
func converse(t *testing.T, options server.Options, lines ...string) []string {
	t.Helper()
	var out bytes.Buffer
	in := strings.NewReader(strings.Join(lines, "\n") + "\n")
	if err := newServer(t, options).ServeStdio(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		t.Errorf("the last line has no end: %q", out.Bytes())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestRevisionIsNegotiated(t *testing.T) {
	for asked, want := range map[string]string{
		server.Revision20250618: server.Revision20250618,
		server.Revision20251125: server.Revision20251125,
		"1900-01-01":            server.Revision20251125,
		"2999-12-31":            server.Revision20251125,
	} {
		if got := converse(t, server.Options{}, hello(asked)); !strings.Contains(got[0], `"protocolVersion":"`+want+`"`) {
			t.Errorf("%s: %s", asked, got)
		}
	}
	only := server.Options{Revisions: []string{server.Revision20250618}}
	if got := converse(t, only, hello(server.Revision20251125)); !strings.Contains(got[0], `"protocolVersion":"2025-06-18"`) {
		t.Errorf("limited: %s", got)
	}
}

func TestMessages(t *testing.T) {
	const none06, none11 = `"id":null,"error":{"code":`, `{"jsonrpc":"2.0","error":{"code":`
	for sent, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                       `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":"1","method":"ping","params":{}}`:         `{"jsonrpc":"2.0","id":"1","result":{}}`,
		`{"jsonrpc":"2.0","id":"<\u0041>","method":"ping"}`:              `{"jsonrpc":"2.0","id":"<\u0041>","result":{}}`,
		`{"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping"}`: `{"jsonrpc":"2.0","id":12345678901234567890123,"result":{}}`,
		`{"jsonrpc":"2.0","id":-7,"method":"ping"}`:                      `{"jsonrpc":"2.0","id":-7,"result":{}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r":           `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","extra":[{}]}`:   `{"jsonrpc":"2.0","id":2,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`:           `"id":1,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":"a"}`:          `"id":1,"error":{"code":-32602`,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                       `"id":1,"error":{"code":-32600`,
		`{"id":1,"method":"ping"}`:                                       `"id":1,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":1}`:                                       `"id":1,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":1,"method":7}`:                            `"id":1,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`:           `"id":1,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                    `-32600`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                     `-32600`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                      `-32600`,
		`[]`: `-32600`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: `-32600`,
		`"ping"`: `-32600`,
		`null`:   `-32600`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"`: `-32700`,
		`}`: `-32700`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"a\":\"\xff\"}":                 `-32700`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","a":"` + strings.Repeat("a", 5<<20) + `"}`: `-32600`,
	} {
		for _, revision := range sessionRevisions {
			got := converse(t, server.Options{}, hello(revision), "", sent, `{"jsonrpc":"2.0","id":"barrier","method":"ping"}`)
			if len(got) != 3 {
				t.Errorf("%.80s: %d lines: %s", sent, len(got), got)
				continue
			}
			full := want
			if strings.HasPrefix(want, "-") { // an error without id
				full = none11 + want
				if revision < server.Revision20251125 {
					full = none06 + want
				}
			}
			if !strings.Contains(got[1], full) {
				t.Errorf("%s: %.80s: %s, not %s", revision, sent, got[1], full)
			}
		}
	}
}

func TestSilence(t *testing.T) {
	for _, sent := range []string{
		`{"jsonrpc":"2.0","method":"notifications/unknown"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}`,
		`{"jsonrpc":"2.0","method":"tools/list"}`,
		`{"jsonrpc":"1.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{}}`,
		`{"jsonrpc":"2.0","error":{"code":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`,
		"   ",
	} {
		got := converse(t, server.Options{}, hello(server.Revision20251125), sent, `{"jsonrpc":"2.0","id":"barrier","method":"ping"}`)
		if len(got) != 2 {
			t.Errorf("%s is answered: %s", sent, got)
		}
	}
}

func TestBeforeInitialize(t *testing.T) {
	got := converse(t, server.Options{Revisions: sessionRevisions},
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`,
		hello(server.Revision20250618),
		`{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"error"}}`)
	for i, want := range []string{`"id":1,"result"`, `"id":2,"error":{"code":-32600`, `"id":3,"error":{"code":-32602`,
		`"id":4,"error":{"code":-32600`, `"id":0,"result"`, `"id":5,"result"`} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%s, not %s", got[i], want)
		}
	}
}

func TestDuplicateID(t *testing.T) {
	s := newServer(t, server.Options{})
	c := &client{t: t, revision: server.Revision20251125, wire: dialStdio(t, s, ""), asked: map[string]string{}}
	defer c.wire.close()
	c.initialize(object{})
	id := c.start("tools/call", object{"name": "test_slow", "arguments": object{"seconds": 10}})
	c.lastID--
	if failure, _ := c.response(c.start("ping", nil))["error"].(object); fmt.Sprint(failure["code"]) != "-32600" {
		t.Errorf("%v", failure)
	}
	c.notify("notifications/cancelled", object{"requestId": id})
}

func TestFloodOfCalls(t *testing.T) {
	s := newServer(t, server.Options{})
	c := &client{t: t, revision: server.Revision20251125, wire: dialStdio(t, s, ""), asked: map[string]string{}}
	defer c.wire.close()
	c.initialize(object{})
	for range 128 {
		c.start("tools/call", object{"name": "test_slow", "arguments": object{"seconds": 10}})
	}
	c.fails(-32603, "tools/call", object{"name": "test_simple_text"})
}

// The end of input, or of the context, ends the server although requests are
// in flight; the cleanup of the wire judges how long that takes.
func TestEndWithRequestsInFlight(t *testing.T) {
	for _, end := range []string{"input", "context"} {
		t.Run(end, func(t *testing.T) {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- newServer(t, server.Options{}).ServeStdio(ctx, in, out) }()
			lines := json.NewDecoder(fromServer)
			say := func(line string) {
				if _, err := io.WriteString(toServer, line+"\n"); err != nil {
					t.Error(err)
				}
			}
			say(hello(server.Revision20251125))
			say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_slow","arguments":{"seconds":10}}}`)
			say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
			for range 2 {
				var m object
				if err := lines.Decode(&m); err != nil || fmt.Sprint(m["id"]) == "1" {
					t.Errorf("%v %v", m, err)
				}
			}
			if end == "input" {
				_ = toServer.Close()
			} else {
				cancel()
			}
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Error("the server does not end")
			}
			_ = in.Close()
		})
	}
}

// brokenWriter takes nothing.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestBrokenOutputEndsTheServer(t *testing.T) {
	in, toServer := io.Pipe()
	defer func() { _ = toServer.Close() }()
	done := make(chan error, 1)
	go func() { done <- newServer(t, server.Options{}).ServeStdio(context.Background(), in, brokenWriter{}) }()
	if _, err := io.WriteString(toServer, hello(server.Revision20251125)+"\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(patience):
		t.Error("the server does not end")
	}
}

// silentWriter blocks in Write, like a full pipe whose reader does not read.
type silentWriter struct{ released chan struct{} }

func (w silentWriter) Write([]byte) (int, error) {
	<-w.released
	return 0, errors.New("released")
}

func TestUnreadOutputDoesNotHoldTheServer(t *testing.T) {
	out := silentWriter{make(chan struct{})}
	defer close(out.released)
	done := make(chan error, 1)
	go func() {
		done <- newServer(t, server.Options{}).ServeStdio(context.Background(), strings.NewReader(hello(server.Revision20251125)+"\n"), out)
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(patience):
		t.Error("the server does not end")
	}
}
