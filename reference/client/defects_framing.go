// Deliberate mistakes in reading: of event streams, of bodies and of lines.

package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// replacesInStreams reads event streams with some texts in place of others.
func replacesInStreams(pairs ...string) func(*client) {
	replacer := strings.NewReplacer(pairs...)
	return func(c *client) {
		c.part.framing.bytes = func(in io.Reader) io.Reader {
			return &edited{in: in, edit: func(chunk []byte) []byte { return []byte(replacer.Replace(string(chunk))) }}
		}
	}
}

// waitsBehindCR keeps a CR at the end of what it has read until it knows whether an LF
// follows, and so for ever where the stream ends.
func waitsBehindCR(in io.Reader) io.Reader {
	kept := false
	return &edited{in: in, edit: func(chunk []byte) []byte {
		if kept {
			chunk = append([]byte("\r"), chunk...)
		}
		kept = bytes.HasSuffix(chunk, []byte("\r"))
		return bytes.TrimSuffix(chunk, []byte("\r"))
	}}
}

// decodesAlone takes each chunk for a text of its own.
func decodesAlone(in io.Reader) io.Reader {
	return &edited{in: in, edit: func(chunk []byte) []byte { return bytes.ToValidUTF8(chunk, []byte("\ufffd")) }}
}

// Edited is a reader of what another reads, changed chunk by chunk.
type edited struct {
	in   io.Reader
	edit func([]byte) []byte
	rest []byte
}

func (e *edited) Read(into []byte) (int, error) {
	for len(e.rest) == 0 {
		chunk := make([]byte, 32<<10)
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

func firstLine(lines [][]byte) []byte {
	if len(lines) == 0 {
		return nil
	}
	return lines[0]
}

func lastLine(lines [][]byte) []byte {
	if len(lines) == 0 {
		return nil
	}
	return lines[len(lines)-1]
}

// wantsSpace knows a field by the space after its colon.
func wantsSpace(line []byte) (string, []byte, error) {
	name, value, _ := bytes.Cut(line, []byte(": "))
	return string(name), value, nil
}

// wantsName takes only events that say that they are messages, or endpoints.
func wantsName(one event, hasData bool) (bool, error) { return hasData && one.name != "", nil }

// failsAtNames breaks off at an event with a name that it does not know.
func failsAtNames(one event, hasData bool) (bool, error) {
	if !one.carries() && one.name != endpointEvent {
		return false, fmt.Errorf("an unknown event %q", one.name)
	}
	return hasData, nil
}

var errEmptyEvent = errors.New("an event without data: unexpected end of JSON input")

// failsAtEmptyData reads the data of each event as JSON.
func failsAtEmptyData(one event, hasData bool) (bool, error) {
	if hasData && len(one.data) == 0 {
		return false, errEmptyEvent
	}
	return hasData, nil
}

// dispatchesWithoutData dispatches an event at each empty line, even without data.
func dispatchesWithoutData(_ event, hasData bool) (bool, error) {
	if !hasData {
		return false, errEmptyEvent
	}
	return true, nil
}

// knowsFields breaks off at a field, or a comment, that it does not know.
func knowsFields(known ...string) func([]byte) (string, []byte, error) {
	return func(line []byte) (string, []byte, error) {
		name, value, err := fieldOf(line)
		if !slices.Contains(known, name) {
			err = fmt.Errorf("invalid event stream: %q", line)
		}
		return name, value, err
	}
}

// shortLines reads no line that is longer than most.
func shortLines(line []byte) (string, []byte, error) {
	if len(line) > bufio.MaxScanTokenSize {
		return "", nil, bufio.ErrTooLong
	}
	return fieldOf(line)
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

// byBeginning knows a media type by the letters that a Content-Type begins with.
func byBeginning(header string) string {
	for _, media := range []string{jsonMedia, eventStreamMedia} {
		if strings.HasPrefix(header, media) {
			return media
		}
	}
	return header
}

func firstLineOfBody(body []byte) []byte {
	line, _, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n"))
	return line
}

// readsChunks takes what one read gives for one message.
func readsChunks(p *pipes, receive func([]byte), _ func(string, ...any)) error {
	chunk := make([]byte, 64<<10)
	for {
		n, err := p.process.Read(chunk)
		if text := bytes.TrimSpace(chunk[:n]); len(text) > 0 {
			receive(bytes.Clone(text))
		}
		if err != nil {
			return err
		}
	}
}

// readsBareLines breaks off at a line that ends with more than a newline.
func readsBareLines(p *pipes, receive func([]byte), _ func(string, ...any)) error {
	in := bufio.NewReader(p.process)
	for {
		text, err := readLine(in)
		switch {
		case err != nil:
			return err
		case bytes.HasSuffix(text, []byte("\r")):
			return errors.New("invalid trailing data at the end of the stream")
		case len(text) > 0:
			receive(text)
		}
	}
}

// readsShortLines reads lines up to a length, and takes the rest of longer ones for other
// lines.
func readsShortLines(p *pipes, receive func([]byte), _ func(string, ...any)) error {
	in := bufio.NewReaderSize(p.process, bufio.MaxScanTokenSize)
	for {
		text, err := in.ReadSlice('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			receive(bytes.TrimSpace(bytes.Clone(text)))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// splitsAtSeparators takes what Unicode calls a separator for the end of a line.
func splitsAtSeparators(p *pipes, receive func([]byte), logf func(string, ...any)) error {
	ends := strings.NewReplacer("\u2028", "\n", "\u2029", "\n", "\u0085", "\n")
	return p.read(func(line []byte) {
		for part := range strings.SplitSeq(ends.Replace(string(line)), "\n") {
			receive([]byte(part))
		}
	}, logf)
}
