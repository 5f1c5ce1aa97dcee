package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// line is an event as a JSON line. Bytes that are text are written as such, so
// that a transcript can be read with ordinary tools, others in base64.
type line struct {
	Connection string         `json:"connection"`
	Sequence   int            `json:"sequence"`
	At         time.Time      `json:"at"`
	Stream     string         `json:"stream,omitempty"`
	From       protocol.Party `json:"from,omitempty"`
	Kind       Kind           `json:"kind"`
	Raw        *text          `json:"raw,omitempty"`
	Raw64      []byte         `json:"raw64,omitempty"`
	Size       int            `json:"size,omitempty"`
	HTTP       *HTTP          `json:"http,omitempty"`
	SSE        *SSE           `json:"sse,omitempty"`
	Note       string         `json:"note,omitempty"`
	Deliberate string         `json:"deliberate,omitempty"`
	Made       string         `json:"made,omitempty"`
}

// agreed is a line of its own that says what became known.
type agreed struct {
	Agreed *Agreement `json:"agreed"`
}

// text is a JSON string that is read into bytes at once.
type text []byte

// MarshalJSON writes the string.
func (t text) MarshalJSON() ([]byte, error) { return jsontext.AppendQuote(nil, t) }

// UnmarshalJSON reads it.
func (t *text) UnmarshalJSON(quoted []byte) error {
	if string(quoted) == "null" {
		return nil
	}
	unquoted, err := jsontext.AppendUnquote(make([]byte, 0, len(quoted)), quoted)
	*t = unquoted
	return err
}

// Bounds of what is read: a transcript may come from anywhere. What Write writes
// of a Log is within them.
const (
	maxFrame  = 4 << 20                           // bytes of a line beside those of a message
	maxLine   = 2*(MaxBytes+maxBeyond) + maxFrame // bytes; see isWordy
	maxEvents = 8 * MaxEvents                     // however they were recorded
	maxWeight = 5 * (MaxBytes + maxBeyond)        // bytes of all lines and of what is kept of them
)

// Write writes the events of one connection as JSON lines, behind a header line. What
// it knows of the header itself, it fills in. Tools for which a header has no room
// are left out.
func Write(w io.Writer, header Header, events []Event) error {
	header.Events = len(events)
	writer, err := NewWriter(w, header)
	for i := 0; err == nil && i < len(events); i++ {
		err = writer.Event(events[i])
	}
	return err
}

// Writer writes a transcript while it grows. It is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	encoder *json.Encoder
}

// NewWriter writes the header line. What it knows of the header itself, it fills in. Tools
// for which a header has no room are left out.
func NewWriter(w io.Writer, header Header) (*Writer, error) {
	header.Format, header.Version = Format, Version
	written, err := encoded(header)
	if err == nil && len(written) > maxHeader {
		header.Tools = nil
		written, err = encoded(header)
	}
	if err == nil {
		_, err = w.Write(written)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the header: %w", err)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return &Writer{w, encoder}, nil
}

// Agree writes down what the peers have agreed on meanwhile.
func (w *Writer) Agree(agreement Agreement) error {
	written, err := encoded(agreed{&agreement})
	if err == nil && len(written) > maxHeader {
		agreement.Tools = nil
		written, err = encoded(agreed{&agreement})
	}
	if err == nil {
		_, err = w.w.Write(written)
	}
	if err != nil {
		return fmt.Errorf("writing what was agreed: %w", err)
	}
	return nil
}

// Event writes an event.
func (w *Writer) Event(event Event) error {
	written := line{
		Connection: event.Connection, Sequence: event.Sequence, At: event.At,
		Stream: event.Stream, From: event.From, Kind: event.Kind, Size: event.Size,
		HTTP: event.HTTP, SSE: event.SSE, Note: event.Note, Deliberate: event.Deliberate, Made: event.Made,
	}
	switch {
	case event.Raw == nil:
	case utf8.Valid(event.Raw) && !isWordy(event.Raw):
		written.Raw = (*text)(&event.Raw)
	default:
		written.Raw64 = event.Raw
	}
	if err := w.encoder.Encode(written); err != nil {
		return fmt.Errorf("writing event %d of %s: %w", event.Sequence, event.Connection, err)
	}
	return nil
}

// encoded is a value as a JSON line.
func encoded(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// isWordy tells whether text is better written in base64: as a JSON string it is
// more than twice as long, which nothing is but control characters.
func isWordy(raw []byte) bool {
	more := 0
	for _, char := range raw {
		switch char {
		case '"', '\\', '\b', '\t', '\n', '\f', '\r':
			more += len(`\n`) - 1
		default:
			if char < ' ' {
				more += len(`\u0000`) - 1
			}
		}
	}
	return more > len(raw)
}

// LineError says what is wrong with a line of a transcript, and what to do.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// Read reads the transcript of one connection to its end, as far as memory goes. An
// error is a *LineError; what was read before the line is returned with it.
func Read(r io.Reader) (Header, []Event, error) {
	return read(r, limits{line: maxLine, events: maxEvents, weight: maxWeight})
}

// ReadHeader reads the first line of a transcript. An error is a *LineError.
func ReadHeader(r io.Reader) (Header, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxHeader+1)
	for number := 1; scanner.Scan(); number++ {
		if len(scanner.Bytes()) == 0 {
			continue
		}
		header, err := readHeader(scanner.Bytes())
		if err != nil {
			return Header{}, &LineError{number, err}
		}
		return header, nil
	}
	err := scanner.Err()
	switch {
	case err == nil:
		err = fmt.Errorf("no transcript: the file is empty; %s", record)
	case errors.Is(err, bufio.ErrTooLong):
		err = fmt.Errorf("the header is longer than %d MiB; %s", maxHeader>>20, record)
	}
	return Header{}, &LineError{1, err}
}

type limits struct{ line, events, weight int }

func read(r io.Reader, limits limits) (header Header, events []Event, err error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, limits.line)
	number, total := 0, 0
	failed := func(err error) (Header, []Event, error) { return header, events, &LineError{number, err} }
	for scanner.Scan() {
		number++
		switch {
		case len(scanner.Bytes()) == 0:
			continue
		case header.Format == "":
			if header, err = readHeader(scanner.Bytes()); err != nil {
				return failed(err)
			}
			continue
		case isAgreement(scanner.Bytes()):
			total += len(scanner.Bytes())
			if err := header.take(scanner.Bytes()); err != nil {
				return failed(err)
			}
			continue
		}
		event, err := readLine(scanner.Bytes())
		total += len(scanner.Bytes()) + weight(event)
		if err == nil {
			err = follows(events, event, total, limits)
		}
		if err != nil {
			return failed(err)
		}
		events = append(events, event)
	}
	number++
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return failed(fmt.Errorf("longer than %d MiB; %s", limits.line>>20, record))
	case err != nil:
		return failed(err)
	case header.Format == "":
		return failed(fmt.Errorf("no transcript: the file is empty; %s", record))
	case len(events) < header.Events:
		return failed(
			fmt.Errorf(
				"the transcript ends after %d of %d events; %s that is whole",
				len(events),
				header.Events,
				record,
			),
		)
	}
	return header, events, nil
}

