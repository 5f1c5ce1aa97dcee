// Page basic/transports, "stdio": one message per line, in and out.

package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Bounds of the stdio transport.
const (
	pipeQueue   = 64 // messages that wait to be written
	maxRestarts = 3  // of a server that exits by itself
)

var (
	errServerGone = errors.New("the server has closed its output")
	errRestarting = errors.New("the server has exited unexpectedly, and was started again")
	errTooLong    = fmt.Errorf("a line is longer than %d bytes", maxMessage)
)

// stdio is the transport over the pipes of a process.
type stdio struct {
	client *client

	mu       sync.Mutex
	pipes    *pipes // nil when there is no server any more
	restarts int
	closing  bool
}

// pipes are those of one process.
type pipes struct {
	process Process
	queue   chan line
	exited  chan struct{}
	ended   chan struct{} // closed when there is nothing more to read
	settled chan struct{} // closed when it is known what comes of that
	fate    error         // which is this
}

// A line is a message to write.
type line struct {
	text    []byte
	written chan error
}

func newStdio(ctx context.Context, c *client) (*stdio, error) {
	s := &stdio{client: c}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.launch(ctx)
}

// launch starts the server. The caller holds s.mu.
func (s *stdio) launch(ctx context.Context) error {
	process, err := s.client.start(ctx)
	if err != nil {
		return err
	}
	p := &pipes{
		process: process, queue: make(chan line, pipeQueue),
		exited: make(chan struct{}), ended: make(chan struct{}), settled: make(chan struct{}),
	}
	s.pipes = p
	go p.write()
	go func() {
		if err := process.Wait(); err != nil {
			s.client.log.Printf("the server has exited: %v", err)
		}
		close(p.exited)
	}()
	go func() {
		err := s.client.part.readLines(p, s.client.receive, s.client.log.Printf)
		close(p.ended)
		p.fate = s.over(p, err)
		close(p.settled)
		s.client.lost(p, p.fate)
		if errors.Is(p.fate, errRestarting) {
			s.client.renewSubscriptions()
		}
	}()
	return nil
}

// read takes lines until there are no more.
func (p *pipes) read(receive func([]byte), logf func(string, ...any)) error {
	in := bufio.NewReader(p.process)
	for {
		text, err := readLine(in)
		switch {
		case errors.Is(err, errTooLong):
			logf("ignored: %v", err)
		case err != nil:
			return err
		case len(bytes.TrimSpace(text)) > 0:
			receive(text)
		}
	}
}

// readLine reads up to a newline. Of a line that is too long it keeps nothing.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		tooLong = tooLong || len(text)+len(part) > maxMessage
		if tooLong {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		case tooLong:
			return nil, errTooLong
		default:
			return bytes.TrimSuffix(text, []byte("\n")), nil
		}
	}
}

// write writes what is in the queue for as long as the server lives.
func (p *pipes) write() {
	for {
		select {
		case l := <-p.queue:
			_, err := p.process.Write(append(l.text, '\n'))
			l.written <- err
		case <-p.exited:
			return
		}
	}
}

// over takes the end of what the server writes. In the stateless era, and before
// an era is known, nothing but what was under way is lost with a server, so that
// it is started again. It returns what requests that are under way end with.
func (s *stdio) over(p *pipes, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.pipes != p {
		return errServerGone
	}
	s.pipes = nil
	reason := errServerGone
	if !errors.Is(err, io.EOF) {
		reason = fmt.Errorf("cannot read from the server: %w", err)
	}
	revision := s.client.speaks()
	if revision != "" && revision < Revision20260728 || s.restarts >= maxRestarts || !s.client.part.restarts() {
		return reason
	}
	s.restarts++
	s.client.log.Printf("%v: it is started again", reason)
	s.end(p)
	if err := s.launch(s.client.ctx); err != nil {
		s.client.log.Printf("%v", err)
		return reason
	}
	return errRestarting
}

func (s *stdio) current() (*pipes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipes == nil {
		return nil, errServerGone
	}
	return s.pipes, nil
}

func (s *stdio) request(ctx context.Context, r *request) error {
	p, err := s.current()
	if err != nil {
		return err
	}
	s.client.mu.Lock()
	r.via = p
	s.client.mu.Unlock()
	err = p.put(ctx, r.message)
	r.unsent.Store(errors.Is(err, errUnsent))
	if err != nil && (ctx.Err() != nil || !within(drain, p.ended)) {
		return err
	}
	select {
	case <-p.ended: // lost may have run before r.via was set, so that it did not end r
		<-p.settled
		return p.fate
	default:
		return nil
	}
}

func (s *stdio) send(ctx context.Context, message []byte) error {
	p, err := s.current()
	if err != nil {
		return err
	}
	return p.put(ctx, message)
}

// errUnsent says that a message was given up before it was its turn to be written.
var errUnsent = errors.New("the message was not sent")

// put writes a message.
func (p *pipes) put(ctx context.Context, message []byte) error {
	l := line{message, make(chan error, 1)}
	select {
	case p.queue <- l:
	case <-p.exited:
		return errServerGone
	case <-ctx.Done():
		return errors.Join(errUnsent, context.Cause(ctx))
	}
	select {
	case err := <-l.written:
		return err
	case <-p.exited:
		return errServerGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *stdio) agreed(string) {}
func (s *stdio) hear()         {}

// knows tells whether a request went to the server that runs now, and not to one that has
// exited.
func (s *stdio) knows(r *request) bool {
	s.client.mu.Lock()
	via := r.via
	s.client.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return via == any(s.pipes) && !r.unsent.Load()
}

func (s *stdio) cancelsByClosing() bool { return false }

// close ends the server: its input first, and with it, if it is a good one, the
// server itself.
func (s *stdio) close() {
	s.mu.Lock()
	s.closing = true
	p := s.pipes
	s.mu.Unlock()
	if p != nil {
		s.client.part.shutDown(s, p)
	}
}

func (s *stdio) end(p *pipes) {
	patience := s.client.options.Timeouts.Exit
	if err := p.process.Close(); err != nil {
		s.client.log.Printf("cannot close the server's input: %v", err)
	}
	if within(patience, p.exited) {
		if !within(patience, p.ended) {
			_ = p.process.Kill() // what it has started holds on to its output
		}
		return
	}
	s.client.log.Printf("the server does not exit within %s of the end of its input: it is terminated", patience)
	if err := p.process.Terminate(); err != nil {
		s.client.log.Printf("cannot terminate the server: %v", err)
	}
	if within(patience, p.exited) {
		return
	}
	s.client.log.Printf("the server does not exit within %s of that either: it is killed", patience)
	if err := p.process.Kill(); err != nil {
		s.client.log.Printf("cannot kill the server: %v", err)
	}
	within(patience, p.exited)
}

// within tells whether something ends in time.
func within(patience time.Duration, end <-chan struct{}) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-end:
		return true
	case <-timer.C:
		return false
	}
}
