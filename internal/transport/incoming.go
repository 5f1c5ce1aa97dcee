package transport

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Incoming is one HTTP exchange as a server sees it: the request that came, and total
// control of the response. It may be answered from several goroutines, one write after
// the other. Finish answers it if nothing else has.
type Incoming struct {
	Request *http.Request
	Body    []byte // of the request; what is beyond the limit is missing
	TooLong bool   // the body was longer than the limit
	Aside   bool   // the body is no message of what is recorded
	Piece   int    // what is written is so in pieces of so many bytes; 0: whole

	log    *transcript.Log
	stream string

	mu        sync.Mutex
	writer    http.ResponseWriter
	begun     bool // the head of the response is written
	streaming bool // it is an event stream
	over      bool // nothing more can be written
	cut       atomic.Bool
	done      chan struct{}
}

// NewIncoming reads a request, of whose body at most so many bytes are kept. The
// error is that of reading it: the client has left, or does not frame it as HTTP
// says.
func NewIncoming(w http.ResponseWriter, r *http.Request, limits Limits) (*Incoming, error) {
	limits = limits.orDefault()
	body, err := readBody(
		http.MaxBytesReader(w, r.Body, int64(limits.Message)),
		min(r.ContentLength, int64(limits.Message)),
	)
	incoming := &Incoming{Request: r, Body: body, writer: w, done: make(chan struct{})}
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		incoming.TooLong, err = true, nil
	}
	return incoming, err
}

// readBody reads a body of which the length may be known: then it takes no more memory
// than that.
func readBody(body io.Reader, length int64) ([]byte, error) {
	text := bytes.NewBuffer(make([]byte, 0, max(0, length)+bytes.MinRead))
	_, err := text.ReadFrom(body)
	return text.Bytes(), err
}

// Record writes the request into a log, and from now on everything else, under the
// name of a stream.
func (i *Incoming) Record(log *transcript.Log, stream string) {
	i.log, i.stream = log, stream
	header := i.Request.Header.Clone()
	header.Set("Host", i.Request.Host)
	i.append(transcript.Event{Kind: transcript.Head, From: protocol.Client, HTTP: &transcript.HTTP{
		Method: i.Request.Method, URL: "http://" + i.Request.Host + i.Request.URL.RequestURI(), Header: header,
	}})
	if len(i.Body) == 0 {
		return
	}
	event := transcript.Event{Kind: transcript.Message, From: protocol.Client, Raw: i.Body}
	if i.Aside {
		event.Kind = transcript.Body
	}
	if i.TooLong {
		event.Size = len(i.Body) + 1
		event.Note = "the body is longer than the harness accepts"
	}
	event.Stream = i.stream
	i.log.Keep(event) // the body does not change any more
}

func (i *Incoming) append(event transcript.Event) {
	if i.log != nil {
		event.Stream = i.stream
		i.log.Append(event)
	}
}

// Stream is the name under which the exchange is recorded.
func (i *Incoming) Stream() string { return i.stream }

// Gone is closed when the client has left, or the exchange is over.
func (i *Incoming) Gone() <-chan struct{} { return i.Request.Context().Done() }

// Done is closed when the exchange is over.
func (i *Incoming) Done() <-chan struct{} { return i.done }

// Begun tells whether the head of the response is written.
func (i *Incoming) Begun() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.begun
}

// Streaming tells whether the response is an event stream that goes on.
func (i *Incoming) Streaming() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.streaming && !i.over
}

// Head writes the head of the response. The second one is not written. The names of
// headers are written as they are given, and recorded in their usual form.
func (i *Incoming) Head(status int, header map[string]string, deliberate string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.head(status, header, deliberate)
}

func (i *Incoming) head(status int, header map[string]string, deliberate string) {
	if i.begun || i.over {
		return
	}
	i.begun = true
	said := i.writer.Header().Clone()
	for name, value := range header {
		canonical := http.CanonicalHeaderKey(name)
		said[canonical] = []string{value}
		i.writer.Header()[canonical] = nil // or it would be guessed
		i.writer.Header()[name] = []string{value}
	}
	mediaType, _, _ := mime.ParseMediaType(said.Get("Content-Type"))
	i.streaming = mediaType == eventStreamType && status < http.StatusMultipleChoices
	i.append(transcript.Event{Kind: transcript.Head, From: protocol.Server, Deliberate: deliberate,
		HTTP: &transcript.HTTP{Status: status, Header: said}})
	i.writer.WriteHeader(status)
	if i.streaming {
		i.flush()
	}
}

