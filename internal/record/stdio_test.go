package record_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// dialog is a peer that speaks with a server through a middleman.
type dialog struct {
	in      io.WriteCloser
	out     *bufio.Reader
	err     *bytes.Buffer // to be read when it is over
	signals chan os.Signal
	over    chan error
}

// speak begins a dialog.
func speak(t *testing.T, server record.Server, options record.StdioOptions) *dialog {
	t.Helper()
	hears, in := io.Pipe()
	out, says := io.Pipe()
	t.Cleanup(func() { _ = errors.Join(hears.Close(), in.Close(), out.Close(), says.Close()) })
	d := &dialog{in: in, out: bufio.NewReader(out), err: &bytes.Buffer{}, signals: make(chan os.Signal), over: make(chan error, 1)}
	go func() {
		err := record.ServeStdio(context.Background(), server, record.Peer{In: hears, Out: says, Err: d.err}, d.signals, options)
		_ = says.Close() // as the end of a process does
		d.over <- err
	}()
	return d
}

// say writes in a goroutine of its own, since pipes hold nothing.
func (d *dialog) say(text string) {
	go func() {
		_, _ = io.WriteString(d.in, text)
		_ = d.in.Close()
	}()
}

// echo is a server that says what it hears.
func echo(_ context.Context, in io.Reader, out io.Writer) error {
	_, err := io.Copy(out, in)
	return err
}

func TestStdioPassesEverythingAsItCame(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":    "",
		"messages":   ping + "\n" + call + "\n",
		"not ended":  ping + "\n" + ping,
		"line ends":  ping + "\r\n\n\n \n\r" + ping + "\r",
		"not JSON":   "\x00\xff\xfe hello\nDebugger attached\n{\n",
		"spelling":   "\xef\xbb\xbf { \"id\" : 1.0e0 , \"jsonrpc\":\"2.0\",\"method\":\"p\\u0069ng\",\"id\":2 } \n",
		"long":       strings.Repeat("0123456789", 100_000) + "\n" + ping + "\n",
		"long, open": ping + "\n" + strings.Repeat("0123456789", 100_000),
		"many":       strings.Repeat(ping+"\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, injection := range []fault.Injection{{}, watching(t)} {
				d := speak(t, echo, record.StdioOptions{Changes: injection.Changes(), Limits: transport.Limits{Message: 100_000}})
				d.say(text)
				found, err := io.ReadAll(d.out)
				if err != nil || string(found) != text {
					t.Errorf("unread %t: %.200q became %.200q, %v", injection.None(), text, found, err)
				}
				if err := <-d.over; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Lines pass when they are whole, and bytes as they come when nothing is injected.
func TestStdioPassesAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		injection fault.Injection
		pieces    []string
	}{
		{fault.Injection{}, []string{"{", "}", "\n", "x"}},
		{watching(t), []string{ping + "\n", "\n", call + "\n"}},
	} {
		d := speak(t, echo, record.StdioOptions{Changes: test.injection.Changes()})
		for _, text := range test.pieces {
			if _, err := io.WriteString(d.in, text); err != nil {
				t.Fatal(err)
			}
			piece(t, d.out, text)
		}
	}
}

// lines is a server that answers requests, tools/call after progress, and keeps
// what it hears.
type lines struct {
	mu  sync.Mutex
	got []string
}

func (l *lines) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			l.mu.Lock()
			l.got = append(l.got, scanner.Text())
			l.mu.Unlock()
			message := jsonrpc.Parse(scanner.Bytes())
			if message.Method == "tools/call" {
				_, _ = io.WriteString(out, progress+"\n")
			}
			if message.Kind == jsonrpc.Request {
				_, _ = fmt.Fprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", message.ID)
			}
		}
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return errTerminated
	}
}

var errTerminated = errors.New("terminated")

