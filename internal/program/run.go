package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/wait"
	"github.com/mcpconform/mcpconform/reports"
)

// Garbage is how much of it may lie about in a process before it is collected, in percent of
// what is in use (see debug.SetGCPercent): most processes of this program live for a second or
// less and use a few megabytes.
const Garbage = 400

// Itself is the command that starts this program, without arguments.
func Itself() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return []string{self}, nil
}

// Stdout is where everything is printed: what a target has said may stand in any of it.
func Stdout() io.Writer { return reports.NoCommands(os.Stdout) }

// Stderr is where errors and progress are shown.
func Stderr() io.Writer { return reports.NoCommands(os.Stderr) }

// WithOwnStatus keeps Go's runtime from ending this process with status 2, which means wrong usage.
// A panic here is a failure of the harness. One in another goroutine, and what else the runtime
// cannot go on after, ends it by SIGABRT, where there are signals.
func WithOwnStatus(work func() int) (status int) {
	debug.SetTraceback("crash")
	defer func() {
		if cause := recover(); cause != nil {
			_, _ = fmt.Fprintf(
				Stderr(),
				"mcpconform: panic: %s\n\n%s",
				reports.Visible(fmt.Sprint(cause)),
				debug.Stack(),
			)
			status = Failed
		}
	}()
	return work()
}

// Run does the work of a process, whose context a signal cancels, tells its error, and returns
// the exit status of that.
func Run(work func(ctx context.Context) error, statusOf func(error) int) int {
	log.SetOutput(io.Discard) // libraries log there what a hostile target does
	debug.SetGCPercent(Garbage)
	ctx, stop := untilSignalled()
	defer stop()
	// A closed pipe is an error of a write, not the end of this process: what it
	// started is stopped first. (Ignored, it would be so in what it starts, too.)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	err := UnlessUnread(work(ctx))
	if err == nil {
		return Conforms
	}
	if text := err.Error(); text != "" {
		_, _ = fmt.Fprintln(Stderr(), "mcpconform: "+reports.Visible(excerpt.Words(text)))
	}
	return statusOf(err)
}

// standardOutput is what errors call that file.
const standardOutput = "/dev/stdout"

// UnlessUnread drops EPIPE of the standard output, as with mcpconform list | head: a reader that
// stops early is no failure, and changes no verdict.
func UnlessUnread(err error) error {
	if joined, is := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); is {
		var left []error
		for _, one := range joined.Unwrap() {
			left = append(left, UnlessUnread(one))
		}
		return errors.Join(left...)
	}
	var failed *fs.PathError
	if errors.As(err, &failed) && failed.Path == standardOutput && errors.Is(failed, syscall.EPIPE) {
		return nil
	}
	return err
}

// untilSignalled returns a context that ends with the first signal which asks this
// process to end. The second ends it at once, as does the first in the end: what it wanted to
// write by then is not written.
func untilSignalled() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ending = append(ending, syscall.SIGHUP)
	}
	signals, over := make(chan os.Signal, len(ending)), make(chan struct{})
	signal.Notify(signals, ending...)
	go func() {
		for times := 0; ; times++ {
			select {
			case <-signals:
			case <-over:
				return
			}
			if times > 0 {
				os.Exit(DoesNot) //nolint:forbidigo // as main would
			}
			cancel(ErrInterrupted)
			go endLate(over)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel(nil)
	}
}

// lastMoment is how long this process may take to end when it was asked to: five seconds, less
// what the end itself takes.
const lastMoment = 4500 * time.Millisecond

// endLate exits if this process is not over in time, as when it blocks on output that is not read.
func endLate(over <-chan struct{}) {
	ctx, cancel := wait.WithTimeout(context.Background(), lastMoment)
	select {
	case <-over:
		cancel()
	case <-ctx.Done():
		cancel()
		os.Exit(DoesNot) //nolint:forbidigo // as main would
	}
}
