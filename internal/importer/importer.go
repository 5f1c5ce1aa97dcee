// Package importer reads what other programs have recorded of a connection, and makes
// transcripts of it: HAR 1.2, the export of the MCP Inspector, JSON lines with a message and a
// direction such as those of mcpsnoop, and the logs of Claude Desktop. A file is known by what it
// holds, not by its name. What a source did not keep, the header names as lacking; nothing is made
// up for it. Write makes a HAR of transcripts.
package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Connection is one connection of the protocol.
type Connection struct {
	Header transcript.Header
	Events []transcript.Event
}

// Imported is what a file holds.
type Imported struct {
	Connections []Connection
	// Unplaced counts the lines or entries that belong to no connection, or whose sender is unknown.
	// First is the line of the first, and Unit what is counted.
	Unplaced, First int
	Unit            string
}

// Bounds of what is read, which may come from anywhere.
const (
	maxFile     = 128 << 20 // bytes; what is kept of them takes several times as much
	maxMessages = 200_000
	// maxConnections bounds how long it takes to judge them.
	maxConnections = 4096
	// PrefixSize is how much of a file tells whether it is a transcript.
	PrefixSize = 64 << 10
)

// sought is what a file may be, for people.
const sought = "a transcript, HAR 1.2, an export of the Inspector, JSON lines with a message and a direction, or a log of Claude Desktop"

// IsTranscript tells by how it begins whether a file is a transcript of this project, or
// means to be one: it names a format, or has events.
func IsTranscript(prefix []byte) bool {
	prefix = trimmed(prefix)
	if len(prefix) == 0 {
		return true // which says that the file is empty
	}
	names := map[string]bool{}
	_ = eachMember(prefix, func(name string, _ jsontext.Kind) bool {
		names[name] = true
		return !names["format"]
	}) // the prefix may end anywhere
	return names["format"] || names["kind"] && names["sequence"]
}

var byteOrderMark = []byte("\ufeff")

func trimmed(text []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(text, byteOrderMark), " \t\r\n")
}

// eachMember shows the names in an object, and what kind of value each has, until the last or
// until show returns false. The error says why the text is no object.
func eachMember(text []byte, show func(name string, kind jsontext.Kind) bool) error {
	decoder := decoderOf(text)
	opening, err := decoder.ReadToken()
	switch {
	case err != nil:
		return fmt.Errorf("reading an object: %w", err)
	case opening.Kind() != '{':
		return errors.New("not an object")
	}
	for decoder.PeekKind() == '"' {
		token, err := decoder.ReadToken()
		if err != nil {
			return fmt.Errorf("reading a name: %w", err)
		}
		if !show(token.String(), decoder.PeekKind()) {
			return nil
		}
		if err := decoder.SkipValue(); err != nil {
			return fmt.Errorf("reading a value: %w", err)
		}
	}
	return nil
}

// decoderOf reads JSON in place, with the duplicate names and invalid UTF-8 that recorders may
// write.
func decoderOf(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(
		bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true),
	)
}

// Read reads a file to its end. The error is a *transcript.LineError.
func Read(r io.Reader) (*Imported, error) {
	begun := bufio.NewReaderSize(r, PrefixSize)
	prefix, _ := begun.Peek(PrefixSize)  // an error comes again
	if bytes.IndexByte(prefix, 0) >= 0 { // not text
		return nil, nothing(1)
	}
	text, err := io.ReadAll(io.LimitReader(begun, maxFile+1))
	switch {
	case err != nil:
		return nil, &transcript.LineError{Line: 1, Err: err}
	case len(text) > maxFile:
		return nil, &transcript.LineError{
			Line: 1,
			Err:  fmt.Errorf("longer than %d MiB; record less of it, or cut it into smaller files", maxFile>>20),
		}
	}
	text = bytes.TrimPrefix(text, byteOrderMark)
	found := &Imported{Unit: "line"}
	switch {
	case isHAR(text):
		found.Unit = "entry"
		err = found.har(text)
	case bytes.HasPrefix(trimmed(text), []byte("[")):
		found.Unit = "entry"
		found.array(text)
	default:
		found.lines(text)
	}
	if err != nil {
		return nil, err
	}
	if len(found.Connections) == 0 {
		return nil, nothing(max(found.First, 1))
	}
	if len(found.Connections) > maxConnections {
		return nil, &transcript.LineError{
			Line: 1, Err: fmt.Errorf("more than %d connections; cut it into smaller files", maxConnections),
		}
	}
	return found, nil
}

// nothing says that a file is of no kind that is known.
func nothing(line int) error {
	return &transcript.LineError{Line: line, Err: errors.New("no message of MCP was found; looked for " + sought)}
}

// skip counts what cannot be placed.
func (i *Imported) skip(line int) {
	if i.Unplaced == 0 {
		i.First = line
	}
	i.Unplaced++
}

// Notice says in one line what could not be placed; "" where all could.
func (i *Imported) Notice() string {
	if i.Unplaced == 0 {
		return ""
	}
	unit, verb := i.Unit, "is"
	if i.Unplaced > 1 {
		verb = "are"
		if unit += "s"; i.Unit == "entry" {
			unit = "entries"
		}
	}
	return fmt.Sprintf("%d %s, the first at line %d, %s not judged: no message of MCP, or none whose sender is known",
		i.Unplaced, unit, i.First, verb)
}

// lineAt is the number of the line at a position, from 1.
func lineAt(text []byte, position int64) int {
	return 1 + bytes.Count(text[:min(int64(len(text)), max(0, position))], []byte("\n"))
}

// timeOf reads a time as recorders write it: a date, or a number of seconds or of parts of
// them since 1970. It is zero for anything else.
func timeOf(value any) time.Time {
	switch value := value.(type) {
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
			if at, err := time.Parse(layout, value); err == nil {
				return at.UTC()
			}
		}
	case float64:
		const latest = 1e11 // seconds, which is beyond the year 5000
		for unit := time.Second; value > 0 && unit > 0; unit /= 1000 {
			if perSecond := float64(time.Second / unit); value < latest*perSecond {
				whole := math.Floor(value / perSecond)
				return time.Unix(int64(whole), int64((value-whole*perSecond)*float64(unit))).UTC()
			}
		}
	}
	return time.Time{}
}
