package transport_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/relay"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// spawn starts a relay, as a client that spawns its server would.
type relayed struct {
	spawned *transport.Spawned
	log     *transcript.Log
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  *strings.Builder
	signals chan os.Signal
	ended   chan error
	status  int
}

func spawned(t *testing.T, limits transport.Limits) *relayed {
	t.Helper()
	relays, err := transport.ListenRelays(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := relays.Close(); err != nil {
			t.Error(err)
		}
	})
	input, in := io.Pipe()
	out, output := io.Pipe()
	r := &relayed{
		in: in, out: bufio.NewReader(out), stderr: &strings.Builder{}, signals: make(chan os.Signal, 1),
		ended: make(chan error, 1), log: transcript.NewLog("one"),
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = in.Close(); _ = out.Close() })
	go func() {
		status, err := relay.Run(ctx, relays.Socket(), input, output, r.stderr, r.signals)
		_ = output.Close()
		r.status = status
		r.ended <- err
	}()
	conn, err := relays.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r.spawned = transport.NewSpawned(conn, r.log, limits)
	t.Cleanup(func() { _ = r.spawned.Close() })
	return r
}

func (r *relayed) says(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(r.in, text); err != nil {
		t.Error(err)
	}
}

func TestRelayPassesLinesAndTheEnd(t *testing.T) {
	t.Parallel()
	r := spawned(t, transport.Limits{})
	r.says(t, "one\ntw")
	r.says(t, "o\r\nrest")
	_ = r.in.Close()
	for _, want := range []string{"one", "two\r"} {
		if line, err := r.spawned.Read(); err != nil || string(line) != want {
			t.Errorf("%q %v, wanted %q", line, err, want)
		}
	}
	if _, err := r.spawned.Read(); !errors.Is(err, transport.ErrInputEnd) {
		t.Errorf("%v", err)
	}
	if err := r.spawned.Exit(3); err != nil {
		t.Error(err)
	}
	if err := <-r.ended; err != nil || r.status != 3 {
		t.Errorf("%v, status %d", err, r.status)
	}
	if _, err := r.spawned.Read(); !errors.Is(err, transport.ErrGone) {
		t.Errorf("%v", err)
	}
	want := "client open the client started the server\nclient message one\nclient message two\r\n" +
		"client message restthe input ended without a newline\nclient end closed the standard input of the server\n" +
		"server exit exited with status 3\n"
	if got := told(r.log); got != want {
		t.Errorf("recorded\n%s, wanted\n%s", got, want)
	}
}

func TestRelayWritesWhatItIsTold(t *testing.T) {
	t.Parallel()
	r := spawned(t, transport.Limits{})
	go func() {
		_ = r.spawned.WriteStderr("oh\n")
		_ = r.spawned.Write([]byte(`{"a":1}`), "")
		_ = r.spawned.WriteText([]byte("half"), "it is not ended")
		_ = r.spawned.CloseOutput()
		_ = r.spawned.Exit(0)
	}()
	text, err := io.ReadAll(r.out)
	if err != nil || string(text) != "{\"a\":1}\nhalf" {
		t.Errorf("%q %v", text, err)
	}
	if err := <-r.ended; err != nil || r.stderr.String() != "oh\n" {
		t.Errorf("%v %q", err, r.stderr)
	}
}

func TestRelayTellsSignals(t *testing.T) {
	t.Parallel()
	r := spawned(t, transport.Limits{})
	r.signals <- syscall.SIGTERM
	_, err := r.spawned.Read()
	if signal, is := errors.AsType[*transport.SignalError](err); !is || signal.Name != syscall.SIGTERM.String() {
		t.Errorf("%v", err)
	}
}

func TestRelayEndsWithTheHarness(t *testing.T) {
	t.Parallel()
	r := spawned(t, transport.Limits{})
	_ = r.spawned.Close()
	if err := <-r.ended; err == nil {
		t.Error("a good end")
	}
}

func TestSpawnedTakesNoEndlessLine(t *testing.T) {
	t.Parallel()
	r := spawned(t, transport.Limits{Message: 8 << 10})
	go func() { _, _ = io.WriteString(r.in, strings.Repeat("a", 64<<10)) }()
	if _, err := r.spawned.Read(); !errors.Is(err, transport.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// A relay that is not wanted exits at once, even if its client keeps its input open.
func TestDismissedRelaysExit(t *testing.T) {
	t.Parallel()
	relays, err := transport.ListenRelays(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = relays.Close() }()
	input, in := io.Pipe()
	defer func() { _ = in.Close() }()
	_, output := io.Pipe()
	statuses := make(chan int, 1)
	go func() {
		status, _ := relay.Run(context.Background(), relays.Socket(), input, output, io.Discard, nil)
		statuses <- status
	}()
	conn, err := relays.Accept()
	if err != nil {
		t.Fatal(err)
	}
	transport.Dismiss(conn)
	if status := <-statuses; status != 1 {
		t.Errorf("it exits with status %d", status)
	}
}