func TestStdioChanges(t *testing.T) {
	t.Parallel()
	const call2 = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	const answer2 = `{"jsonrpc":"2.0","id":2,"result":{}}`
	const changed = `{"id":1,"jsonrpc":"2.0","result":1}`
	both := call + "\n" + call2 + "\n"
	all := progress + "\n" + answer + "\n" + answer2 + "\n"
	for name, test := range map[string]struct {
		change string
		out    string
		err    string
		got    string // what the server hears; the same as what is said when empty
		exit   int
	}{
		"edited":              {change: one("response-to: tools/call", "{replace: /result, with: 1}"), out: strings.Replace(all, answer, changed, 1)},
		"request edited":      {change: one("direction: in, method: tools/call", "{replace: /method, with: ping}"), out: answer + "\n" + answer2 + "\n", got: `{"id":1,"jsonrpc":"2.0","method":"ping"}` + "\n" + call2 + "\n"},
		"dropped":             {change: one("response-to: tools/call", "{drop: true}"), out: progress + "\n" + answer2 + "\n"},
		"request dropped":     {change: one("direction: in, method: tools/call", "{drop: true}"), out: answer2 + "\n", got: call2 + "\n"},
		"answered":            {change: one("direction: in, method: tools/call", "{answer: 1}"), out: changed + "\n" + answer2 + "\n", got: call2 + "\n"},
		"repeated":            {change: one("response-to: tools/call", "{repeat: 2}"), out: strings.Replace(all, answer+"\n", strings.Repeat(answer+"\n", 3), 1)},
		"one more":            {change: one("method: notifications/progress", "{send: {x: 1}, place: before}"), out: "{\"x\":1}\n" + all},
		"one more inwards":    {change: one("method: notifications/progress", "{send: {jsonrpc: '2.0', method: x}, direction: in}"), out: all, got: call + "\n" + extra + "\n" + call2 + "\n"},
		"split":               {change: one("response-to: tools/call", "{split: 3}"), out: strings.Replace(all, answer, answer[:3]+"\n"+answer[3:], 1)},
		"other end":           {change: one("response-to: tools/call", `{end: "\r\n"}`), out: strings.Replace(all, answer+"\n", answer+"\r\n", 1)},
		"no end":              {change: one("response-to: tools/call", `{end: ""}`), out: strings.Replace(all, answer+"\n", answer, 1)},
		"in pieces":           {change: one("direction: out", "{chunk: 1}"), out: all},
		"text":                {change: one("response-to: tools/call", `{write: "hello\n", place: before}`), out: strings.Replace(all, answer, "hello\n"+answer, 1)},
		"text elsewhere":      {change: one("response-to: tools/call", `{write: "hello\n", to: stderr}`), out: all, err: "hello\n"},
		"text at the start":   {change: one("process: start", `{write: "hello\n"}`), out: "hello\n" + all},
		"text at the end":     {change: one("process: input-closed", `{write: "bye\n", to: stderr}`), out: all, err: "bye\n"},
		"held":                {change: one("method: notifications/progress", "{hold: {response-to: tools/call}}"), out: answer + "\n" + progress + "\n" + answer2 + "\n"},
		"held in vain":        {change: one("method: notifications/progress", "{hold: {method: never}}"), out: answer + "\n" + answer2 + "\n"},
		"request held":        {change: one("direction: in, method: tools/call", "{hold: {direction: in, method: ping}}"), out: answer2 + "\n" + progress + "\n" + answer + "\n", got: call2 + "\n" + call + "\n"},
		"delayed":             {change: one("method: notifications/progress", "{delay: 1ms}"), out: all},
		"closed":              {change: one("response-to: tools/call", "{close: true}"), out: progress + "\n" + answer + "\n"},
		"cut":                 {change: one("response-to: tools/call", "{cut: true, place: before}"), out: progress + "\n"},
		"exit":                {change: one("response-to: tools/call", "{exit: 3}"), out: progress + "\n" + answer + "\n", exit: 3},
		"exit at a request":   {change: one("direction: in, method: tools/call", "{exit: 3}"), exit: 3},
		"exit at the start":   {change: one("process: start", "{exit: 4}"), exit: 4},
		"exit when it closes": {change: one("process: input-closed", "{exit: 5}"), exit: 5, out: all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &lines{}
			d := speak(t, server.serve, record.StdioOptions{Changes: injection(t, test.change).Changes()})
			d.say(both)
			out, err := io.ReadAll(d.out)
			if err != nil {
				t.Error(err)
			}
			found, wanted := string(out), test.out
			switch name {
			case "delayed", "one more inwards": // when, is a matter of time
				found, wanted = byLine(found), byLine(wanted)
			case "exit when it closes": // it does not wait for what the server still says
				wanted = wanted[:min(len(wanted), len(found))]
			}
			if diff := cmp.Diff(wanted, found); diff != "" {
				t.Errorf("wanted - found +\n%s", diff)
			}
			exit, _ := errors.AsType[*record.ExitError](<-d.over)
			if (exit == nil) != (test.exit == 0) || exit != nil && exit.Status != test.exit {
				t.Errorf("the exit is %v", exit)
			}
			if found := d.err.String(); found != test.err {
				t.Errorf("standard error has %q", found)
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if got := strings.Join(append(server.got, ""), "\n"); exit == nil && byLine(got) != byLine(heard(test.got, both)) {
				t.Errorf("the server hears %q", got)
			}
		})
	}
}

