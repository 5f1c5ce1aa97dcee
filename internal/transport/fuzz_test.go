package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// dispatched is what a client takes for an event, and where it then stands.
type dispatched struct {
	Data, Name, LastID string
	Retry              int
}

// byTheStandard reads an event stream line by line, as the HTML Standard says:
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
func byTheStandard(stream string) []dispatched {
	stream = strings.TrimPrefix(stream, "\xef\xbb\xbf")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var events []dispatched
	data, name, last, retry := "", "", "", 0
	for _, line := range lines[:len(lines)-1] { // a line without an end is no line
		if line == "" {
			if data != "" {
				events = append(events, dispatched{strings.TrimSuffix(data, "\n"), name, last, retry})
			}
			data, name = "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data += value + "\n"
		case "event":
			name = value
		case "id":
			if !strings.Contains(value, "\x00") {
				last = value
			}
		case "retry":
			if strings.Trim(value, "0123456789") == "" {
				if milliseconds, err := strconv.Atoi(value); err == nil {
					retry = milliseconds
				}
			}
		}
	}
	return events
}

// ours is what was read, in the same terms.
func ours(events []Event) []dispatched {
	var all []dispatched
	last, retry := "", 0
	for _, event := range events {
		if event.Unterminated {
			break
		}
		if event.ID != nil {
			last = *event.ID
		}
		if event.Retry != nil {
			retry = *event.Retry
		}
		if event.HasData {
			all = append(all, dispatched{string(event.Data), event.Name, last, retry})
		}
	}
	return all
}

// FuzzEventStream shows that a stream is read as the standard says, the same
// however it is cut into pieces, and within its bound.
func FuzzEventStream(f *testing.F) {
	for _, seed := range []string{"data: x\n\n", "id: 1\r\ndata: a\r\ndata: b\r\n\r\n", "\xef\xbb\xbf:c\r\rdata\n\r",
		"retry: 10\n\nevent: e\ndata:y\n\nid: 2\ndata: z", "\r\n\r\r\n\n\r", "data:\ndata:\n\n", "id: 9\n"} {
		for at := range len(seed) {
			f.Add([]byte(seed), uint16(at), uint16(8))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, at, budget uint16) {
		whole, err := readAll(string(stream), 0, 1<<20)
		if !errors.Is(err, io.EOF) {
			t.Fatalf("ended with %v", err)
		}
		if difference := cmp.Diff(byTheStandard(string(stream)), ours(whole)); difference != "" {
			t.Fatalf("the standard reads otherwise:\n%s", difference)
		}
		for index, event := range whole {
			if event.Unterminated && index != len(whole)-1 {
				t.Error("an event before the last is unterminated")
			}
			if bytes.Contains(event.Raw, []byte("\n\n")) {
				t.Errorf("%q is more than one block", event.Raw)
			}
		}
		inPieces(t, string(stream), int(at), whole)
		bounded(t, string(stream), whole, int(budget)+8)
	})
}

// inPieces reads a stream byte by byte, and cut in two at a place.
func inPieces(t *testing.T, stream string, at int, whole []Event) {
	t.Helper()
	pieces, err := readAll(stream, 1, 1<<20)
	if difference := cmp.Diff(whole, pieces); difference != "" || !errors.Is(err, io.EOF) {
		t.Fatalf("byte by byte it is read otherwise: %v\n%s", err, difference)
	}
	if at == 0 || at >= len(stream) {
		return
	}
	halves, err := readAll(stream, at, 1<<20)
	if difference := cmp.Diff(whole, halves); difference != "" || !errors.Is(err, io.EOF) {
		t.Fatalf("cut at byte %d it is read otherwise: %v\n%s", at, err, difference)
	}
}

// bounded reads a stream with little room: what fits is read as before.
func bounded(t *testing.T, stream string, whole []Event, limit int) {
	t.Helper()
	events, err := readAll(stream, 0, limit)
	pieces, alike := readAll(stream, 1, limit)
	if difference := cmp.Diff(events, pieces); difference != "" || errors.Is(err, io.EOF) != errors.Is(alike, io.EOF) {
		t.Fatalf("within %d bytes it depends on the pieces: %v, %v\n%s", limit, err, alike, difference)
	}
	if len(events) > len(whole) {
		t.Fatalf("within %d bytes there are %d events, not %d", limit, len(events), len(whole))
	}
	if difference := cmp.Diff(whole[:len(events)], events, cmpopts.EquateEmpty()); difference != "" {
		t.Fatalf("within %d bytes it is read otherwise:\n%s", limit, difference)
	}
	for _, event := range events {
		if len(event.Raw) > limit {
			t.Errorf("within %d bytes there is an event of %d", limit, len(event.Raw))
		}
	}
	if !errors.Is(err, ErrTooLarge) && len(events) != len(whole) {
		t.Fatalf("within %d bytes only %d of %d events are read: %v", limit, len(events), len(whole), err)
	}
}

// FuzzLines shows that lines are read whole, the same however they come in
// pieces, and within their bound.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "{}\n", "{}\n{}", "\n\n", "a\r\nb\n", "\x00\xff\n", strings.Repeat("a", 40) + "\nb\n"} {
		f.Add([]byte(seed), uint8(1), uint8(20))
	}
	f.Fuzz(func(t *testing.T, output []byte, step, limit uint8) {
		source := &stepReader{bytes.NewReader(output), int(step) + 1}
		reader := bufio.NewReaderSize(source, 16)
		for _, want := range bytes.SplitAfter(output, []byte("\n")) {
			text, terminated := bytes.CutSuffix(want, []byte("\n"))
			line, err := readLine(reader, int(limit))
			if len(text) > int(limit) {
				if !errors.Is(err, ErrTooLarge) || !bytes.HasPrefix(text, line.Raw) {
					t.Fatalf("a line of %d bytes is read: %q, %v", len(text), line.Raw, err)
				}
				return
			}
			if !bytes.Equal(line.Raw, text) || line.Terminated != terminated {
				t.Fatalf("read %q (ended: %t), wanted %q", line.Raw, line.Terminated, want)
			}
			if (err == nil) != terminated || err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("the line %q ends with %v", want, err)
			}
		}
	})
}
