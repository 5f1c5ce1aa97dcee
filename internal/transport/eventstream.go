package transport

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/r3labs/sse/v2"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Event is one block of an event stream: the lines up to a blank one, whether
// or not a client would dispatch them. Fields are read as the HTML Standard
// says (server-sent events, interpreting an event stream), and what it says to
// ignore is told as well.
type Event struct {
	Raw          []byte   // the lines, each line end written as \n, without the blank one
	ID           *string  // the last valid id field; nil when there is none
	Name         string   // the last event field
	Data         []byte   // data fields, joined with \n
	HasData      bool     // there is a data field, even an empty one
	Retry        *int     // milliseconds; nil when there is no valid retry field
	RetryRaw     string   // the last retry field as it stood
	Comments     []string // in order
	Unknown      []string // lines with other fields
	Flaws        []string // what is malformed, in words
	Unterminated bool     // the stream ended before the blank line: a client drops the block
	Sequence     int      // of its event in the log
	End          string   // of the first line of the stream, as it came
	Marked       bool     // it is the first of a stream that begins with a byte order mark
}

// EndpointEvent is the name of the event that says where the messages of a stream of HTTP with
// SSE are posted.
const EndpointEvent = "endpoint"

// Text is the block as it came, with the blank line, where its lines end like the first
// of the stream.
func (e *Event) Text() []byte {
	text := bytes.ReplaceAll(append(bytes.Clone(e.Raw), "\n\n"...), []byte("\n"), []byte(e.End))
	if e.Marked {
		return append(bytes.Clone(byteOrderMark), text...)
	}
	return text
}

// Dispatched reports whether the block carries something that a client takes
// for a message: it is complete and its data is not empty. (The HTML Standard
// dispatches an empty data field too; in MCP that primes for reconnecting.)
func (e *Event) Dispatched() bool { return len(e.Data) > 0 && !e.Unterminated && !e.foreign() }

// foreign tells whether the event has another name than the one that events have without, and
// holds no message: it is not for an MCP client then. The specification says nothing of the
// names of events that hold one.
func (e *Event) foreign() bool {
	return e.Name != "" && e.Name != "message" && !bytes.Contains(e.Data, []byte(`"jsonrpc"`))
}

// maxRemarks bounds the comments, unknown fields and flaws of one block, and
// maxRemark the bytes of each; all of them are in Raw.
const (
	maxRemarks = 64
	maxRemark  = 1 << 10
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// parseEvent reads the fields of a block whose lines end in \n.
func parseEvent(block []byte) Event {
	event := Event{Raw: block}
	if !utf8.Valid(block) {
		event.flaw("contains bytes that are not UTF-8")
	}
	for line := range bytes.SplitSeq(block, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		field, value, colon := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case colon && len(field) == 0:
			event.Comments = remark(event.Comments, string(value))
		case string(field) == "data":
			event.data(value)
		case string(field) == "event":
			event.Name = string(value)
		case string(field) == "id":
			event.id(string(value))
		case string(field) == "retry":
			event.retry(string(value))
		default:
			event.Unknown = remark(event.Unknown, string(line))
		}
	}
	return event
}

// data adds a line. The first one shares Raw: most events have but one.
func (e *Event) data(value []byte) {
	if e.HasData {
		e.Data = append(append(e.Data, '\n'), value...)
		return
	}
	e.HasData = true
	if e.Data = slices.Clip(value); value == nil {
		e.Data = []byte{}
	}
}

func (e *Event) id(value string) {
	if strings.ContainsRune(value, 0) {
		e.flaw("an id field contains a NUL character and is ignored")
		return
	}
	e.ID = &value
}

func (e *Event) retry(value string) {
	e.RetryRaw = value
	digits := value != "" && strings.Trim(value, "0123456789") == ""
	milliseconds, err := strconv.Atoi(value)
	if !digits || err != nil {
		e.flaw(fmt.Sprintf("the retry field %.40q is not a number of milliseconds and is ignored", value))
		return
	}
	e.Retry = &milliseconds
}

func (e *Event) flaw(text string) { e.Flaws = remark(e.Flaws, text) }

func remark(remarks []string, text string) []string {
	if len(remarks) == maxRemarks {
		return remarks
	}
	if len(text) > maxRemark {
		text = text[:maxRemark]
	}
	return append(remarks, text)
}

// Record is the event as the transcript has it, but for its stream.
func (e *Event) Record() transcript.Event {
	flaws := e.Flaws
	for _, unknown := range e.Unknown {
		flaws = remark(flaws, fmt.Sprintf("unknown field in the line %q", unknown))
	}
	event := transcript.Event{
		From: protocol.Server, Kind: transcript.Block, Raw: e.Raw,
		SSE: &transcript.SSE{Comments: e.Comments, Flaws: flaws},
	}
	if e.Unterminated {
		return event // a client drops its fields, of which the last may be half of one
	}
	event.SSE.Name, event.SSE.Retry, event.SSE.HasData = field(e.Name), e.Retry, e.HasData
	if e.ID != nil {
		event.SSE.ID = new(field(*e.ID))
	}
	if e.Dispatched() {
		event.Kind, event.Raw = transcript.Message, e.Data
	}
	return event
}

// maxField bounds the bytes of an id or a name in a transcript, where they stand
// beside the message.
const maxField = 64 << 10

// field shortens a value such that different ones stay different.
func field(value string) string {
	if len(value) <= maxField {
		return value
	}
	return fmt.Sprintf("%s… (%d bytes, SHA-256 %x)", value[:maxField], len(value), sha256.Sum256([]byte(value)))
}

