package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/client"
	"github.com/mcpconform/mcpconform/reference/server"
)

// A server is ended by the end of its input, and by force only if that does not
// help.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		defect   string
		stubborn bool
		want     []string
	}{
		"good":     {want: []string{"close"}},
		"stubborn": {stubborn: true, want: []string{"close", "terminate", "kill"}},
		"killed":   {defect: "kills-at-once", want: []string{"kill"}},
		"spared":   {defect: "never-kills", stubborn: true, want: []string{"close", "terminate"}},
		"left":     {defect: "leaves-server-running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, server.Options{})
			p := start(func(ctx context.Context, in io.Reader, out io.Writer) error {
				err := s.ServeStdio(ctx, in, out)
				if one.stubborn {
					<-ctx.Done()
				}
				return err
			})
			t.Cleanup(func() { _ = p.WriteCloser.Close() })
			options := client.Options{Dial: func(context.Context) (client.Process, error) { return p, nil }, Defect: one.defect}
			options.Timeouts.Exit = 50 * time.Millisecond
			if !one.stubborn {
				options.Timeouts.Exit = 10 * time.Second
			}
			run(t, options, `[{"do":"connect"},{"do":"close"}]`)
			if !slices.Equal(p.asked, one.want) {
				t.Errorf("the server was asked to end by %v, wanted %v", p.asked, one.want)
			}
		})
	}
}

// A server that exits by itself is started again, and what was subscribed to is
// subscribed to again.
func TestServerIsRestarted(t *testing.T) {
	t.Parallel()
	serve := func() (*talker, client.Options) {
		exits := 1
		s, options := talking(t, func(m object, say func(any)) error {
			if answer, opens := hello(m, client.Revision20260728); opens {
				say(answer)
			}
			switch m["method"] {
			case "subscriptions/listen":
				say(notice("notifications/subscriptions/acknowledged", object{
					"_meta": object{"io.modelcontextprotocol/subscriptionId": m["id"]}, "notifications": object{},
				}))
			case "tools/list":
				say(to(m, object{"tools": []object{}}))
			case "tools/call":
				if exits--; exits >= 0 {
					return errExit
				}
				say(to(m, text("back")))
			}
			return nil
		})
		options.Timeouts.Request = 10 * time.Second
		return s, options
	}
	const steps = `[{"do":"connect"},{"do":"listen","to":{"toolsListChanged":true}},
		{"do":"wait-for","method":"notifications/subscriptions/acknowledged"},
		{"do":"call","tool":"t"},
		{"do":"wait-for","method":"notifications/subscriptions/acknowledged"},
		{"do":"call","tool":"t"},{"do":"close"}]`
	s, options := serve()
	outcomes := run(t, options, steps)
	outcomes[3].failed(t, "started again")
	outcomes[4].done(t)
	outcomes[5].says(t, "back")
	if len(s.processes) != 2 || len(s.of("subscriptions/listen")) != 2 {
		t.Errorf("there were %d processes, and %v", len(s.processes), s.methods())
	}
	s, options = serve()
	options.Defect, options.Timeouts.Request = "forgets-subscriptions", time.Second
	run(t, options, steps)[4].failed(t, "no notifications/subscriptions/acknowledged")
	if len(s.processes) != 2 || len(s.of("subscriptions/listen")) != 1 {
		t.Errorf("there were %d processes, and %v", len(s.processes), s.methods())
	}
	s, options = serve()
	options.Defect = "never-restarts"
	options.Timeouts.Request = time.Second
	run(t, options, steps)[3].failed(t, "closed its output")
	if len(s.processes) != 1 {
		t.Errorf("there were %d processes", len(s.processes))
	}
}

