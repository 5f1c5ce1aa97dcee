// Package tap reads what passes between two peers piece by piece, as it comes, and makes events of
// a record of it. It holds nothing up, and keeps of what is too long the beginning.
package tap

import (
	"bytes"
	"io"
	"iter"
	"net/http"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Shown is how much is recorded of what is too long for a message, in bytes.
const Shown = 4 << 10

// Reader is a reader as a coroutine: it is given what there is, and waits for more.
type Reader struct {
	piece []byte
	err   error // at the end
	more  func() (struct{}, bool)
	over  func()
	ended bool
}

// Read runs a function that reads what the Reader is given. End must be called.
func Read(read func(io.Reader)) *Reader {
	r := &Reader{}
	r.more, r.over = iter.Pull(func(yield func(struct{}) bool) {
		read(readerFunc(func(target []byte) (int, error) {
			for len(r.piece) == 0 {
				if r.ended || !yield(struct{}{}) {
					return 0, r.err
				}
			}
			n := copy(target, r.piece)
			r.piece = r.piece[n:]
			return n, nil
		}))
	})
	r.more() // to where it waits for the first piece
	return r
}

// Take gives it a piece, which is read when Take returns.
func (r *Reader) Take(piece []byte) {
	r.piece = piece
	r.more()
}

// End says that nothing more comes: nil after a good end. After the end it does nothing.
func (r *Reader) End(err error) {
	if err == nil {
		err = io.EOF
	}
	r.ended, r.err = true, err
	r.more()
	r.over()
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(target []byte) (int, error) { return f(target) }

// Lines tells each line over stdio as one message.
type Lines struct {
	From  protocol.Party
	Limit int // of what is kept of a line, in bytes
	Tell  func(transcript.Event)

	line     []byte
	size     int  // of the line, which may be longer than what is kept
	skipping bool // to the next newline: the beginning of this line is lost
}

// Take takes a piece.
func (l *Lines) Take(piece []byte) {
	for len(piece) > 0 {
		line, rest, ended := bytes.Cut(piece, []byte("\n"))
		l.size += len(line)
		if room := l.Limit - len(l.line); room > 0 && !l.skipping {
			l.line = append(l.line, line[:min(room, len(line))]...)
		}
		if !ended {
			return
		}
		l.flush("")
		piece = rest
	}
}

// End says that nothing more comes.
func (l *Lines) End(error) {
	if l.size > 0 {
		l.flush("not ended by a newline")
	}
}

// Skip says that something is missing here.
func (l *Lines) Skip() { l.line, l.size, l.skipping = nil, 0, true }

func (l *Lines) flush(note string) {
	event := transcript.Event{
		Kind: transcript.Message, Stream: protocol.Stdio, From: l.From, Raw: l.line, Note: note,
	}
	size, skipped := l.size, l.skipping
	l.line, l.size, l.skipping = nil, 0, false
	if size > len(event.Raw) {
		event.Raw, event.Size = event.Raw[:min(Shown, len(event.Raw))], size
		event.Note = "the beginning of a line that is too long"
	}
	if !skipped {
		l.Tell(event)
	}
}

// Body is the event of a body over HTTP: a message, or what stands where one belongs. size is how
// long it was, of which the beginning may have been kept; cut says that its end did not come.
func Body(from protocol.Party, method string, status int, body []byte, size int, cut bool) transcript.Event {
	event := transcript.Event{Kind: transcript.Message, From: from, Raw: body}
	switch {
	case cut:
		event.Kind, event.Note = transcript.Body, "cut off"
	case from == protocol.Server:
		event.Kind = transcript.KindOfBody(method, status, body)
	case method != http.MethodPost:
		event.Kind = transcript.Body
	}
	if size > len(body) {
		event.Size, event.Note = size, "the beginning of a body that is too long"
	}
	return event
}
