//go:build unix

package proxy_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
