package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// stdioStream is the name of the one stream that stdio has.
const stdioStream = "stdio"

const (
	// readSize is what a pipe of Linux holds.
	readSize = 64 << 10
	// shown is how much of a message that is too long is kept in the log.
	shown = 4 << 10
	// loggedStderr bounds standard error in the log, which belongs to messages.
	loggedStderr = 1 << 20
	// lastOutput bounds the wait for output after the process has exited, which
	// only a descendant that escaped can keep coming.
	lastOutput = time.Second
)

// Line is one line of the server's standard output.
type Line struct {
	Raw        []byte // without the newline; a carriage return before it stays
	Terminated bool   // false for what follows the last newline
	Sequence   int    // of its event in the log
}

// Stdio is the client's end of stdio. One goroutine may write while another
// reads; only one may read.
type Stdio struct {
	process *target.Process // nil over plain pipes
	input   io.WriteCloser
	output  io.ReadCloser
	log     *transcript.Log
	limits  Limits
	lines   *mailbox[Line]
	over    chan struct{} // the reader has ended
	release func() error
	open    *openLine

	writing chan struct{} // holds a token during a write
	broken  error         // why nothing can be written any more

	logMu   sync.Mutex
	unended []byte // written since the last newline, not in the log yet
	stderr  int    // bytes in the log
}

// NewStdio takes over the pipes of a process. Shutdown or Close must be called.
func NewStdio(process *target.Process, log *transcript.Log, limits Limits) *Stdio {
	log.Append(transcript.Event{Kind: transcript.Open, Stream: stdioStream, From: protocol.Client,
		Note: "started " + process.String()})
	s := newStdio(process.Stdin, process.Stdout, log, limits)
	s.process = process
	s.release = sync.OnceValue(func() error { return s.end(process.Close) })
	process.Watch(target.Watcher{
		Stderr: s.logStderr, InputClosed: s.logInputClosed, Signal: s.logSignal, Exit: s.logExit,
	})
	go s.read()
	return s
}

// NewStdioPipes talks over plain pipes, to a server within the process for
// instance. Closing a pipe must end a read or write that is under way, as it
// does with io.Pipe, os.Pipe and network connections.
func NewStdioPipes(input io.WriteCloser, output io.ReadCloser, log *transcript.Log, limits Limits) *Stdio {
	log.Append(transcript.Event{Kind: transcript.Open, Stream: stdioStream, From: protocol.Client, Note: "over pipes"})
	s := newStdio(input, output, log, limits)
	s.release = sync.OnceValue(func() error {
		return s.end(func() error {
			_ = s.input.Close() // may be closed already
			return s.output.Close()
		})
	})
	go s.read()
	return s
}

func newStdio(input io.WriteCloser, output io.ReadCloser, log *transcript.Log, limits Limits) *Stdio {
	limits = limits.orDefault()
	return &Stdio{
		input: input, output: output, log: log, limits: limits,
		lines:   newMailbox[Line](limits.Buffer),
		over:    make(chan struct{}),
		open:    &openLine{came: &came{}},
		writing: make(chan struct{}, 1),
	}
}

// Unfinished says what came of a line that has not ended, or "" when every line
// has.
func (s *Stdio) Unfinished() string {
	if line := s.open.line(); !line.empty() {
		return "what came is " + line.of("a line that has not ended")
	}
	return ""
}

// Write writes exact bytes to the server's standard input; the newline that
// ends a message is the caller's. When the server does not read, it ends with
// the context (ErrTimeout, ErrCanceled); ErrClosed when the server has closed
// its input. Once a part of the bytes is taken and the rest is not, nothing
// more can be written.
func (s *Stdio) Write(ctx context.Context, raw []byte) error {
	return s.WriteDeliberate(ctx, raw, "")
}

