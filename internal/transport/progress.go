package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// Progress tells how far the answer to a request has come, so that one which
// never becomes whole can be told from one which never begins. It may be asked
// while the exchange is under way; the zero value is ready for use.
type Progress struct {
	mu     sync.Mutex
	wire   *came // since the request; nil where the bytes are encrypted
	status int   // of the head, once it is there
	body   *came
}

// String says what came, with the beginning of it, or "" when nothing is known.
func (p *Progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.status != 0:
		return fmt.Sprintf("HTTP %d came, and %s", p.status, p.body.of("its body"))
	case p.wire == nil:
		return ""
	}
	return "what came is " + p.wire.of("a response's head")
}

// begin tells what comes on the connection from now on.
func (p *Progress) begin(wire *came) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wire, p.status, p.body = wire, 0, nil
}

func (p *Progress) head(status int, body *came) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.body = status, body
}

// came is what came from the server in some place: how much, and how it began.
type came struct {
	mu        sync.Mutex
	beginning []byte
	length    int64
	last      byte
	ended     bool
}

// told is how much of what came is shown: enough to recognise it.
const told = 200

func (c *came) note(piece []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if budget := told - len(c.beginning); budget > 0 {
		c.beginning = append(c.beginning, piece[:min(budget, len(piece))]...)
	}
	if len(piece) > 0 {
		c.last = piece[len(piece)-1]
	}
	c.length += int64(len(piece))
	c.ended = c.ended || errors.Is(err, io.EOF)
}

// of says how much of something came, for instance `12 bytes of the body
// ("HTTP/1.1 200")` or "nothing of the body".
func (c *came) of(what string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.length == 0:
		return "nothing of " + what
	case c.length > int64(len(c.beginning)):
		return fmt.Sprintf("%d bytes of %s (beginning with %q)", c.length, what, c.beginning)
	}
	return fmt.Sprintf("%d bytes of %s (%q)", c.length, what, c.beginning)
}

func (c *came) empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.length == 0
}

// cutOff tells whether it is HTTP that ended within a line.
func (c *came) cutOff() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended && c.last != '\n' && bytes.HasPrefix(c.beginning, []byte("HTTP/"))
}

// notedBody is a body of which is noted what came.
type notedBody struct {
	io.ReadCloser
	came *came
}

func (b *notedBody) Read(target []byte) (int, error) {
	n, err := b.ReadCloser.Read(target)
	b.came.note(target[:n], err)
	return n, err
}

// openLine is told what comes, and keeps what came of the line that has not
// ended.
type openLine struct {
	mu   sync.Mutex
	came *came
}

func (o *openLine) Write(piece []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := piece
	if end := bytes.LastIndexByte(piece, '\n'); end >= 0 {
		o.came, rest = &came{}, piece[end+1:]
	}
	o.came.note(rest, nil)
	return len(piece), nil
}

func (o *openLine) line() *came {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.came
}

// tapped is a connection of which is noted what comes in answer to the request
// that is on it.
type tapped struct {
	net.Conn
	answer atomic.Pointer[came]
}

func (t *tapped) Read(target []byte) (int, error) {
	n, err := t.Conn.Read(target)
	if answer := t.answer.Load(); answer != nil {
		answer.note(target[:n], err)
	}
	return n, err
}

// tap begins to note what comes on a connection; nil where it is encrypted.
func tap(conn net.Conn) *came {
	plain, ok := conn.(*tapped)
	if !ok {
		return nil
	}
	answer := &came{}
	plain.answer.Store(answer)
	return answer
}

// tracing follows one request.
type tracing struct {
	// The trace may still be called when the request is given up.
	answered atomic.Bool
	wire     atomic.Pointer[came]
	progress *Progress
}

func (t *tracing) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			wire := tap(got.Conn)
			t.wire.Store(wire)
			if t.progress != nil {
				t.progress.begin(wire)
			}
		},
		GotFirstResponseByte: func() { t.answered.Store(true) },
	}
}