func byLine(text string) string {
	all := strings.Split(text, "\n")
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func TestStdioSignals(t *testing.T) {
	t.Parallel()
	server := &lines{}
	d := speak(t, server.serve, record.StdioOptions{Changes: injection(t, one("process: terminate", `{write: "stopping\n"}`)).Changes()})
	go func() { d.signals <- syscall.SIGTERM }()
	piece(t, d.out, "stopping\n")
	if err := <-d.over; !errors.Is(err, errTerminated) {
		t.Error(err)
	}
}

func TestStdioIgnoresSignals(t *testing.T) {
	t.Parallel()
	server := &lines{}
	d := speak(t, server.serve, record.StdioOptions{Changes: injection(t, one("process: terminate", "{ignore: true}")).Changes()})
	d.signals <- syscall.SIGTERM
	if _, err := io.WriteString(d.in, ping+"\n"); err != nil {
		t.Fatal(err)
	}
	piece(t, d.out, answer+"\n")
}

func TestStdioIgnoresTheEndOfItsInput(t *testing.T) {
	t.Parallel()
	server := &lines{}
	d := speak(t, server.serve, record.StdioOptions{Changes: injection(t, one("process: input-closed", `{write: "so what\n"}, {ignore: true}`)).Changes()})
	d.say("")
	piece(t, d.out, "so what\n")
	d.signals <- syscall.SIGTERM
	if err := <-d.over; !errors.Is(err, errTerminated) {
		t.Error(err)
	}
}

func TestStdioHangs(t *testing.T) {
	t.Parallel()
	server := &lines{}
	d := speak(t, server.serve, record.StdioOptions{Changes: injection(t, one("response-to: ping", "{hang: true}")).Changes()})
	go func() { _, _ = io.WriteString(d.in, ping+"\n"+hello+"\n") }() // and its input stays open
	piece(t, d.out, answer+"\n")
	d.signals <- syscall.SIGTERM // which ends also what hangs
	if err := <-d.over; !errors.Is(err, errTerminated) {
		t.Error(err)
	}
	if rest, _ := io.ReadAll(d.out); len(rest) > 0 {
		t.Errorf("it still says %q", rest)
	}
}

func TestStdioRecords(t *testing.T) {
	t.Parallel()
	for _, injection := range []fault.Injection{{}, watching(t)} {
		log := transcript.NewLog("test")
		server := &lines{}
		d := speak(t, server.serve, record.StdioOptions{Changes: injection.Changes(), Log: log, Limits: transport.Limits{Message: 200}})
		d.say(call + "\n" + strings.Repeat("x", 300) + "\nhalf")
		if _, err := io.ReadAll(d.out); err != nil {
			t.Error(err)
		}
		if err := <-d.over; err != nil {
			t.Error(err)
		}
		found := map[protocol.Party][]string{}
		for _, event := range log.Events() {
			found[event.From] = append(found[event.From], fmt.Sprint(event.Kind, " ", string(event.Raw), " ", event.Size, " ", event.Note))
		}
		want := map[protocol.Party][]string{
			protocol.Client: {
				"message " + call + " 0 ",
				"message " + strings.Repeat("x", 200) + " 300 the beginning of a line that is too long",
				"message half 0 not ended by a newline",
				"signal  0 closed its standard input",
			},
			protocol.Server: {
				"message " + progress + " 0 ",
				"message " + answer + " 0 ",
				"end  0 standard output ended",
			},
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("unread %t: wanted - found +\n%s", injection.None(), diff)
		}
	}
}

func heard(wanted, text string) string {
	if wanted == "" {
		return text
	}
	return wanted
}