// WriteDeliberate writes bytes that are illegal on purpose; the log keeps why.
func (s *Stdio) WriteDeliberate(ctx context.Context, raw []byte, why string) error {
	const doing = "writing to the server's standard input"
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return interrupted(ctx, doing)
	}
	if s.broken != nil {
		return s.broken
	}
	if ctx.Err() != nil {
		return interrupted(ctx, doing)
	}
	s.logWritten(raw, why) // first, so that the answer follows it

	n, err := writeWithin(ctx, s.input, raw)
	if err == nil {
		return nil
	}
	failure := &Error{Kind: ErrClosed, Doing: doing, Detail: err.Error(), Err: err}
	switch {
	case ctx.Err() != nil:
		failure = interrupted(ctx, doing)
		failure.Detail = fmt.Sprintf("the server took %d of %d bytes and then stopped reading", n, len(raw))
	case errors.Is(err, syscall.EPIPE):
		failure.Detail = "the server has closed it"
	case errors.Is(err, os.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		failure.Detail = "it is closed"
	}
	if n > 0 || failure.Kind == ErrClosed || !hasDeadline(s.input) {
		s.broken = failure
	}
	s.fail(failure)
	return failure
}

type deadlineWriter interface {
	SetWriteDeadline(deadline time.Time) error
}

func hasDeadline(w io.Writer) bool {
	writer, ok := w.(deadlineWriter)
	return ok && !errors.Is(writer.SetWriteDeadline(time.Time{}), os.ErrNoDeadline)
}

// writeWithin ends a write with the context: by a deadline, or else by closing.
func writeWithin(ctx context.Context, w io.WriteCloser, raw []byte) (int, error) {
	interrupt := func() { _ = w.Close() } // the write that it ends tells
	timed := hasDeadline(w)
	if timed {
		interrupt = func() { _ = w.(deadlineWriter).SetWriteDeadline(time.Unix(1, 0)) }
	}
	interrupting := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { interrupt(); close(interrupting) })
	n, err := w.Write(raw)
	if !stop() {
		<-interrupting
		if timed {
			_ = w.(deadlineWriter).SetWriteDeadline(time.Time{}) // fails when it is closed
		}
	}
	return n, err
}

// Read returns the next line. It ends with io.EOF when the server has closed
// its output, ErrTooLarge when a line is too long (the connection is then
// dead), ErrClosed when this end was closed, ErrTimeout or ErrCanceled with the
// context; after these two it can be called again.
func (s *Stdio) Read(ctx context.Context) (Line, error) {
	return s.lines.take(ctx, "reading the server's standard output")
}

// CloseInput closes the server's standard input, which asks it to exit.
func (s *Stdio) CloseInput() {
	s.logUnended()
	if s.process != nil {
		s.process.CloseInput()
	} else if s.input.Close() == nil {
		s.logInputClosed()
	}
}

// Process is what is at the other end, nil over plain pipes.
func (s *Stdio) Process() *target.Process { return s.process }

// Shutdown ends the server by the steps of the specification, reads what it
// still writes, and frees everything. Lines that came remain to be read. Over
// plain pipes, which have no signals, target.Killed means that the output had
// to be closed from this end.
func (s *Stdio) Shutdown(ctx context.Context, grace target.Grace) (target.Ending, error) {
	s.lines.drain()
	ending := target.Ending{Step: target.InputClosed}
	var err error
	wait := lastOutput
	s.logUnended()
	if s.process != nil {
		ending, err = s.process.Shutdown(ctx, grace)
	} else {
		s.CloseInput()
		wait = grace.Input
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.over:
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-s.over:
	default:
		if s.process == nil {
			ending.Step = target.Killed
		}
	}
	return ending, errors.Join(err, s.release())
}

// Close ends the connection at once, kills the process and frees everything.
// It does nothing the second time, or after Shutdown.
func (s *Stdio) Close() error { return s.release() }

// end closes with the given function and waits for the reader.
func (s *Stdio) end(closing func() error) error {
	s.lines.drain()
	s.logUnended()
	s.lines.finish(
		&Error{Kind: ErrClosed, Doing: "reading the server's standard output", Detail: "the connection is closed"},
	)
	err := closing()
	<-s.over
	if lost := s.lines.lost(); lost > 0 {
		s.log.Append(transcript.Event{Kind: transcript.Remark, Stream: stdioStream,
			Note: fmt.Sprintf("%d lines of the server came during the shutdown and did not fit", lost)})
	}
	s.log.Append(transcript.Event{Kind: transcript.Close, Stream: stdioStream, From: protocol.Client})
	return err
}

