package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Peer is who speaks with a target over stdio, through a middleman: as a rule the
// standard streams of this process. A stream that is an io.Closer is closed when
// the target closes its end.
type Peer struct {
	In  io.Reader // what the peer says
	Out io.Writer // what it hears
	Err io.Writer // the target's standard error
}

// StandardStreams are those of this process.
func StandardStreams() Peer { return Peer{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }

// Pipes lead to a target: to its standard input and from its standard output.
// Closing one must end a read or write that is under way.
type Pipes struct {
	In  io.WriteCloser
	Out io.ReadCloser
}

// StdioOptions say what a middleman on stdio does beside passing on.
type StdioOptions struct {
	// Changes are asked about the connection; nil where all passes unread.
	Changes func() Changes
	// Log is the record of the connection; nil for none. What passes is recorded
	// as it came from either side, before any change.
	Log *transcript.Log
	// Limits are transport.DefaultLimits where they are zero. A longer line passes
	// unread.
	Limits transport.Limits
}

// ExitError says that the target's process is made to exit.
type ExitError struct{ Status int }

func (e *ExitError) Error() string { return fmt.Sprintf("made to exit with status %d", e.Status) }

// stdio is a middleman on stdio. It asks about each line, and does what it is told; a line that nothing changes passes as it came.
type stdio struct {
	peer    Peer
	target  Pipes
	limit   int
	changes Changes // nil where all passes unread
	log     *transcript.Log

	lanes map[Direction]*lane
	ctx   context.Context // ends when the middleman does
	end   context.CancelCauseFunc
	hung  chan struct{} // closed when a step hangs
	hang  func()

	mu   sync.Mutex
	held []Step // until another message has passed
}

func newStdio(peer Peer, target Pipes, options StdioOptions) *stdio {
	if options.Limits.Message <= 0 {
		options.Limits = transport.DefaultLimits
	}
	s := &stdio{
		peer: peer, target: target, limit: options.Limits.Message,
		log:   options.Log,
		lanes: map[Direction]*lane{In: newLane(peer.In, target.In), Out: newLane(target.Out, peer.Out)},
		hung:  make(chan struct{}),
	}
	if options.Changes != nil {
		s.changes = options.Changes()
	}
	s.hang = sync.OnceFunc(func() { close(s.hung) })
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// serve passes everything on until gone is closed, which says that the target has ended, and its
// last output has passed. Signals are given to pass, unless the target is not to notice. An
// *ExitError says that a change ends the target. A Read of the peer that is under way at the end is
// left to the owner of the reader.
func (s *stdio) serve(signals <-chan os.Signal, pass func(os.Signal), gone <-chan struct{}) error {
	defer s.end(nil)
	output := make(chan struct{})
	go s.begin(output)
	signalled := false
	for {
		select {
		case signal := <-signals:
			if s.notices(signal) {
				signalled = true
				pass(signal)
			}
			continue
		case <-gone:
			s.awaitOutput(output, signals, signalled)
		case <-s.ctx.Done():
		}
		if exit, made := errors.AsType[*ExitError](context.Cause(s.ctx)); made {
			return exit
		}
		return nil
	}
}

// notices tells whether the target is to notice a signal.
func (s *stdio) notices(signal os.Signal) bool {
	if signal != syscall.SIGTERM {
		return true
	}
	ignored, _ := s.event(terminate)
	return !ignored
}

// lastOutput bounds the wait for a peer that does not read, when the target was
// ended by a signal.
const lastOutput = time.Second

// awaitOutput waits until the peer has what the target said last.
func (s *stdio) awaitOutput(output <-chan struct{}, signals <-chan os.Signal, signalled bool) {
	var late <-chan time.Time
	if signalled {
		timer := time.NewTimer(lastOutput)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-output:
	case <-s.hung:
	case <-signals:
	case <-late:
	case <-s.ctx.Done():
	}
}

// begin passes everything on; it closes output when the target has said its last.
func (s *stdio) begin(output chan<- struct{}) {
	_, done := s.event(start)
	s.await(done)
	go s.passIn()
	s.pass(Out)
	close(output)
}

func (s *stdio) await(done <-chan struct{}) {
	select {
	case <-done:
	case <-s.ctx.Done():
	}
}

// Events of a target's process: see Match.Process.
const (
	start       = "start"
	inputClosed = "input-closed"
	terminate   = "terminate"
)

// event says that something happens to the target's process. It reports whether
// the target must not notice; done is closed when all that is injected into the event
// is done.
func (s *stdio) event(event string) (ignored bool, done <-chan struct{}) {
	var steps []Step
	if s.changes != nil {
		steps, ignored = s.changes.Process(event)
	}
	for _, step := range steps {
		if step.Wait.done(s.ctx) == nil {
			s.lanes[Out].inOrder(func() { _ = s.do(step) })
		}
	}
	return ignored, s.lanes[Out].barrier()
}

// passIn passes on what the peer says, and the end of it.
func (s *stdio) passIn() {
	s.pass(In)
	s.record(transcript.Event{Kind: transcript.Signal, From: protocol.Client, Note: transcript.InputClosed})
	ignored, done := s.event(inputClosed)
	s.await(done)
	if !ignored && !s.isHung() {
		s.lanes[In].close()
	}
}

func (s *stdio) over() bool { return s.ctx.Err() != nil }

func (s *stdio) isHung() bool { return isClosed(s.hung) }

const newline = "\n"

// pass passes on what comes one way until its end, and what waits on this way.
func (s *stdio) pass(way Direction) {
	lane := s.lanes[way]
	from := lane.from
	if s.log != nil {
		from = &tapped{lane.from, s.lineTap(way)}
	}
	var err error
	if s.changes == nil {
		err = s.passUnread(from, lane)
	} else {
		err = s.passLines(bufio.NewReaderSize(from, readSize), way, lane)
	}
	lane.settle()
	if way == Out {
		s.record(transcript.Event{Kind: transcript.End, From: protocol.Server, Note: endNote(err)})
		lane.close()
	}
}

func endNote(err error) string {
	if errors.Is(err, io.EOF) {
		return "standard output ended"
	}
	return err.Error()
}

// passUnread passes on bytes as they come.
func (s *stdio) passUnread(from io.Reader, lane *lane) error {
	buffer := make([]byte, readSize)
	for {
		n, err := from.Read(buffer)
		if failed := lane.write(buffer[:n], 0); failed != nil {
			return s.unwanted(lane, failed)
		}
		if err != nil {
			return err
		}
	}
}

// unwanted ends a way whose receiver takes nothing more, so that the sender gets
// to know.
func (s *stdio) unwanted(lane *lane, err error) error {
	if closer, can := lane.from.(io.Closer); can {
		_ = closer.Close() // what was written there is lost in any case
	}
	return err
}

// passLines passes on line by line. What is longer than the limit, or not ended
// by a newline, passes unread.
func (s *stdio) passLines(from *bufio.Reader, way Direction, lane *lane) error {
	var line []byte
	for {
		piece, err := from.ReadSlice('\n')
		if line = append(line, piece...); errors.Is(err, bufio.ErrBufferFull) {
			if len(line) <= s.limit {
				continue
			}
			if err = lane.writeLong(line, from); err == nil {
				line = nil
				continue
			}
			return s.unwanted(lane, err)
		}
		if s.isHung() {
			<-s.ctx.Done()
			return context.Cause(s.ctx)
		}
		var failed error
		switch {
		case err != nil:
			failed = lane.write(line, 0)
		case len(line) > 0:
			failed = s.passLine(way, line)
		}
		if failed != nil {
			return s.unwanted(lane, failed)
		}
		if err != nil {
			return err
		}
		line = nil // steps may keep it
	}
}

func (s *stdio) record(event transcript.Event) {
	if s.log != nil {
		event.Stream = onStdio
		s.log.Append(event)
	}
}
