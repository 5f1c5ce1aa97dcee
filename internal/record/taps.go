package record

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"net/http"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// shownOfLong is how much is recorded of what is too long for a message.
const shownOfLong = 4 << 10

// record writes an event of an exchange down, if its connection is recorded.
func (e *exchange) record(event transcript.Event) {
	if e.connection.log != nil {
		event.Stream = e.stream
		e.connection.log.Append(event)
	}
}

func (e *exchange) recordHead(from protocol.Party, head *transcript.HTTP) {
	e.record(transcript.Event{Kind: transcript.Head, From: from, HTTP: head})
	e.status = head.Status
}

// portion is how much of a body there is to write down.
type portion int

const (
	wholeBody   portion = iota
	cutBody             // the beginning of one that was cut off
	tooLongBody         // the beginning of one that is too long
)

// note says so in words.
func (p portion) note() string {
	switch p {
	case cutBody:
		return "cut off"
	case tooLongBody:
		return "the beginning of a body that is too long"
	}
	return ""
}

// recordBody writes a body down, or the beginning of one and why it is no more.
func (e *exchange) recordBody(from protocol.Party, body []byte, recorded portion) {
	event := transcript.Event{Kind: transcript.Message, From: from, Raw: body, Note: recorded.note()}
	switch {
	case recorded == cutBody:
		event.Kind = transcript.Body
	case from == protocol.Server:
		event.Kind = transcript.KindOfBody(e.request.Method, e.status, body)
	}
	if recorded == tooLongBody {
		event.Raw, event.Size = body[:min(shownOfLong, len(body))], len(body)
	}
	if len(body) > 0 {
		e.record(event)
	}
}

// recordEvent writes an event down. One that names the endpoint of HTTP with SSE says which
// POSTs belong to its stream.
func (e *exchange) recordEvent(event *transport.Event) {
	if e.request.Method == http.MethodGet && event.Name == transport.EndpointEvent && !event.Unterminated {
		if at, err := e.request.URL.Parse(string(event.Data)); err == nil {
			e.http.sessions.alias(postedTo(at), e.connection)
		}
	}
	e.record(event.Record())
}

// recordEnd writes down how the answer of the target ended, once.
func (e *exchange) recordEnd(err error) {
	if e.ended {
		return
	}
	e.ended = true
	note := transcript.Complete
	switch {
	case e.request.Context().Err() != nil && err != nil:
		note = transcript.ClientLeft
	case err != nil && !errors.Is(err, errClosed):
		note = err.Error()
	case !e.answered:
		note = "answered in the place of the target"
	}
	e.record(transcript.Event{Kind: transcript.End, From: protocol.Server, Note: note})
}

// tap is told what passes unread, piece by piece, before it is passed on.
type tap interface {
	take(piece []byte)
	end()  // all of it has come
	stop() // no more is read; after the end it does nothing
}

// tapOf returns what records the body of a response.
func (e *exchange) tapOf(response *http.Response) tap {
	switch {
	case e.connection.log == nil:
		return deaf{}
	case transport.MediaType(response.Header.Get("Content-Type")) == eventStreamMedia:
		return e.eventTap(e.recordEvent)
	}
	return e.bodyTap(protocol.Server, response.ContentLength)
}

// deaf records nothing.
type deaf struct{}

func (deaf) take([]byte) {}
func (deaf) end()        {}
func (deaf) stop()       {}

// bodyTap records a body as one message.
type bodyTap struct {
	expected int64 // bytes; -1 when it is not known
	limit    int
	size     int64
	body     []byte
	tell     func(body []byte, recorded portion)
	reported bool
}

func (e *exchange) bodyTap(from protocol.Party, expected int64) *bodyTap {
	return &bodyTap{expected: expected, limit: e.http.options.Limits.Message,
		tell: func(body []byte, recorded portion) { e.recordBody(from, body, recorded) }}
}

func (b *bodyTap) take(piece []byte) {
	b.size += int64(len(piece))
	if budget := b.limit + 1 - len(b.body); budget > 0 {
		b.body = append(b.body, piece[:min(budget, len(piece))]...)
	}
	if b.size == b.expected { // the other side may answer before the end is seen
		b.end()
	}
}

func (b *bodyTap) end() { b.tellOnce(wholeBody) }

func (b *bodyTap) stop() { b.tellOnce(cutBody) }

func (b *bodyTap) tellOnce(recorded portion) {
	if b.reported {
		return
	}
	if b.reported = true; len(b.body) > b.limit {
		recorded = tooLongBody
	}
	b.tell(b.body, recorded)
	b.body = nil
}

// tapped is a body that is recorded while it is read.
type tapped struct {
	io.Reader
	tap tap
}

func (t *tapped) Read(target []byte) (int, error) {
	n, err := t.Reader.Read(target)
	t.tap.take(target[:n])
	if errors.Is(err, io.EOF) {
		t.tap.end()
	} else if err != nil {
		t.tap.stop()
	}
	return n, err
}

// eventTap tells the blocks of an event stream, each as soon as it is complete.
// The reader of blocks runs as a coroutine that takes what is there and then waits
// for more.
type eventTap struct {
	piece []byte
	more  func() (struct{}, bool)
	over  func()
}

func (e *exchange) eventTap(tell func(*transport.Event)) *eventTap {
	t := &eventTap{}
	over := false
	t.more, t.over = iter.Pull(func(yield func(struct{}) bool) {
		source := readerFunc(func(target []byte) (int, error) {
			for len(t.piece) == 0 && !over {
				over = !yield(struct{}{})
			}
			n := copy(target, t.piece)
			if t.piece = t.piece[n:]; n == 0 {
				return 0, io.EOF
			}
			return n, nil
		})
		reader := transport.NewEventReader(source, e.http.options.Limits.Message)
		for {
			event, err := reader.Next()
			if err != nil {
				return
			}
			tell(&event)
		}
	})
	t.more() // to where it waits for the first piece
	return t
}

func (t *eventTap) take(piece []byte) {
	if len(piece) > 0 {
		t.piece = piece
		t.more()
	}
}

func (t *eventTap) end() { t.over() }

func (t *eventTap) stop() { t.over() }

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(target []byte) (int, error) { return f(target) }

// lineTap records lines, each as one message.
type lineTap struct {
	limit int
	line  []byte
	size  int // of the line, which may be longer than what is kept
	tell  func(line []byte, size int, ended bool)
}

func (s *stdio) lineTap(way Direction) *lineTap {
	from := protocol.Client
	if way == Out {
		from = protocol.Server
	}
	return &lineTap{limit: s.limit, tell: func(line []byte, size int, ended bool) {
		event := transcript.Event{Kind: transcript.Message, From: from, Raw: line}
		switch {
		case size > len(line):
			event.Raw, event.Size = line[:min(shownOfLong, len(line))], size
			event.Note = "the beginning of a line that is too long"
		case !ended:
			event.Note = "not ended by a newline"
		}
		s.record(event)
	}}
}

func (l *lineTap) take(piece []byte) {
	for len(piece) > 0 {
		line, rest, ended := bytes.Cut(piece, []byte(newline))
		l.size += len(line)
		if budget := l.limit - len(l.line); budget > 0 {
			l.line = append(l.line, line[:min(budget, len(line))]...)
		}
		if !ended {
			return
		}
		l.tell(l.line, l.size, true)
		l.line, l.size = nil, 0
		piece = rest
	}
}

func (l *lineTap) end() {
	if l.size > 0 {
		l.tell(l.line, l.size, false)
		l.line, l.size = nil, 0
	}
}

func (l *lineTap) stop() { l.end() }
