// Command mcpconform checks whether an implementation of the Model Context
// Protocol keeps the specification.
package main

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

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/wait"
	"github.com/mcpconform/mcpconform/reports"
)

// Exit statuses.
const (
	exitConforms    = 0
	exitDoesNot     = 1 // the target does not conform, or was not judged to the end
	exitUsage       = 2 // wrong usage or config
	exitUnreachable = 3 // the target could not be started or reached
	exitHarness     = 4 // the harness itself failed
)

// exitError ends the program with a status; message may be empty when
// everything is said.
type exitError struct {
	status  int
	message string
}

func (e *exitError) Error() string { return e.message }

func usageError(format string, arguments ...any) error {
	return &exitError{status: exitUsage, message: fmt.Sprintf(format, arguments...)}
}

func main() { os.Exit(withOwnStatus(func() int { return run(os.Args[1:]) })) }

// withOwnStatus keeps Go's runtime from ending this process with status 2, which means wrong usage.
// A panic here is a failure of the harness. One in another goroutine, and what else the runtime
// cannot go on after, ends it by SIGABRT, where there are signals.
func withOwnStatus(work func() int) (status int) {
	debug.SetTraceback("crash")
	defer func() {
		if cause := recover(); cause != nil {
			_, _ = fmt.Fprintf(
				stderr(),
				"mcpconform: panic: %s\n\n%s",
				reports.Visible(fmt.Sprint(cause)),
				debug.Stack(),
			)
			status = exitHarness
		}
	}()
	return work()
}

func run(arguments []string) int {
	log.SetOutput(io.Discard) // libraries log there what a hostile target does
	debug.SetGCPercent(runner.Garbage)
	ctx, stop := untilSignalled()
	defer stop()
	// A closed pipe is an error of a write, not the end of this process: what it
	// started is stopped first. (Ignored, it would be so in what it starts, too.)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	err := unlessUnread(execute(ctx, arguments))
	if err == nil {
		return exitConforms
	}
	if text := err.Error(); text != "" {
		_, _ = fmt.Fprintln(stderr(), "mcpconform: "+reports.Visible(excerpt.Words(text)))
	}
	return statusOf(err)
}

// standardOutput is what errors call that file.
const standardOutput = "/dev/stdout"

// unlessUnread drops EPIPE of the standard output, as with mcpconform list | head: a reader that
// stops early is no failure, and changes no verdict.
func unlessUnread(err error) error {
	if joined, is := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); is {
		var left []error
		for _, one := range joined.Unwrap() {
			left = append(left, unlessUnread(one))
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
				os.Exit(exitDoesNot)
			}
			cancel(runner.Interrupted())
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
		os.Exit(exitDoesNot)
	}
}

func statusOf(err error) int {
	var exit *exitError
	var unreachable *contact.TargetError
	var filter *plan.FilterError
	switch {
	case errors.As(err, &exit):
		return exit.status
	case errors.Is(err, runner.Interrupted()):
		return exitDoesNot
	case errors.As(err, &unreachable):
		return exitUnreachable
	case errors.As(err, &filter):
		return exitUsage
	}
	return exitHarness
}
