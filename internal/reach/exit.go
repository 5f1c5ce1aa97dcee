package reach

import (
	"context"
	"math"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// LeastQuiet is how long a process is left in peace at least to see whether it ends by itself.
const LeastQuiet = time.Second

// longerQuiet is how many times as long as one lived after its first answer another is left in
// peace, but for no more than LeastQuiet longer, and LeastQuiet is added: one that ends by itself
// does so by then.
const longerQuiet = 4

// FindQuit tells whether a server over stdio, whose process has ended on a connection, ends as
// well without a request after the opening; nil where it does not, or has not ended.
func FindQuit(
	ctx context.Context,
	budget *transcript.MemoryBudget,
	to scripted.Target,
	revision string,
	events []transcript.Event,
) *check.Quit {
	lived, ended := LivedFor(events)
	if !protocol.Over(to.Transport).Processes() || !ended || lived > to.Reply {
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
	case <-wait.After(ctx, min(longerQuiet*lived, lived+LeastQuiet)+LeastQuiet):
		return nil
	}
	stderr, _ := process.Stderr()
	found.Exit, found.Stderr = process.Exit().Past(), string(stderr)
	return found
}

// Outlives is after how long other connections show that a server which has ended one does not do
// so by itself, if they stay: one went on for longer, closed by the harness or still there, and
// one that is still there was asked nothing for longer than that one before its end. It is zero
// where they show that already, and never where none is there.
func Outlives(ended []transcript.Event, closed time.Duration, alive [][]transcript.Event, now time.Time) time.Duration {
	lived, _ := LivedFor(ended)
	older, quieter := never, never
	if closed > lived {
		older = 0
	}
	for _, events := range alive {
		older = min(older, after(lived, now.Sub(FirstSaid(events, now))))
		quieter = min(quieter, after(quietAt(ended, now), quietAt(events, now)))
	}
	return max(older, quieter)
}

const never time.Duration = math.MaxInt64

// after is how long something has to go on that has gone on for so long, to be longer than
// another.
func after(another, gone time.Duration) time.Duration {
	return max(0, another-gone+time.Millisecond)
}

// quietAt is how long nothing had been said to a server when it ended, or by a time.
func quietAt(events []transcript.Event, now time.Time) time.Duration {
	var said time.Time
	for _, event := range events {
		switch {
		case event.Kind == transcript.Exit:
			now = event.At
		case event.From == protocol.Client && event.IsContent():
			said = event.At
		}
	}
	return now.Sub(said)
}

// FirstSaid is when a server first said something; now where it has not.
func FirstSaid(events []transcript.Event, now time.Time) time.Time {
	for _, event := range events {
		if event.From == protocol.Server && event.IsContent() {
			return event.At
		}
	}
	return now
}

// LivedFor is how long a process went on after it first said something, and whether it ended
// by itself.
func LivedFor(events []transcript.Event) (lived time.Duration, ended bool) {
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