// EventReader splits the body of a response, an event stream, into blocks.
type EventReader struct {
	feed     *feed
	framing  *sse.EventStreamReader
	consumed int64 // bytes of the feed in the blocks so far
	limit    int
}

// NewEventReader reads a body whose events have at most limit bytes.
func NewEventReader(body io.Reader, limit int) *EventReader {
	feed := &feed{source: body, raw: make([]byte, readSize), lineStart: true}
	return &EventReader{feed: feed, framing: sse.NewEventStreamReader(feed, limit), limit: limit}
}

// Next returns the next block that has any line. The error is io.EOF at a
// clean end, ErrTooLarge, or that of the body; a block that the end cut comes
// before it.
func (s *EventReader) Next() (Event, error) {
	block, err := s.framing.ReadEvent()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		s.framing = nil // with its memory
		return Event{}, tooLarge("reading an event stream", "an event", s.limit)
	case errors.Is(err, io.EOF) && s.feed.err != nil:
		return Event{}, s.feed.err
	case err != nil:
		return Event{}, err
	}
	event := parseEvent(bytes.TrimSuffix(s.own(block), []byte("\n")))
	event.End, event.Marked = s.feed.end, s.feed.marked
	s.feed.marked = false
	// The reader gives what follows the last blank line as if it were complete.
	s.consumed += int64(len(block)) + int64(len("\n\n"))
	if event.Unterminated = s.consumed > s.feed.handed && s.feed.err != nil; event.Unterminated {
		event.flaw("the stream ended before the blank line that completes the event")
	}
	return event, nil
}

// own makes a block one that the reader does not write over: a copy, or, when it
// is long, its memory. The reader has nothing else in it: the feed hands over
// one block at a time.
func (s *EventReader) own(block []byte) []byte {
	if len(block) <= readSize {
		return bytes.Clone(block)
	}
	s.framing = sse.NewEventStreamReader(s.feed, s.limit)
	return slices.Clip(block)
}

// feed prepares an event stream for its framing. It writes every line end as
// \n (the reader does not know all combinations), and leaves out a byte order
// mark at the start and blank lines that end nothing. It hands over one whole
// block at a time, and holds back what grows an unfinished one by less than its
// size: the reader searches all that it has each time, which would be quadratic.
type feed struct {
	source io.Reader
	raw    []byte // to read into

	ready     []byte // prepared, not handed over
	whole     []int  // lengths of the whole blocks in it
	counted   int    // their sum
	open      int    // bytes handed over of a block that is not complete
	handed    int64  // bytes handed over in all
	beginning []byte // the first bytes, while they may be a byte order mark
	begun     bool
	lineStart bool   // nothing on the present line yet
	afterCR   bool   // a following \n belongs to the same line end
	inBlock   bool   // the present block has a line
	end       string // of the first line
	first     bool   // only one line has ended
	marked    bool   // the stream begins with a byte order mark, and nothing was read of it
	err       error
}

// heldBack bounds what is held back: an event of 64 MiB is searched twenty times.
const heldBack = 4 << 20

func (f *feed) Read(target []byte) (int, error) {
	for f.err == nil && len(f.whole) == 0 && len(f.ready) <= min(f.open, heldBack) {
		n, err := f.source.Read(f.raw)
		f.prepare(f.raw[:n])
		if f.err = err; err != nil && !f.begun {
			f.begun = true
			f.convert(f.beginning) // too short for a byte order mark
		}
	}
	if len(f.ready) == 0 {
		return 0, io.EOF // the scanner then gives its rest; next tells how it ended
	}
	if len(f.whole) == 0 {
		return f.hand(target, f.ready), nil
	}
	n := f.hand(target, f.ready[:f.whole[0]])
	f.counted -= n
	if f.whole[0] -= n; f.whole[0] == 0 {
		f.whole = f.whole[1:]
		f.open = 0
	}
	return n, nil
}

func (f *feed) hand(target, block []byte) int {
	n := copy(target, block)
	if f.ready = f.ready[n:]; len(f.ready) == 0 {
		f.ready = nil
	}
	f.handed += int64(n)
	f.open += n
	return n
}

func (f *feed) prepare(raw []byte) {
	if f.begun {
		f.convert(raw)
		return
	}
	f.beginning = append(f.beginning, raw...)
	if len(f.beginning) < len(byteOrderMark) && bytes.HasPrefix(byteOrderMark, f.beginning) {
		return
	}
	f.begun = true
	f.marked = bytes.HasPrefix(f.beginning, byteOrderMark)
	f.convert(bytes.TrimPrefix(f.beginning, byteOrderMark))
	f.beginning = nil
}

func (f *feed) convert(raw []byte) {
	for len(raw) > 0 {
		if f.afterCR && raw[0] == '\n' {
			raw = raw[1:]
			f.afterCR = false
			if f.first {
				f.end = "\r\n"
			}
			continue
		}
		f.afterCR = false
		end := bytes.IndexAny(raw, "\r\n")
		if end < 0 {
			f.ready = append(f.ready, raw...)
			f.lineStart, f.inBlock = false, true
			return
		}
		f.line(raw[:end])
		f.afterCR = raw[end] == '\r'
		if f.first = f.end == ""; f.first {
			f.end = string(raw[end])
		}
		raw = raw[end+1:]
	}
}

// line takes the rest of a line, or a whole one, that ends.
func (f *feed) line(text []byte) {
	blank := f.lineStart && len(text) == 0
	f.lineStart = true
	if blank && !f.inBlock {
		return
	}
	f.ready = append(append(f.ready, text...), '\n')
	if f.inBlock = !blank; blank {
		f.whole = append(f.whole, len(f.ready)-f.counted)
		f.counted = len(f.ready)
	}
}
