// Deliberate mistakes in reading: of event streams, of bodies and of lines.

package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
)

// replaced are texts in place of which a client with a defect reads others.
var replaced = map[string]*strings.Replacer{
	"sse-line-feeds-only":        strings.NewReplacer("\r", " "),
	"sse-drops-carriage-returns": strings.NewReplacer("\r", ""),
	"sse-counts-crlf-twice":      strings.NewReplacer("\r", "\n"),
	"sse-splits-at-separators":   separators,
	"splits-lines-at-separators": separators,
}

// separators are what Unicode calls so, read as ends of lines.
var separators = strings.NewReplacer("\u2028", "\n", "\u2029", "\n", "\u0085", "\n")

// asRead is what a client with a defect makes of what it reads, chunk by chunk: of event
// streams, or of the output of a process.
func asRead(defect string, in io.Reader, isStream bool) io.Reader {
	if strings.HasPrefix(defect, "sse-") != isStream {
		return in
	}
	switch defect {
	case "sse-decodes-chunks-alone":
		return &edited{in: in, edit: func(chunk []byte) []byte { return bytes.ToValidUTF8(chunk, []byte("\ufffd")) }}
	case "sse-waits-behind-cr":
		return &edited{in: in, edit: waitsBehindCR()}
	case "reads-chunks-for-messages":
		return &edited{in: in, edit: func(chunk []byte) []byte {
			return append(bytes.ReplaceAll(chunk, []byte("\n"), []byte(" ")), '\n')
		}}
	case "reads-short-lines":
		return &edited{in: in, edit: cutsLines()}
	}
	if replacer := replaced[defect]; replacer != nil {
		return &edited{in: in, edit: func(chunk []byte) []byte { return []byte(replacer.Replace(string(chunk))) }}
	}
	return in
}

// waitsBehindCR keeps a CR at the end of what it has read until it knows whether an LF
// follows, and so for ever where the stream ends.
func waitsBehindCR() func([]byte) []byte {
	kept := false
	return func(chunk []byte) []byte {
		if kept {
			chunk = append([]byte("\r"), chunk...)
		}
		kept = bytes.HasSuffix(chunk, []byte("\r"))
		return bytes.TrimSuffix(chunk, []byte("\r"))
	}
}

// cutsLines reads lines up to a length, and takes the rest of longer ones for other lines.
func cutsLines() func([]byte) []byte {
	length := 0
	return func(chunk []byte) []byte {
		var cut []byte
		for _, char := range chunk {
			if length++; length > bufio.MaxScanTokenSize {
				cut, length = append(cut, '\n'), 1
			}
			if cut = append(cut, char); char == '\n' {
				length = 0
			}
		}
		return cut
	}
}

// Edited is a reader of what another reads, changed chunk by chunk.
type edited struct {
	in   io.Reader
	edit func([]byte) []byte
	rest []byte
}

func (e *edited) Read(into []byte) (int, error) {
	for len(e.rest) == 0 {
		chunk := make([]byte, 64<<10)
		n, err := e.in.Read(chunk)
		if n == 0 {
			return 0, err
		}
		e.rest = e.edit(chunk[:n])
	}
	n := copy(into, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// knownFields are the fields of events at any other than which a client breaks off; a comment
// is one without a name.
var knownFields = map[string][]string{
	"sse-fails-at-comments": {"event", "data", "id", "retry"},
	"sse-fails-at-fields":   {"", "event", "data", "id", "retry"},
	"sse-fails-at-retry":    {"", "event", "data", "id", "x-unknown"},
}

// field cuts a line into the name of a field and its value.
func (e *events) field(line []byte) (name string, value []byte, err error) {
	name, value = fieldOf(line)
	known := knownFields[e.defect]
	switch {
	case known != nil && !slices.Contains(known, name):
		err = fmt.Errorf("invalid event stream: %q", line)
	case e.defect == "sse-short-lines" && len(line) > bufio.MaxScanTokenSize:
		err = bufio.ErrTooLong
	case e.defect == "sse-wants-space":
		field, rest, _ := bytes.Cut(line, []byte(": "))
		name, value = string(field), rest
	}
	return name, value, err
}

// join makes the data of an event of its lines.
func (e *events) join(lines [][]byte) []byte {
	switch {
	case len(lines) > 0 && e.defect == "sse-first-data-line":
		lines = lines[:1]
	case len(lines) > 0 && e.defect == "sse-last-data-line":
		lines = lines[len(lines)-1:]
	}
	return bytes.Join(lines, []byte("\n"))
}

// isComplete tells at an empty line whether what stands before it is an event: if it has data.
func (e *events) isComplete(one event, hasData bool) (bool, error) {
	switch {
	case e.defect == "sse-wants-name":
		return hasData && one.name != "", nil
	case e.defect == "sse-fails-at-names" && !one.carries() && one.name != endpointEvent:
		return false, fmt.Errorf("an unknown event %q", one.name)
	case e.defect == "sse-fails-at-empty-data" && hasData && len(one.data) == 0,
		e.defect == "sse-dispatches-without-data" && !hasData:
		return false, errors.New("an event without data: unexpected end of JSON input")
	}
	return hasData, nil
}

// waitsForTheEnd reads a stream to its end before it looks at what was on it.
func waitsForTheEnd(stream *events) func() (event, error) {
	var all []event
	var end error
	return func() (event, error) {
		for end == nil {
			var one event
			if one, end = stream.next(); end == nil {
				all = append(all, one)
			}
		}
		if len(all) == 0 {
			return event{}, end
		}
		one := all[0]
		all = all[1:]
		return one, nil
	}
}

// mediaOf is the media type in a Content-Type, without its parameters.
func (c *client) mediaOf(header string) string {
	media, _, _ := mime.ParseMediaType(header)
	for _, known := range []string{jsonMedia, eventStreamMedia} {
		if strings.HasPrefix(header, known) && c.has("media-types-by-beginning") {
			return known
		}
	}
	if c.has("media-types-as-text") || c.has("media-types-by-beginning") {
		return header
	}
	return media
}

// bodyRead is what is read of the body of a response.
func (c *client) bodyRead(body []byte) []byte {
	switch {
	case c.has("reads-first-line-of-body"):
		body, _, _ = bytes.Cut(bytes.TrimSpace(body), []byte("\n"))
	case c.has("reads-short-bodies"):
		body = body[:min(len(body), 64<<10)]
	}
	return bytes.TrimSpace(body)
}
