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
	maxEvents = 8 * MaxEvents                     // of several connections
	maxWeight = 5 * (MaxBytes + maxBeyond)        // bytes of all lines and of what is kept of them
)

// Write writes events as JSON lines.
func Write(w io.Writer, events []Event) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, event := range events {
		written := line{
			Connection: event.Connection, Sequence: event.Sequence, At: event.At,
			Stream: event.Stream, From: event.From, Kind: event.Kind, Size: event.Size,
			HTTP: event.HTTP, SSE: event.SSE, Note: event.Note, Deliberate: event.Deliberate,
		}
		switch {
		case event.Raw == nil:
		case utf8.Valid(event.Raw) && !isWordy(event.Raw):
			written.Raw = (*text)(&event.Raw)
		default:
			written.Raw64 = event.Raw
		}
		if err := encoder.Encode(written); err != nil {
			return fmt.Errorf("writing event %d of %s: %w", event.Sequence, event.Connection, err)
		}
	}
	return nil
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

// Read reads JSON lines until the end, as far as memory goes. An error names the
// line; what was read before it is returned with it.
func Read(r io.Reader) ([]Event, error) {
	return read(r, limits{line: maxLine, events: maxEvents, weight: maxWeight})
}

type limits struct{ line, events, weight int }

func read(r io.Reader, limits limits) ([]Event, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, limits.line)
	var events []Event
	number, total := 0, 0
	for scanner.Scan() {
		number++
		if len(scanner.Bytes()) == 0 {
			continue
		}
		event, err := readLine(scanner.Bytes())
		total += len(scanner.Bytes()) + weight(event)
		switch {
		case err != nil:
		case len(events) == limits.events:
			err = fmt.Errorf("more than %d events; give the connections one by one", limits.events)
		case total > limits.weight:
			err = fmt.Errorf("more than %d MiB in all; give the connections one by one", limits.weight>>20)
		}
		if err != nil {
			return events, fmt.Errorf("line %d: %w", number, err)
		}
		events = append(events, event)
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d MiB", limits.line>>20)
		}
		return events, fmt.Errorf("line %d: %w", number+1, err)
	}
	return events, nil
}

func readLine(written []byte) (Event, error) {
	if len(written) > maxFrame && frame(written) > maxFrame {
		return Event{}, fmt.Errorf("more than %d MiB beside the bytes of the message", maxFrame>>20)
	}
	var read line
	if err := json.Unmarshal(written, &read); err != nil {
		return Event{}, fmt.Errorf("not an event of a transcript: %w", err)
	}
	if read.Kind == "" {
		return Event{}, errors.New(`not an event of a transcript: the member "kind" is missing`)
	}
	event := Event{
		Connection: read.Connection, Sequence: read.Sequence, At: read.At,
		Stream: read.Stream, From: read.From, Kind: read.Kind, Size: read.Size,
		HTTP: read.HTTP, SSE: read.SSE, Note: read.Note, Deliberate: read.Deliberate,
		Raw: read.Raw64,
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
