package transcript

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// line is an event as a JSON line. Bytes that are UTF-8 are written as text,
// others in base64, so that a transcript can be read with ordinary tools.
type line struct {
	Connection string    `json:"connection"`
	Sequence   int       `json:"sequence"`
	At         time.Time `json:"at"`
	Stream     string    `json:"stream,omitempty"`
	From       Party     `json:"from,omitempty"`
	Kind       Kind      `json:"kind"`
	Raw        *string   `json:"raw,omitempty"`
	Raw64      string    `json:"raw64,omitempty"`
	Size       int       `json:"size,omitempty"`
	HTTP       *HTTP     `json:"http,omitempty"`
	SSE        *SSE      `json:"sse,omitempty"`
	Note       string    `json:"note,omitempty"`
	Deliberate string    `json:"deliberate,omitempty"`
}

// maxLine bounds a line that is read: the longest that is written is a message
// of control characters, each of which takes six bytes, and its frame.
const maxLine = 6*(MaxBytes+maxBeyond) + 1<<20

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
		case utf8.Valid(event.Raw):
			text := string(event.Raw)
			written.Raw = &text
		default:
			written.Raw64 = base64.StdEncoding.EncodeToString(event.Raw)
		}
		if err := encoder.Encode(written); err != nil {
			return fmt.Errorf("writing event %d of %s: %w", event.Sequence, event.Connection, err)
		}
	}
	return nil
}

// Read reads JSON lines until the end. An error names the line.
func Read(r io.Reader) ([]Event, error) { return read(r, maxLine) }

func read(r io.Reader, longest int) ([]Event, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, longest)
	var events []Event
	number := 0
	for scanner.Scan() {
		number++
		if len(scanner.Bytes()) == 0 {
			continue
		}
		event, err := readLine(scanner.Bytes())
		if err != nil {
			return events, fmt.Errorf("line %d: %w", number, err)
		}
		events = append(events, event)
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d MiB", longest>>20)
		}
		return events, fmt.Errorf("line %d: %w", number+1, err)
	}
	return events, nil
}

func readLine(text []byte) (Event, error) {
	var read line
	if err := json.Unmarshal(text, &read); err != nil {
		return Event{}, fmt.Errorf("not an event of a transcript: %w", err)
	}
	if read.Kind == "" {
		return Event{}, errors.New(`not an event of a transcript: the member "kind" is missing`)
	}
	event := Event{
		Connection: read.Connection, Sequence: read.Sequence, At: read.At,
		Stream: read.Stream, From: read.From, Kind: read.Kind, Size: read.Size,
		HTTP: read.HTTP, SSE: read.SSE, Note: read.Note, Deliberate: read.Deliberate,
	}
	switch {
	case read.Raw != nil:
		event.Raw = []byte(*read.Raw)
	case read.Raw64 != "":
		raw, err := base64.StdEncoding.DecodeString(read.Raw64)
		if err != nil {
			return Event{}, fmt.Errorf("raw64: %w", err)
		}
		event.Raw = raw
	}
	return event, nil
}
