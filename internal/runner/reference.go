package runner

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/target"
)

// reference is an embedded reference, started over HTTP.
type reference struct{ process *target.Process }

// referenceTimeout bounds the start of our own server.
const referenceTimeout = 20 * time.Second

// AttachedFlag makes a reference over HTTP end with its standard input,
// so that it does not outlive a run that is killed.
const AttachedFlag = "attached"

// Garbage is how much of it may lie about in a process of a run before it is
// collected, in percent of what is in use (see debug.SetGCPercent): such a
// process lives for a second or less and uses a few megabytes.
const Garbage = 400

// itself is the command that starts this binary with other arguments.
func (r *run) itself(arguments ...string) target.Command {
	return target.Command{
		Args: slices.Concat(r.options.Executable, arguments),
		Env:  []string{"GOGC=" + strconv.Itoa(Garbage)}, // much of a short life is spent before main
	}
}

// startReference starts this binary as a reference that listens on the loopback
// interface, and returns the URL of its first line.
func (r *run) startReference(ctx context.Context, arguments ...string) (string, error) {
	command := r.itself(slices.Concat([]string{"reference"}, arguments, []string{"--" + AttachedFlag})...)
	command.Orderly = true
	process, err := target.Start(command)
	if err != nil {
		return "", fmt.Errorf("starting the reference: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, referenceTimeout)
	defer cancel()
	first := make(chan string, 1)
	go func() {
		reader := bufio.NewReader(process.Stdout)
		line, _ := reader.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, reader) // ends with the process
	}()
	select {
	case line := <-first:
		if _, url, found := strings.Cut(strings.TrimSpace(line), "http://"); found {
			r.reference = &reference{process}
			return "http://" + url, nil
		}
		err = fmt.Errorf("the reference did not say where it listens, but %q", line)
	case <-ctx.Done():
		err = fmt.Errorf("the reference did not start: %w", context.Cause(ctx))
	}
	_ = process.Close()
	return "", err
}

// stopReference ends the embedded reference, if there is one: at once when
// the context has ended.
func (r *run) stopReference(ctx context.Context) {
	if r.reference == nil {
		return
	}
	_, _ = r.reference.process.Shutdown(ctx, target.DefaultGrace) // our own: how it ended is nobody's news
	_ = r.reference.process.Close()
}