// A server that exits when it is asked in the way of the stateless era is of the
// handshake era.
func TestProbeEndsServer(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		probed func(m object, say func(any)) error
		spoken bool
	}{
		"exits":       {func(object, func(any)) error { return errExit }, true},
		"silent":      {func(object, func(any)) error { return nil }, true},
		"odd error":   {func(m object, say func(any)) error { say(no(m, -32000, "what?")); return nil }, true},
		"unsupported": {func(m object, say func(any)) error { say(unsupported(m, "2025-06-18", "1999-01-01")); return nil }, true},
		"none":        {func(m object, say func(any)) error { say(unsupported(m, "1999-01-01")); return nil }, false},
		"mismatch":    {func(m object, say func(any)) error { say(no(m, -32020, "headers")); return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, options := talking(t, func(m object, say func(any)) error {
				if m["method"] == "server/discover" {
					return one.probed(m, say)
				}
				if answer, opens := hello(m, client.Revision20250618); opens {
					say(answer)
				}
				return nil
			})
			if name == "silent" {
				options.Timeouts.Probe = 50 * time.Millisecond
			}
			outcomes, err := tryRun(t, options, `[{"do":"connect"},{"do":"close"}]`)
			if (err == nil) != one.spoken || len(s.of("initialize")) > 0 != one.spoken {
				t.Errorf("found %v: %v", s.methods(), err)
			}
			if one.spoken {
				outcomes[0].says(t, client.Revision20250618)
			}
		})
	}
}

// unsupported refuses a revision, and says which are spoken.
func unsupported(m object, supported ...string) object {
	refusal := no(m, -32022, "Unsupported protocol version")
	refusal["error"].(object)["data"] = object{"supported": supported, "requested": client.Revision20260728}
	return refusal
}

// The client ignores lines that are not messages, of any length.
func TestGarbage(t *testing.T) {
	t.Parallel()
	serve := func(_ context.Context, in io.Reader, out io.Writer) error {
		write := func(text string) { _, _ = io.WriteString(out, text) }
		reading := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, in)
			close(reading)
		}()
		write("\n{\"jsonrpc\":\n[]\n[{\"jsonrpc\":\"2.0\"}]\n7\n{}\n")
		write(`{"jsonrpc":"2.0","id":99,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"error":{}}` + "\n")
		write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}` + "\n")
		write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}` + "\n")
		write(`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n")
		write(strings.Repeat("x", 17<<20) + "\n")
		write(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"g","version":"1"}}}` + "\n")
		<-reading
		return nil
	}
	options := client.Options{Dial: dial(serve), Revision: client.Revision20250618}
	options.Timeouts.Exit = 10 * time.Second
	run(t, options, `[{"do":"connect"},{"do":"close"}]`)[0].done(t)
}

// A real process is started, spoken to, and gone at the end.
func TestCommand(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	gone := filepath.Join(t.TempDir(), "gone")
	const script = `echo "starting, with an ERROR" >&2
		while read -r line; do
			case "$line" in
			*'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}' ;;
			*'"ping"'*) echo '{"jsonrpc":"2.0","id":2,"result":{}}' ;;
			esac
		done
		echo over > "$1"`
	var log lines
	options := client.Options{Command: []string{shell, "-c", script, "sh", gone}, Revision: client.Revision20250618, Log: &log}
	outcomes := run(t, options, `[{"do":"connect"},{"do":"ping"},{"do":"close"}]`)
	outcomes[1].done(t)
	if text, err := os.ReadFile(gone); err != nil || !bytes.Equal(text, []byte("over\n")) {
		t.Errorf("the server was not let end: %q, %v", text, err)
	}
	if !strings.Contains(log.String(), "starting, with an ERROR") {
		t.Errorf("the log is %s", log.String())
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	t.Parallel()
	_, err := tryRun(t, client.Options{Command: []string{"/no/such/program"}}, `[{"do":"connect"},{"do":"ping"}]`)
	if err == nil || !strings.Contains(err.Error(), "cannot start the server") {
		t.Errorf("found %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	_, options := talking(t, func(object, func(any)) error {
		stop()
		return nil
	})
	if err := client.Run(ctx, options); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
}