// flush sends what is written. An error means that the client has left, which the
// context of the request tells.
func (i *Incoming) flush() { _ = http.NewResponseController(i.writer).Flush() }

// Answer writes a whole response whose body is a message, or none when it is nil.
func (i *Incoming) Answer(status int, header map[string]string, message []byte, deliberate string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.begun || i.over {
		return
	}
	if message != nil && !hasHeader(header, "Content-Type") {
		i.writer.Header().Set("Content-Type", "application/json")
	}
	i.head(status, header, deliberate)
	if message != nil {
		i.append(transcript.Event{
			Kind: transcript.KindOfBody(i.Request.Method, status, message),
			From: protocol.Server, Raw: message, Deliberate: deliberate,
		})
		_ = i.write(message) // the client may have left
	}
	i.finish(transcript.Complete)
}

// hasHeader tells whether there is a header of a name; case is ignored.
func hasHeader(header map[string]string, name string) bool {
	for given := range header {
		if strings.EqualFold(given, name) {
			return true
		}
	}
	return false
}

// Write writes bytes of an event stream as they are, and begins it if it has not
// begun. They are recorded as the events that they hold. It reports false when
// nothing more can be written.
func (i *Incoming) Write(text []byte, deliberate string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.head(http.StatusOK, map[string]string{"Content-Type": eventStreamType, "Cache-Control": "no-store"}, "")
	if i.over || !i.streaming || i.Request.Context().Err() != nil {
		return false
	}
	i.record(text, deliberate)
	err := i.write(text)
	i.flush()
	return err == nil
}

// WritePiece writes some bytes of an event stream, however they cut its events, lines
// and letters, and records the events of which they are the end, which are given whole.
func (i *Incoming) WritePiece(piece, events []byte) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.head(http.StatusOK, map[string]string{"Content-Type": eventStreamType, "Cache-Control": "no-store"}, "")
	if i.over || !i.streaming || i.Request.Context().Err() != nil {
		return false
	}
	i.record(events, "")
	_, err := i.writer.Write(piece)
	i.flush()
	return err == nil
}

// write writes bytes, in pieces where that is wanted, each of which goes out alone.
func (i *Incoming) write(text []byte) error {
	if i.Piece == 0 {
		_, err := i.writer.Write(text)
		return err
	}
	for piece := range slices.Chunk(text, i.Piece) {
		if _, err := i.writer.Write(piece); err != nil {
			return err
		}
		i.flush()
	}
	return nil
}

func (i *Incoming) record(text []byte, deliberate string) {
	blocks := NewEventReader(bytes.NewReader(text), len(text)+1)
	for {
		block, err := blocks.Next()
		if err != nil {
			return // all of it is read
		}
		event := block.Record()
		event.Deliberate = deliberate
		i.append(event)
	}
}

// Finish ends the response in good order: with 202 Accepted when it has not begun.
func (i *Incoming) Finish() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.head(http.StatusAccepted, nil, "")
	i.finish(transcript.Complete)
}

// Cut breaks the connection, even while another goroutine writes to a client that does
// not read.
func (i *Incoming) Cut() {
	i.cut.Store(true)
	_ = http.NewResponseController(i.writer).SetWriteDeadline(time.Unix(1, 0)) // fails where writes cannot block
	i.mu.Lock()
	defer i.mu.Unlock()
	i.finish(connectionCut)
}

const connectionCut = "the server cut the connection"

// Left records that the client has left an exchange that was not over.
func (i *Incoming) Left() {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.cut.Load():
		i.finish(connectionCut) // which is why the client is gone
	case !i.over:
		i.over = true
		i.append(transcript.Event{Kind: transcript.End, From: protocol.Client, Note: transcript.ClientLeft})
		close(i.done)
	}
}

func (i *Incoming) finish(note string) {
	if i.over {
		return
	}
	i.over = true
	i.append(transcript.Event{Kind: transcript.End, From: protocol.Server, Note: note})
	close(i.done)
}

// Serve keeps the exchange open until it is over or the client has left. It is the
// last that the handler of the request does.
func (i *Incoming) Serve() {
	select {
	case <-i.done:
	case <-i.Request.Context().Done():
		i.Left()
	}
	i.mu.Lock()
	defer i.mu.Unlock() // a write after the handler has returned is not allowed
	if i.cut.Load() {
		panic(http.ErrAbortHandler)
	}
}

// EventText writes one event of a stream: an id and a name where they are given,
// and the data, which may have several lines; no data field when it is nil.
func EventText(id *string, name string, data []byte) []byte {
	return (&transcript.SSE{ID: id, Name: name, HasData: data != nil}).Text(data)
}
