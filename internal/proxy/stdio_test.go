//go:build unix

package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// between is a client of a server that a shell plays, with the proxy between them.
type between struct {
	in, out, err *os.File // of the client
	signals      chan os.Signal
	ended        chan struct{}
	exit         target.Exit
	recorded     *proxy.Connection
	failure      error
	directory    string
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

func stand(t *testing.T, script string) *between {
	t.Helper()
	b := &between{signals: make(chan os.Signal, 1), ended: make(chan struct{}), directory: t.TempDir()}
	var streams proxy.Streams
	streams.In, b.in = pipe(t)
	b.out, streams.Out = pipe(t)
	b.err, streams.Err = pipe(t)
	recorder, err := proxy.NewRecorder(proxy.RecorderOptions{Directory: b.directory})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(b.ended)
		b.exit, b.recorded, b.failure = proxy.Stdio([]string{"/bin/sh", "-c", script}, streams, b.signals, recorder)
		_ = streams.Err.Close()
	}()
	return b
}

func (b *between) line(t *testing.T, from *os.File) string {
	t.Helper()
	line, err := bufio.NewReader(from).ReadString('\n')
	if err != nil {
		t.Errorf("read %q: %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// Bytes pass as they come, streams end as they end, and the server exits as it does.
func TestStdio(t *testing.T) {
	t.Parallel()
	b := stand(t, `read a; printf 'half '; echo "warn $a" >&2; read b; echo "of $b"; cat >/dev/null; printf tail; exit 7`)
	_, _ = io.WriteString(b.in, "one\n")
	half := make([]byte, 5)
	if _, err := io.ReadFull(b.out, half); err != nil || string(half) != "half " {
		t.Errorf("read %q, %v: a piece of a line waits for its end", half, err)
	}
	if text := b.line(t, b.err); text != "warn one" {
		t.Errorf("standard error has %q", text)
	}
	_, _ = io.WriteString(b.in, "two\n")
	if text := b.line(t, b.out); text != "of two" {
		t.Errorf("standard output has %q", text)
	}
	_ = b.in.Close()
	rest, err := io.ReadAll(b.out)
	if err != nil || string(rest) != "tail" {
		t.Errorf("the rest is %q, %v", rest, err)
	}
	<-b.ended
	if b.failure != nil || b.exit.Code != 7 {
		t.Errorf("ended with %v, %v", b.exit, b.failure)
	}
	if paths, _ := filepath.Glob(filepath.Join(b.directory, "*.jsonl")); len(paths) != 1 {
		t.Errorf("recorded %v", paths)
	}
	for _, want := range []string{"one", "two", "half of two", "tail"} {
		found := false
		for _, event := range b.recorded.Events {
			found = found || event.Kind == transcript.Message && string(event.Raw) == want
		}
		if !found {
			t.Errorf("%q is not recorded", want)
		}
	}
}

// Signals reach the server once; one that dies of them is told to have done so.
func TestSignals(t *testing.T) {
	t.Parallel()
	b := stand(t, `trap 'echo got' USR1; echo ready; while :; do read x || exec sleep 60; done`)
	if text := b.line(t, b.out); text != "ready" {
		t.Fatal(text)
	}
	b.signals <- syscall.SIGUSR1
	if text := b.line(t, b.out); text != "got" {
		t.Errorf("read %q", text)
	}
	b.signals <- syscall.SIGKILL
	<-b.ended
	if b.exit.Signal != "SIGKILL" {
		t.Errorf("ended with %v", b.exit)
	}
}

// A client that reads no more is known to the server; and one server whose child holds its
// output open ends all the same.
func TestWhoReadsNoMore(t *testing.T) {
	t.Parallel()
	deaf := stand(t, `trap '' PIPE; read a; while echo x; do :; done 2>/dev/null; exit 3`)
	_ = deaf.out.Close()
	_, _ = io.WriteString(deaf.in, "go\n")
	<-deaf.ended
	if deaf.exit.Code != 3 {
		t.Errorf("ended with %v", deaf.exit)
	}
	parent := stand(t, `sleep 20 & echo $!; exit 0`)
	child, err := strconv.Atoi(parent.line(t, parent.out))
	if err != nil {
		t.Fatal(err)
	}
	<-parent.ended
	if parent.exit.Code != 0 || parent.failure != nil {
		t.Errorf("ended with %v, %v", parent.exit, parent.failure)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	recorder, err := proxy.NewRecorder(proxy.RecorderOptions{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	in, _ := pipe(t)
	_, out := pipe(t)
	if _, _, err := proxy.Stdio([]string{"/no/such/program"}, proxy.Streams{In: in, Out: out, Err: out}, nil, recorder); err == nil {
		t.Error("a program that is not there was started")
	}
}

// messages waits for the end, and returns the messages that were recorded, by who sent them.
func (b *between) messages() (all []string) {
	<-b.ended
	for _, event := range b.recorded.Events {
		if event.Kind == transcript.Message {
			all = append(all, fmt.Sprintf("%s %s", event.From, event.Raw))
		}
	}
	return all
}

// What either peer may do to the proxy over stdio.
func TestHostilePeersOverStdio(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"P01 client that reads slowly": func(t *testing.T) {
			b := stand(t, `head -c 20000000 /dev/zero; echo done >&2; cat >/dev/null`)
			_ = b.err.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
			if n, err := b.err.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the server is not held up: %d, %v", n, err)
			}
			_ = b.err.SetReadDeadline(time.Time{})
			if count, err := io.CopyN(io.Discard, b.out, 20000000); err != nil {
				t.Errorf("%d bytes came, %v", count, err)
			}
			if text := b.line(t, b.err); text != "done" {
				t.Errorf("standard error has %q", text)
			}
			_ = b.in.Close()
			<-b.ended
		},
		"P01 server that reads slowly": func(t *testing.T) {
			b := stand(t, `trap 'wc -c; kill $!; exit 0' USR1; echo ready; while :; do sleep 60 & wait; done`)
			reader := bufio.NewReader(b.out)
			_, _ = reader.ReadString('\n')
			sent := flood(t, b.in)
			b.signals <- syscall.SIGUSR1
			_ = b.in.Close()
			if text, err := reader.ReadString('\n'); strings.TrimSpace(text) != strconv.FormatInt(sent, 10) {
				t.Errorf("%q bytes came, %v, of %d", text, err, sent)
			}
			<-b.ended
		},
		"P02 byte by byte": func(t *testing.T) {
			b := stand(t, `exec cat`)
			for _, char := range []byte(`{"jsonrpc":"2.0"}` + "\n") {
				came := make([]byte, 1)
				_, _ = b.in.Write([]byte{char})
				if _, err := io.ReadFull(b.out, came); err != nil || came[0] != char {
					t.Fatalf("came %q, %v", came, err)
				}
			}
			_ = b.in.Close()
			if told := b.messages(); !slices.Equal(told, []string{`client {"jsonrpc":"2.0"}`, `server {"jsonrpc":"2.0"}`}) {
				t.Errorf("recorded %q", told)
			}
		},
		"P03 line of 10 MiB": func(t *testing.T) {
			b := stand(t, `exec cat`)
			long := strings.Repeat("x", 10<<20)
			go func() {
				_, _ = io.WriteString(b.in, long+"\n{}\n")
				_ = b.in.Close()
			}()
			if came, err := io.ReadAll(b.out); err != nil || string(came) != long+"\n{}\n" {
				t.Errorf("%d bytes came, %v", len(came), err)
			}
			if told := b.messages(); len(told) != 4 && len(told) != 2 || len(strings.Join(told, "")) > 1<<20 {
				t.Errorf("recorded %d messages, %.1000q", len(told), told)
			}
		},
		"P18 CRLF split between reads": func(t *testing.T) {
			b := stand(t, `exec cat`)
			for _, piece := range []string{"{}\r", "\n", "[]", "\r\n"} {
				_, _ = io.WriteString(b.in, piece)
				_, _ = io.ReadFull(b.out, make([]byte, len(piece)))
			}
			_ = b.in.Close()
			if told := b.messages(); len(told) != 4 || !slices.Contains(told, "server {}\r") || !slices.Contains(told, "client []\r") {
				t.Errorf("recorded %q", told)
			}
		},
		"P19 NUL, invalid UTF-8": func(t *testing.T) {
			b := stand(t, `exec cat`)
			const odd = "{\x00\xff\xc0\x80}\n"
			_, _ = io.WriteString(b.in, odd)
			_ = b.in.Close()
			if came, err := io.ReadAll(b.out); err != nil || string(came) != odd {
				t.Errorf("came %q, %v", came, err)
			}
			if told := b.messages(); !slices.Contains(told, "server "+odd[:len(odd)-1]) || !slices.Contains(told, "client "+odd[:len(odd)-1]) {
				t.Errorf("recorded %q", told)
			}
		},
		"P20 server that answers before it was asked": func(t *testing.T) {
			b := stand(t, `echo '{"id":1}'; exec cat`)
			if text := b.line(t, b.out); text != `{"id":1}` {
				t.Errorf("came %q", text)
			}
			_, _ = io.WriteString(b.in, "{}\n")
			_ = b.in.Close()
			if told := b.messages(); len(told) != 3 || told[0] != `server {"id":1}` || told[1] != "client {}" {
				t.Errorf("recorded %q", told)
			}
		},
		"P21 output without newline at exit": func(t *testing.T) {
			b := stand(t, `printf '{"a":1}\n{"b"'`)
			if came, err := io.ReadAll(b.out); err != nil || string(came) != "{\"a\":1}\n{\"b\"" {
				t.Errorf("came %q, %v", came, err)
			}
			if told := b.messages(); !slices.Equal(told, []string{`server {"a":1}`, `server {"b"`}) {
				t.Errorf("recorded %q", told)
			}
		},
		"P23 server that ignores TERM": func(t *testing.T) {
			b := stand(t, `trap '' TERM; echo ready; while read x; do echo "$x"; done; exit 5`)
			reader := bufio.NewReader(b.out)
			_, _ = reader.ReadString('\n')
			b.signals <- syscall.SIGTERM
			_, _ = io.WriteString(b.in, "still here\n")
			if text, err := reader.ReadString('\n'); text != "still here\n" {
				t.Errorf("came %q, %v", text, err)
			}
			_ = b.in.Close()
			if <-b.ended; b.exit.Code != 5 {
				t.Errorf("ended with %v", b.exit)
			}
		},
		// All of its ends are closed at once.
		"P24 client that is killed": func(t *testing.T) {
			b := stand(t, `while read x; do echo "$x"; done; exit 6`)
			for _, end := range []*os.File{b.in, b.out, b.err} {
				_ = end.Close()
			}
			if <-b.ended; b.exit.Code != 6 {
				t.Errorf("ended with %v", b.exit)
			}
		},
		"P25 stderr flood": func(t *testing.T) {
			b := stand(t, `head -c 20000000 /dev/zero >&2; echo '{}'; cat >/dev/null`)
			flood := make(chan int64, 1)
			go func() {
				count, _ := io.CopyN(io.Discard, b.err, 20000000)
				flood <- count
			}()
			if text := b.line(t, b.out); text != "{}" {
				t.Errorf("came %q", text)
			}
			if count := <-flood; count != 20000000 {
				t.Errorf("%d bytes came on standard error", count)
			}
			_ = b.in.Close()
			size := 0
			for _, event := range func() []transcript.Event { <-b.ended; return b.recorded.Events }() {
				size += len(event.Raw)
			}
			if size > transcript.MaxBytes {
				t.Errorf("%d bytes are kept", size)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
