package conform

import (
	"context"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
)

const (
	// longerQuiet is how many times as long as a process lived after its first answer another
	// one is left in peace, and leastQuiet is added: one that ends by itself does so by then.
	longerQuiet = 4
	leastQuiet  = time.Second
)

// FindQuit tells whether a server over stdio, whose process has ended on a connection, ends as
// well where nobody asks it anything; nil where it does not, or has not ended.
func FindQuit(
	ctx context.Context,
	budget *transcript.MemoryBudget,
	to scripted.Target,
	revision string,
	events []transcript.Event,
) *check.Quit {
	lived, ended := livedFor(events)
	if to.Transport != protocol.Stdio || !ended || lived > to.Reply {
		return nil // what it was asked is the better reason
	}
	log := transcript.NewLogIn(budget, "quiet")
	defer log.Release()
	connection, err := scripted.Dial(to, log)
	if err != nil {
		return nil
	}
	defer connection.Close(ctx)
	found := &check.Quit{After: "initialize"}
	var shaken scripted.Handshake
	if protocol.Has(revision, protocol.Discovery) {
		found.After = "server/discover"
		shaken, _ = connection.Discover(ctx, revision, scripted.Everything(revision))
	} else {
		shaken, _ = connection.Initialize(ctx, scripted.Hello(revision, scripted.Everything(revision)))
	}
	if !shaken.Agreed {
		return nil
	}
	process := connection.Stdio.Pipe.Process()
	select {
	case <-process.Done():
	case <-ctx.Done():
		return nil
	case <-wait.After(ctx, longerQuiet*lived+leastQuiet):
		return nil
	}
	stderr, _ := process.Stderr()
	found.Exit, found.Stderr = process.Exit().Past(), string(stderr)
	return found
}

// livedFor is how long a process went on after it first said something, and whether it ended
// by itself.
func livedFor(events []transcript.Event) (lived time.Duration, ended bool) {
	var said time.Time
	for _, event := range events {
		switch {
		case event.Kind == transcript.Signal:
			return 0, false
		case event.Kind == transcript.Exit:
			return event.At.Sub(said), !said.IsZero()
		case said.IsZero() && event.From == protocol.Server && event.IsContent():
			said = event.At
		}
	}
	return 0, false
}
