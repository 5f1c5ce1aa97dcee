package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Stdio is a scripted client whose target is a process of its own.
type Stdio struct {
	*Client
	Pipe *transport.Stdio // for checks that need the bytes themselves
	read chan struct{}    // closed when the reader has ended

	writing sync.Mutex // held for a line
}

// OverStdio returns a client that talks through a pipe that is open.
func OverStdio(pipe *transport.Stdio, log *transcript.Log, reply time.Duration) *Stdio {
	s := &Stdio{Client: newClient(log, reply), Pipe: pipe, read: make(chan struct{})}
	s.wire = s
	go s.receive()
	return s
}

func (s *Stdio) transport() protocol.Transport { return protocol.Over(protocol.Stdio) }

func (s *Stdio) sessionID() string { return "" }

func (s *Stdio) setVersion(string) {}

func (s *Stdio) receive() {
	defer close(s.read)
	ctx := context.Background() // ends with the pipe, which close shuts
	for {
		line, err := s.Pipe.Read(ctx)
		if err != nil {
			s.inbox.finish(s.ended(err))
			return
		}
		s.take(ctx, Received{Message: s.Client.read(line.Raw), At: s.log.Place(line.Sequence), Stream: "stdio"})
		if s.inbox.ended() != nil {
			return // nothing more is kept: a flood waits in its pipe
		}
	}
}

// ended says in words why the pipe brings nothing more.
func (s *Stdio) ended(err error) error {
	switch {
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", ErrConnection, err)
	case s.exited():
		return s.exit()
	}
	return fmt.Errorf("%w: the server closed its standard output", ErrConnection)
}

// unsent says in words why nothing could be written.
func (s *Stdio) unsent(err error) error {
	if errors.Is(err, syscall.EPIPE) && s.exited() {
		return s.exit()
	}
	return fmt.Errorf("%w: %w", ErrConnection, err)
}

// exited tells whether the process is gone: when one of its pipes is closed it
// is, in most cases, since a moment.
func (s *Stdio) exited() bool {
	process := s.Pipe.Process()
	if process == nil {
		return false
	}
	select {
	case <-process.Done():
		return true
	case <-time.After(exitGrace):
		return false
	}
}

func (s *Stdio) exit() error {
	return fmt.Errorf("%w: the server's process %s", ErrConnection, s.Pipe.Process().Exit().Past())
}

// exitGrace is how long after the end of its output a process may take to be
// known as gone, on a loaded machine.
const exitGrace = time.Second

func (s *Stdio) send(ctx context.Context, message Outgoing, _ jsonrpc.ID) *Delivery {
	delivery := newDelivery()
	delivery.Stream, delivery.came = "stdio", s.Pipe.Unfinished
	ctx, cancel := wait.WithTimeout(ctx, s.Patience())
	defer cancel()
	line := append(slices.Clip(message.Raw), '\n')
	if err := s.write(ctx, line, message); err != nil {
		delivery.Err = s.unsent(err)
	} else {
		delivery.last = nil // what is written is delivered, and the answer may still come
	}
	close(delivery.head)
	close(delivery.done)
	return delivery
}

// write writes a line, in pieces where the message wants that. Nothing comes between
// the pieces: others wait for the end of the line.
func (s *Stdio) write(ctx context.Context, line []byte, message Outgoing) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	piece := message.Piece
	if piece == 0 {
		piece = len(line)
	}
	for part := range slices.Chunk(line, piece) {
		if err := s.Pipe.WriteDeliberate(ctx, part, message.Deliberate); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stdio) answer(ctx context.Context, message Outgoing) { s.send(ctx, message, jsonrpc.NoID) }

func (s *Stdio) quiet() <-chan struct{} { return nil }

func (s *Stdio) listen(context.Context) *Delivery {
	delivery := newDelivery()
	delivery.Stream = "stdio"
	close(delivery.head)
	close(delivery.done)
	return delivery
}

// closeGrace is short: many connections are closed in a run, and what a server
// does when its input ends is judged by checks that give it longer.
var closeGrace = target.Grace{Input: 500 * time.Millisecond, Terminate: target.DefaultGrace.Terminate}

func (s *Stdio) close(ctx context.Context) {
	_, _ = s.Pipe.Shutdown(ctx, closeGrace) // how it ended is in the transcript
	<-s.read
}
