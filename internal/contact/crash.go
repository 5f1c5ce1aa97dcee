package contact

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// CrashError says that a server ran until it was spoken to, and ended at the first request:
// that is a finding, and no target that cannot be reached.
type CrashError struct {
	Revision string // of the request
	Method   string
	Exit     string // how the process ended; "" where that is unknown
	Stderr   string // the end of its standard error
	events   []transcript.Event
}

// Denial is what that breaks.
func (e *CrashError) Denial() *Denial {
	return &Denial{
		ID:   supporting[protocol.ServerRole][protocol.Has(e.Revision, protocol.Handshake)],
		Text: "answers its first request", Wanted: "a response to " + e.Method, Found: e.Error(),
		Events: e.events, Output: e.Stderr,
	}
}

func (e *CrashError) Error() string {
	how := "it now refuses connections"
	if e.Exit != "" {
		how = "its process " + e.Exit
	}
	return "the server exited at its first request (" + e.Method + "): " + how
}

const (
	// longerAlone is how many times as long as it lived when it was spoken to a process is
	// left in peace, and leastAlone is added: one that ends by itself does so by then.
	longerAlone = 4
	leastAlone  = time.Second
	// redialTime is how long a process may take to be gone that has ended the connection, and
	// redialPause is between two looks.
	redialTime  = time.Second
	redialPause = 50 * time.Millisecond
)

// crashed tells whether a target that no visit reached crashed at the first request; nil when
// it did not. served is the process of a server over HTTP, where the harness has started it.
func crashed(ctx context.Context, to scripted.Target, visits []*visit, served *target.Process) *CrashError {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the run ends, and the target may be told so
	}
	if protocol.Over(to.Transport).Processes() {
		last := visits[len(visits)-1]
		if found := last.died(); found != nil && stays(ctx, to, last.started) {
			return found
		}
		return nil
	}
	at := slices.IndexFunc(visits, (*visit).cutOff)
	if at < 0 || !refuses(ctx, to.URL) {
		return nil
	}
	found := visits[at].crash()
	if served != nil {
		select {
		case <-served.Done():
			found.Exit = served.Exit().Past()
		case <-wait.After(ctx, redialTime): // it refuses connections, but runs on
		}
		stderr, _ := served.Stderr()
		found.Stderr = excerpt.Stderr(string(stderr))
	}
	return found
}

// crash is what a visit shows of one.
func (v *visit) crash() *CrashError {
	return &CrashError{Revision: v.asked, Method: ask(v.asked), events: v.connection.Log().Events()}
}

// silent tells whether a server has said nothing to a visit.
func (v *visit) silent() bool {
	return v.connection != nil && !slices.ContainsFunc(v.connection.Log().Events(), func(event transcript.Event) bool {
		return event.From == protocol.Server && (event.IsContent() || event.Kind == transcript.Head)
	})
}

// cutOff tells whether a server over HTTP took the request of a visit, and ended the
// connection without a word.
func (v *visit) cutOff() bool {
	failed, is := errors.AsType[*transport.Error](v.err)
	return is && v.silent() && (failed.Kind == transport.ErrClosed || failed.Kind == transport.ErrCut)
}

// died is the crash of a process that has said nothing to a visit; nil where it did, or ended
// in good order.
func (v *visit) died() *CrashError {
	if !v.silent() {
		return nil
	}
	process := v.connection.Stdio.Pipe.Process()
	select {
	case <-process.Done():
	default:
		return nil
	}
	found, exit := v.crash(), process.Exit()
	if exit == (target.Exit{}) {
		return nil
	}
	stderr, _ := process.Stderr()
	found.Exit, found.Stderr = exit.Past(), excerpt.Stderr(string(stderr))
	return found
}

// stays tells whether a process runs on while it is sent nothing.
func stays(ctx context.Context, to scripted.Target, lived time.Duration) bool {
	process, err := target.Start(to.Command)
	if err != nil {
		return false
	}
	go func() { _, _ = io.Copy(io.Discard, process.Stdout) }() // ends with the process
	defer func() {
		_, _ = process.Shutdown(ctx, target.DefaultGrace) // it showed what it is for
		_ = process.Close()
	}()
	select {
	case <-process.Done():
	case <-ctx.Done():
	case <-wait.After(ctx, min(longerAlone*lived+leastAlone, max(to.Start, to.Reply))):
		return true
	}
	return false
}

// refuses tells whether nothing listens any more where something did.
func refuses(ctx context.Context, address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	port := cmp.Or(parsed.Port(), map[string]string{"http": "80", "https": "443"}[parsed.Scheme])
	place := net.JoinHostPort(parsed.Hostname(), port)
	return vanishes(ctx, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", place)
	})
}

// vanishes tells whether connections come to be refused. A process that ends resets those which
// it has not accepted yet.
func vanishes(ctx context.Context, dial func(context.Context) (net.Conn, error)) bool {
	ctx, cancel := wait.WithTimeout(ctx, redialTime)
	defer cancel()
	for {
		connection, err := dial(ctx)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return true
		case err == nil:
			_ = connection.Close() // nothing was said on it
		}
		select {
		case <-ctx.Done():
			return false
		case <-wait.After(ctx, redialPause):
		}
	}
}