// read is the one goroutine that reads.
func (s *Stdio) read() {
	defer close(s.over)
	reader := bufio.NewReaderSize(io.TeeReader(s.output, s.open), readSize)
	for {
		line, err := readLine(reader, s.limits.Message)
		if errors.Is(err, ErrTooLarge) {
			s.log.Append(transcript.Event{Kind: transcript.Message, Stream: stdioStream, From: protocol.Server,
				Raw: line.Raw, Size: s.limits.Message, Note: "the beginning of a line that is too long"})
			s.log.Crowd()
			s.fail(err)
			s.lines.finish(err)
			_ = s.output.Close() // the server must not wait for a reader
			return
		}
		if line.Terminated || len(line.Raw) > 0 {
			event := transcript.Event{
				Kind:   transcript.Message,
				Stream: stdioStream,
				From:   protocol.Server,
				Raw:    line.Raw,
			}
			if !line.Terminated {
				event.Note = "not ended by a newline"
			}
			line.Sequence = s.log.Keep(event)
			if !s.lines.put(line, len(line.Raw)) {
				s.logEnd(os.ErrClosed) // by Close
				return
			}
		}
		if err != nil {
			s.logEnd(err)
			s.lines.finish(io.EOF)
			return
		}
	}
}

func (s *Stdio) logEnd(err error) {
	note := err.Error()
	switch {
	case errors.Is(err, io.EOF):
		note = "standard output ended"
	case errors.Is(err, os.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		note = "standard output was closed by the harness"
	}
	s.log.Append(transcript.Event{Kind: transcript.End, Stream: stdioStream, From: protocol.Server, Note: note})
}

// readLine reads one line in pieces, so that only a long one costs memory. Of
// one that is too long it returns the beginning.
func readLine(reader *bufio.Reader, limit int) (Line, error) {
	var pieces [][]byte
	size := 0
	for {
		piece, err := reader.ReadSlice('\n')
		piece, terminated := bytes.CutSuffix(piece, []byte("\n"))
		if size += len(piece); size > limit {
			beginning := append(pieces, piece)[0]
			return Line{
					Raw: bytes.Clone(beginning[:min(shown, len(beginning))]),
				}, tooLarge(
					"reading the server's standard output",
					"a line",
					limit,
				)
		}
		pieces = append(pieces, bytes.Clone(piece))
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(pieces) == 1 {
			return Line{Raw: pieces[0], Terminated: terminated}, err
		}
		return Line{Raw: bytes.Join(pieces, nil), Terminated: terminated}, err
	}
}

// logWritten logs each line as one message, however it is cut into writes.
func (s *Stdio) logWritten(raw []byte, why string) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	for {
		line, rest, ended := bytes.Cut(raw, []byte("\n"))
		if !ended {
			s.unended = append(s.unended, line...)
			return
		}
		s.log.Append(transcript.Event{Kind: transcript.Message, Stream: stdioStream, From: protocol.Client,
			Raw: append(s.unended, line...), Deliberate: why})
		s.unended = nil
		if raw = rest; len(raw) == 0 {
			return
		}
	}
}

// logUnended logs what was written without a newline, when none will follow.
func (s *Stdio) logUnended() {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if len(s.unended) > 0 {
		s.log.Append(transcript.Event{Kind: transcript.Message, Stream: stdioStream, From: protocol.Client,
			Raw: s.unended, Note: "not ended by a newline"})
		s.unended = nil
	}
}

func (s *Stdio) logStderr(line []byte) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if s.stderr > loggedStderr {
		return
	}
	event := transcript.Event{Kind: transcript.Stderr, Stream: stdioStream, From: protocol.Server, Raw: line}
	if s.stderr += len(line) + overhead; s.stderr > loggedStderr {
		event.Note = "no more of standard error is recorded"
	}
	s.log.Append(event)
}

func (s *Stdio) logInputClosed() {
	s.log.Append(transcript.Event{
		Kind: transcript.Signal, Stream: stdioStream, From: protocol.Client, Note: transcript.InputClosed,
	})
}

func (s *Stdio) logSignal(name string) {
	s.log.Append(transcript.Event{
		Kind: transcript.Signal, Stream: stdioStream, From: protocol.Client,
		Note: "sent " + name, Incident: transcript.Signalled,
	})
}

func (s *Stdio) logExit(exit target.Exit) {
	s.log.Append(
		transcript.Event{Kind: transcript.Exit, Stream: stdioStream, From: protocol.Server, Note: exit.String()},
	)
}

func (s *Stdio) fail(err error) {
	s.log.Append(transcript.Event{Kind: transcript.Failure, Stream: stdioStream, Note: err.Error()})
}
