package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

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

// Pipes lead to a target: to its standard input and from its standard output.
// Closing one must end a read or write that is under way.
type Pipes struct {
	In  io.WriteCloser
	Out io.ReadCloser
}

// StdioOptions say what a middleman on stdio does beside passing on.
type StdioOptions struct {
	Laying Laying
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

// stdio is a middleman on stdio. It gives each line to the wire and does what the
// wire says; a line that nothing changes passes as it came.
type stdio struct {
	peer   Peer
	target Pipes
	limit  int
	wire   *Wire
	unread bool // nothing is laid over the wire
	log    *transcript.Log

	lanes map[Direction]*lane
	ctx   context.Context // ends when the middleman does
	end   context.CancelCauseFunc
	hung  chan struct{} // closed when a step hangs
	hang  func()
}

func newStdio(peer Peer, target Pipes, options StdioOptions) *stdio {
	if options.Limits.Message <= 0 {
		options.Limits = transport.DefaultLimits
	}
	s := &stdio{
		peer: peer, target: target, limit: options.Limits.Message,
		wire: NewWire(options.Laying), unread: options.Laying.None(), log: options.Log,
		lanes: map[Direction]*lane{In: newLane(peer.In, target.In), Out: newLane(target.Out, peer.Out)},
		hung:  make(chan struct{}),
	}
	s.hang = sync.OnceFunc(func() { close(s.hung) })
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// serve passes everything on until gone is closed, which says that the target has
// ended, and its last output has passed. Signals are given to pass, unless the
// target is not to notice. An *ExitError says that a change ends the target. A Read
// of the peer that is under way at the end is left to whoever owns it.
func (s *stdio) serve(signals <-chan os.Signal, pass func(os.Signal), gone <-chan struct{}) error {
	defer s.end(nil)
	output := make(chan struct{})
	go s.begin(output)
	for {
		select {
		case signal := <-signals:
			if signal != syscall.SIGTERM || !s.event(terminate) {
				pass(signal)
			}
			continue
		case <-gone:
			select {
			case <-output:
			case <-s.hung:
			case <-s.ctx.Done():
			}
		case <-s.ctx.Done():
		}
		if exit, made := errors.AsType[*ExitError](context.Cause(s.ctx)); made {
			return exit
		}
		return nil
	}
}

// begin passes everything on; it closes output when the target has said its last.
func (s *stdio) begin(output chan<- struct{}) {
	s.event(start)
	go s.passIn()
	s.pass(Out)
	close(output)
}

// Events of a target's process: see Match.Process.
const (
	start       = "start"
	inputClosed = "input-closed"
	terminate   = "terminate"
)

// event says that something happens to the target's process. It reports whether
// the target must not notice.
func (s *stdio) event(event string) (ignored bool) {
	steps, ignored := s.wire.Process(event)
	for _, step := range steps {
		if step.Wait.done(s.ctx) == nil {
			_ = s.do(step) // whoever passes on next finds out, too
		}
	}
	return ignored
}

// passIn passes on what the peer says, and the end of it.
func (s *stdio) passIn() {
	s.pass(In)
	s.record(transcript.Event{Kind: transcript.Signal, From: transcript.Client, Note: "closed its standard input"})
	if ignored := s.event(inputClosed); !ignored && !s.isHung() {
		s.lanes[In].close()
	}
}

func (s *stdio) over() bool { return s.ctx.Err() != nil }

func (s *stdio) isHung() bool {
	select {
	case <-s.hung:
		return true
	default:
		return false
	}
}

const newline = "\n"

// pass passes on what comes one way until its end, and what waits on this way.
func (s *stdio) pass(way Direction) {
	lane := s.lanes[way]
	from := lane.from
	if s.log != nil {
		from = &tapped{lane.from, s.lineTap(way)}
	}
	var err error
	if s.unread {
		err = s.passUnread(from, lane)
	} else {
		err = s.passLines(bufio.NewReaderSize(from, readSize), way, lane)
	}
	lane.ended()
	lane.waiting.Wait()
	if way == Out {
		s.record(transcript.Event{Kind: transcript.End, From: transcript.Server, Note: endNote(err)})
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

// passLine does the steps that take the place of a line.
func (s *stdio) passLine(way Direction, line []byte) error {
	steps := s.wire.Message(Passage{Direction: way, Raw: line[:len(line)-len(newline)], Carried: onStdio})
	for _, step := range steps {
		if step.Wait.none() {
			if err := s.do(step); err != nil && step.Direction == way {
				return err
			}
			continue
		}
		lane := s.lanes[step.Direction]
		lane.waiting.Go(func() {
			if lane.await(s.ctx, step.Wait) {
				_ = s.do(step) // whoever passes on next finds out, too
			}
		})
	}
	return nil
}

// do does one step. The error is that of writing its message.
func (s *stdio) do(step Step) (err error) {
	if s.isHung() || s.over() {
		return nil
	}
	if step.Message != nil {
		end := newline
		if step.End != nil {
			end = *step.End
		}
		err = s.lanes[step.Direction].write(append(slices.Clip(step.Message), end...), step.Chunk)
	}
	if step.Text != nil && step.Stderr {
		_, _ = s.peer.Err.Write(step.Text) // nobody needs to read it
	} else if step.Text != nil {
		err = errors.Join(err, s.lanes[Out].write(step.Text, step.Chunk))
	}
	switch {
	case step.Exit != nil:
		s.end(&ExitError{Status: *step.Exit})
	case step.Hang:
		s.hang()
	case step.Cut, step.Close:
		s.lanes[Out].close()
	}
	return err
}

func (s *stdio) record(event transcript.Event) {
	if s.log != nil {
		event.Stream = onStdio
		s.log.Append(event)
	}
}
