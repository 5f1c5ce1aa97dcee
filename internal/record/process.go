package record

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// ServeCommand starts a target and stands between it and a peer until the target
// exits. Signals that come are passed on to the target. It returns how the target
// exited, or was made to.
func ServeCommand(
	command target.Command,
	peer Peer,
	signals <-chan os.Signal,
	options StdioOptions,
) (target.Exit, error) {
	command.Stderr = peer.Err
	process, err := target.Start(command)
	if err != nil {
		return target.Exit{}, err
	}
	defer func() { _ = process.Close() }() // it is gone by then, or ErrStuck
	s := newStdio(peer, Pipes{In: process.Stdin, Out: process.Stdout}, options)
	s.recordProcess(process)
	pass := func(signal os.Signal) {
		if number, isNumber := signal.(syscall.Signal); isNumber {
			_ = process.Signal(number) // it may have exited
		}
	}
	if exit, made := errors.AsType[*ExitError](s.serve(signals, pass, process.Done())); made {
		return target.Exit{Code: exit.Status}, process.Kill()
	}
	return process.Exit(), nil
}

// recordProcess records what is known of a process beside its messages.
func (s *stdio) recordProcess(process *target.Process) {
	if s.log == nil {
		return
	}
	s.record(transcript.Event{Kind: transcript.Open, From: protocol.Client, Note: "started " + process.String()})
	process.Watch(target.Watcher{
		Stderr: func(line []byte) {
			s.record(transcript.Event{Kind: transcript.Stderr, From: protocol.Server, Raw: line})
		},
		InputClosed: func() {
			s.record(transcript.Event{Kind: transcript.Signal, From: protocol.Client, Note: transcript.InputClosed})
		},
		Signal: func(name string) {
			s.record(transcript.Event{
				Kind: transcript.Signal, From: protocol.Client, Note: "sent " + name, Incident: transcript.Signalled,
			})
		},
		Exit: func(exit target.Exit) {
			s.record(transcript.Event{Kind: transcript.Exit, From: protocol.Server, Note: exit.String()})
		},
	})
}

// Server serves one client over stdio until its input ends, or the context.
type Server func(ctx context.Context, in io.Reader, out io.Writer) error

// ServeStdio stands between a server in this process and a peer until the server
// returns, with its error, or the context ends. SIGTERM among the signals ends the server's
// context. An *ExitError says with which status this process is to exit.
func ServeStdio(
	ctx context.Context,
	serve Server,
	peer Peer,
	signals <-chan os.Signal,
	options StdioOptions,
) error {
	fromPeer, toServer := io.Pipe()
	fromServer, toPeer := io.Pipe()
	s := newStdio(peer, Pipes{In: toServer, Out: fromServer}, options)
	stop := context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })
	defer stop()
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan struct{})
	leave := func() {
		_ = fromPeer.Close() // neither fails
		_ = toPeer.Close()
	}
	defer leave()
	var failed error
	go func() {
		failed = serve(serving, fromPeer, toPeer)
		leave()
		close(gone)
	}()
	if err := s.serve(signals, func(os.Signal) { cancel() }, gone); err != nil {
		return err
	}
	select {
	case <-gone:
		return failed
	default:
		return context.Cause(ctx)
	}
}