// follows tells why an event cannot stand behind those before it; nil when it can.
func follows(before []Event, event Event, total int, limits limits) error {
	switch {
	case len(before) == limits.events:
		return fmt.Errorf("more than %d events; %s", limits.events, record)
	case total > limits.weight:
		return fmt.Errorf("more than %d MiB in all; %s", limits.weight>>20, record)
	case len(before) > 0 && event.Connection != before[0].Connection:
		return fmt.Errorf(
			"an event of another connection, %q; put each connection in a file of its own",
			excerpt.Characters(excerpt.OneLine(event.Connection), maxShown),
		)
	case len(before) > 0 && event.Sequence <= before[len(before)-1].Sequence:
		return fmt.Errorf(
			"the event %d stands behind the event %d; put them in order",
			event.Sequence,
			before[len(before)-1].Sequence,
		)
	}
	return nil
}

// isAgreement tells whether a line says what was agreed: no event begins so.
func isAgreement(written []byte) bool {
	rest, begins := bytes.CutPrefix(bytes.TrimLeft(written, " \t"), []byte("{"))
	return begins && bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte(`"agreed"`))
}

// take takes what a line says that was agreed.
func (h *Header) take(written []byte) error {
	if len(written) > maxHeader {
		return fmt.Errorf("what was agreed is longer than %d MiB; %s", maxHeader>>20, record)
	}
	reader := json.NewDecoder(bytes.NewReader(written))
	reader.UseNumber() // as messages are read
	var read agreed
	if err := reader.Decode(&read); err != nil || read.Agreed == nil {
		return fmt.Errorf(`not a line of a transcript: "agreed" has to be an object; %s that is whole`, record)
	}
	h.Agreement = h.With(*read.Agreed)
	return nil
}

func readLine(written []byte) (Event, error) {
	if len(written) > maxFrame && frame(written) > maxFrame {
		return Event{}, fmt.Errorf("more than %d MiB beside the bytes of the message", maxFrame>>20)
	}
	var read line
	if err := json.Unmarshal(written, &read); err != nil {
		return Event{}, fmt.Errorf("not an event of a transcript: %w; %s that is whole", err, record)
	}
	if read.Kind == "" {
		return Event{}, fmt.Errorf(
			`not an event of a transcript: the member "kind" is missing; %s that is whole`,
			record,
		)
	}
	event := Event{
		Connection: read.Connection, Sequence: read.Sequence, At: read.At,
		Stream: read.Stream, From: read.From, Kind: read.Kind, Size: read.Size,
		HTTP: read.HTTP, SSE: read.SSE, Note: read.Note, Deliberate: read.Deliberate,
		Made: read.Made, Raw: read.Raw64,
	}
	if read.Raw != nil {
		event.Raw = *read.Raw
	}
	return event, nil
}

// frame is how long a line is beside the bytes of its message: what may take
// many times as much memory as its text. That of what is no JSON is its length.
func frame(written []byte) int {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(written), // which is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	length := len(written)
	if _, err := decoder.ReadToken(); err != nil || decoder.StackDepth() == 0 {
		return length
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return length
		}
		isRaw := name.String() == "raw" || name.String() == "raw64"
		value, err := decoder.ReadValue()
		if err != nil {
			return length
		}
		if isRaw && value.Kind() == '"' {
			length -= len(value)
		}
	}
	return length
}
