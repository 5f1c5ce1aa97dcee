// Page basic/transports, "stdio": one message per line, in and out.

package server

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
	pipeQueue  = 64                     // messages that wait to be written: enough to smooth, too few to hoard
	pipeStall  = 10 * time.Second       // a client that reads nothing for so long is gone
	pipeFinish = 500 * time.Millisecond // for writing what is ready when the session ends
)

var errStalled = errors.New("the client does not read what the server writes")

// ServeStdio serves one client, which writes to in and reads from out, until
// in ends, out fails, or ctx ends. What is ready then is still written, what
// is being worked on is dropped. A Read of in may be under way when it returns:
// the caller ends it by closing in.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	p := &pipe{queue: make(chan []byte, pipeQueue), broken: make(chan struct{}), flushed: make(chan struct{})}
	client := &stdioClient{s, s.newSession(p, func() bool { return true }), s.stateless.connect()}
	go p.write(out)
	lines := make(chan line)
	go readLines(client.session.ctx, bufio.NewReader(in), lines)

	err := client.read(ctx, p, lines)
	client.session.stop()
	client.connection.stop()
	return errors.Join(err, p.finish(&client.session.running, &client.connection.running))
}

// A stdioClient is the client at the other end of the pipes, in both eras: what
// it sends belongs to its one session, unless it says that it does not.
type stdioClient struct {
	server     *Server
	session    *session
	connection *connection
}

// read takes lines until there are no more.
func (s *stdioClient) read(ctx context.Context, p *pipe, lines <-chan line) error {
	for {
		select {
		case l := <-lines:
			if errors.Is(l.err, io.EOF) {
				return nil
			}
			if l.err != nil && !errors.Is(l.err, errTooLong) {
				return fmt.Errorf("cannot read from the client: %w", l.err)
			}
			s.readLine(l, p)
		case <-p.broken:
			return nil // finish says why
		case <-ctx.Done():
			return nil
		}
	}
}

// readLine takes one line.
func (s *stdioClient) readLine(l line, p *pipe) {
	if isBatch(l.text) && s.session.hasBatches() {
		if members, malformed := parseBatch(l.text); malformed != nil {
			p.send(encodeError(s.session.speaks(), "", malformed))
		} else {
			s.session.takeBatch(members, p)
		}
		return
	}
	m, malformed := parseMessage(l.text)
	if l.err != nil {
		malformed = invalidRequest("%v", l.err)
	}
	switch {
	case malformed != nil && m.kind != request:
		s.session.logf("ignored: %v", malformed) // neither responses nor notifications are answered
	case malformed != nil:
		p.send(encodeError(s.session.speaks(), m.id, malformed))
	case m.kind == request && m.method == "initialize" && len(s.server.handshake) == 0:
		p.send(encodeError(Revision20260728, m.id, s.server.noHandshake()))
	case m.kind == request && s.server.isStateless(m, nil):
		s.connection.begin(m, p)
	case m.kind == request:
		s.session.begin(m, p)
	default:
		if m.method == "notifications/cancelled" {
			s.connection.cancelled(m.params) // which knows only requests without a session
		}
		s.session.take(m)
	}
}

type line struct {
	text []byte
	err  error
}

var errTooLong = fmt.Errorf("a message must not be longer than %d bytes", maxMessage)

// readLines reads lines until a read fails or ctx ends. It skips empty lines, and drops what
// comes after the last newline.
func readLines(ctx context.Context, in *bufio.Reader, lines chan<- line) {
	for {
		text, err := readLine(in, maxMessage)
		if err == nil && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		select {
		case lines <- line{text, err}:
		case <-ctx.Done():
			return
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
	}
}

// readLine reads up to a newline. Of a line longer than most it keeps nothing,
// and returns errTooLong.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var text []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		tooLong = tooLong || len(text)+len(part) > most+1
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

// A pipe is the outlet of stdio.
type pipe struct {
	queue   chan []byte // nil is the end
	broken  chan struct{}
	flushed chan struct{} // closed when write has returned
	once    sync.Once
	failure error // why it is broken, once broken is closed
}

func (p *pipe) send(message []byte) bool {
	stall := time.NewTimer(pipeStall)
	defer stall.Stop()
	select {
	case p.queue <- message:
		return true
	case <-p.broken:
		return false
	case <-stall.C:
		p.fail(errStalled)
		return false
	}
}

// close does nothing: the pipe outlives every request.
func (p *pipe) close() {}

func (p *pipe) fail(err error) {
	p.once.Do(func() {
		p.failure = err
		close(p.broken)
	})
}

// write writes messages until the end of the queue, or until that fails.
func (p *pipe) write(out io.Writer) {
	defer close(p.flushed)
	for {
		select {
		case message := <-p.queue:
			if message == nil {
				return
			}
			if _, err := out.Write(append(message, '\n')); err != nil {
				p.fail(fmt.Errorf("cannot write to the client: %w", err))
				return
			}
		case <-p.broken:
			return
		}
	}
}

// finish waits, for at most pipeFinish, until all goroutines have returned and everything is
// written.
func (p *pipe) finish(running ...*sync.WaitGroup) error {
	deadline := time.AfterFunc(pipeFinish, func() { p.fail(errStalled) })
	defer deadline.Stop()
	idle := make(chan struct{})
	go func() {
		for _, group := range running {
			group.Wait()
		}
		close(idle)
	}()
	select {
	case <-idle:
		p.send(nil)
	case <-p.broken:
	}
	select {
	case <-p.flushed:
	case <-p.broken:
	}
	select {
	case <-p.broken:
		return p.failure
	default:
		return nil
	}
}
