package record

import (
	"errors"
	"io"
	"net/http"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/tap"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

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

// recordBody writes a body down, or the beginning of one that is longer than the limit, or was cut
// off.
func (e *exchange) recordBody(from protocol.Party, body []byte, cut bool) {
	if len(body) == 0 {
		return
	}
	size, limit := len(body), e.http.options.Limits.Message
	if size > limit {
		body, cut = body[:min(tap.Shown, limit)], false
	}
	e.record(tap.Body(from, e.request.Method, e.status, body, size, cut))
}

// recordEvent writes an event down. One that names the endpoint of HTTP with SSE says which
// POSTs belong to its stream.
func (e *exchange) recordEvent(event *transport.Event) {
	if e.request.Method == http.MethodGet && event.Name == transport.EndpointEvent && !event.Unterminated {
		if at, err := e.request.URL.Parse(string(event.Data)); err == nil {
			e.http.sessions.endpoint(at, e.connection)
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

// tapping is told what passes unread, piece by piece, before it is passed on.
type tapping interface {
	Take(piece []byte)
	End(err error) // nil when all has come; after the end it does nothing
}

// tapOf returns what records the body of a response.
func (e *exchange) tapOf(response *http.Response) tapping {
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

func (deaf) Take([]byte) {}
func (deaf) End(error)   {}

// bodyTap records a body as one message.
type bodyTap struct {
	expected int64 // bytes; -1 when it is not known
	limit    int
	size     int64
	body     []byte
	tell     func(body []byte, cut bool)
	reported bool
}

func (e *exchange) bodyTap(from protocol.Party, expected int64) *bodyTap {
	return &bodyTap{expected: expected, limit: e.http.options.Limits.Message,
		tell: func(body []byte, cut bool) { e.recordBody(from, body, cut) }}
}

func (b *bodyTap) Take(piece []byte) {
	b.size += int64(len(piece))
	if budget := b.limit + 1 - len(b.body); budget > 0 {
		b.body = append(b.body, piece[:min(budget, len(piece))]...)
	}
	if b.size == b.expected { // the other side may answer before the end is seen
		b.End(nil)
	}
}

func (b *bodyTap) End(err error) {
	if !b.reported {
		b.tell(b.body, err != nil)
		b.reported, b.body = true, nil
	}
}

// tapped is a body that is recorded while it is read.
type tapped struct {
	io.Reader
	tap tapping
}

func (t *tapped) Read(target []byte) (int, error) {
	n, err := t.Reader.Read(target)
	t.tap.Take(target[:n])
	if errors.Is(err, io.EOF) {
		t.tap.End(nil)
	} else if err != nil {
		t.tap.End(err)
	}
	return n, err
}

// eventTap tells the blocks of an event stream, each as soon as it is complete.
func (e *exchange) eventTap(tell func(*transport.Event)) *tap.Reader {
	return tap.Read(func(source io.Reader) {
		reader := transport.NewEventReader(source, e.http.options.Limits.Message)
		for event, err := reader.Next(); err == nil; event, err = reader.Next() {
			tell(&event)
		}
	})
}

// lineTap records lines, each as one message.
func (s *stdio) lineTap(way Direction) *tap.Lines {
	from := protocol.Client
	if way == Out {
		from = protocol.Server
	}
	return &tap.Lines{From: from, Limit: s.limit, Tell: s.record}
}
