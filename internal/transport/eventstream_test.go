package transport

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readAll reads a stream that comes in pieces of the given size.
func readAll(stream string, step int, limit int) ([]Event, error) {
	var source io.Reader = strings.NewReader(stream)
	if step > 0 {
		source = &stepReader{source, step}
	}
	reader := NewEventReader(source, limit)
	var events []Event
	for {
		event, err := reader.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
}

// stepReader returns at most step bytes at a time.
type stepReader struct {
	source io.Reader
	step   int
}

func (r *stepReader) Read(target []byte) (int, error) {
	return r.source.Read(target[:min(r.step, len(target))])
}

func TestEventsForOthers(t *testing.T) {
	t.Parallel()
	for stream, dispatched := range map[string]bool{
		"data: x\n\n":                               true,
		"event: message\ndata: x\n\n":               true,
		"event: ping\ndata: 12:00\n\n":              false,
		"event: x\ndata: {\"jsonrpc\":\"2.0\"}\n\n": true,
		"event: ping\n\n":                           false,
	} {
		events, _ := readAll(stream, 0, 1<<10)
		if len(events) != 1 || events[0].Dispatched() != dispatched {
			t.Errorf("%q: %v", stream, events)
		}
	}
}

func TestEventFields(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stream string
		want   []Event
	}{
		"nothing":           {"", nil},
		"blank lines":       {"\n\n\r\n\r\r", nil},
		"one line":          {"data: {}\n\n", []Event{{Data: []byte("{}"), HasData: true}}},
		"no space":          {"data:{}\n\n", []Event{{Data: []byte("{}"), HasData: true}}},
		"two spaces":        {"data:  {}\n\n", []Event{{Data: []byte(" {}"), HasData: true}}},
		"several lines":     {"data: a\ndata:\ndata: b\n\n", []Event{{Data: []byte("a\n\nb"), HasData: true}}},
		"no colon":          {"data\n\n", []Event{{Data: []byte{}, HasData: true}}},
		"colon in value":    {"data: a:b\n\n", []Event{{Data: []byte("a:b"), HasData: true}}},
		"name":              {"event: message\ndata: x\n\n", []Event{{Name: "message", Data: []byte("x"), HasData: true}}},
		"last name":         {"event: a\nevent: b\n\n", []Event{{Name: "b"}}},
		"priming":           {"id: 7\ndata:\n\n", []Event{{ID: new("7"), Data: []byte{}, HasData: true}}},
		"empty id":          {"id\n\n", []Event{{ID: new("")}}},
		"comment":           {": hello\n:\n\n", []Event{{Comments: []string{"hello", ""}}}},
		"retry":             {"retry: 250\n\n", []Event{{Retry: new(250), RetryRaw: "250"}}},
		"unknown field":     {"Data: x\nfoo\n\n", []Event{{Unknown: []string{"Data: x", "foo"}}}},
		"byte order mark":   {"\xef\xbb\xbfdata: x\n\n", []Event{{Data: []byte("x"), HasData: true}}},
		"mark in the midst": {"data: x\n\n\xef\xbb\xbfdata: y\n\n", []Event{{Data: []byte("x"), HasData: true}, {Unknown: []string{"\xef\xbb\xbfdata: y"}}}},
		"half a mark":       {"\xef\xbb", []Event{{Unknown: []string{"\xef\xbb"}, Unterminated: true, Flaws: []string{"contains bytes that are not UTF-8", unfinished}}}},
		"NUL in id":         {"id: a\nid: b\x00\n\n", []Event{{ID: new("a"), Flaws: []string{"an id field contains a NUL character and is ignored"}}}},
		"bad retry":         {"retry: 1s\n\n", []Event{{RetryRaw: "1s", Flaws: []string{`the retry field "1s" is not a number of milliseconds and is ignored`}}}},
		"signed retry":      {"retry: +1\n\n", []Event{{RetryRaw: "+1", Flaws: []string{`the retry field "+1" is not a number of milliseconds and is ignored`}}}},
		"not UTF-8":         {"data: \xff\n\n", []Event{{Data: []byte("\xff"), HasData: true, Flaws: []string{"contains bytes that are not UTF-8"}}}},
		"no blank line":     {"data: x\n\ndata: y\n", []Event{{Data: []byte("x"), HasData: true}, {Data: []byte("y"), HasData: true, Unterminated: true, Flaws: []string{unfinished}}}},
		"no line end":       {"data: y", []Event{{Data: []byte("y"), HasData: true, Unterminated: true, Flaws: []string{unfinished}}}},
		"only an id":        {"id: 1", []Event{{ID: new("1"), Unterminated: true, Flaws: []string{unfinished}}}},
	} {
		for _, lineEnd := range []string{"\n", "\r", "\r\n"} {
			for _, step := range []int{0, 1, 2, 3, 7} {
				stream := test.stream
				if lineEnd != "\n" {
					stream = strings.ReplaceAll(stream, "\n", lineEnd)
				}
				t.Run(fmt.Sprintf("%s/%q by %d", name, lineEnd, step), func(t *testing.T) {
					t.Parallel()
					got, err := readAll(stream, step, 1<<20)
					if !errors.Is(err, io.EOF) {
						t.Errorf("ended with %v", err)
					}
					for index := range got {
						if len(got[index].Raw) == 0 {
							t.Error("an event without its lines")
						}
						got[index].Raw, got[index].End, got[index].Marked = nil, "", false
					}
					if difference := cmp.Diff(test.want, got); difference != "" {
						t.Error(difference)
					}
				})
			}
		}
	}
}

const unfinished = "the stream ended before the blank line that completes the event"

func TestEventTextIsAsItCame(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{"", "\ufeff"} {
		for _, end := range []string{"\n", "\r", "\r\n"} {
			for _, step := range []int{0, 1, 2, 7} {
				stream := mark + strings.ReplaceAll(": first\nid: 1\n\ndata: a\ndata: b\n\n", "\n", end)
				events, _ := readAll(stream, step, 1<<20)
				var text []byte
				for _, event := range events {
					text = append(text, event.Text()...)
				}
				if string(text) != stream {
					t.Errorf("by %d: wanted %q, found %q", step, stream, text)
				}
			}
		}
	}
}

func TestEventLineEndsMixed(t *testing.T) {
	t.Parallel()
	for _, blank := range []string{"\n\n", "\r\r", "\r\n\r\n", "\n\r", "\r\n\r", "\n\r\n", "\r\r\n", "\r\n\n"} {
		for _, step := range []int{0, 1, 2} {
			stream := "data: a" + blank + "data: b" + blank
			events, err := readAll(stream, step, 1<<20)
			if !errors.Is(err, io.EOF) || len(events) != 2 ||
				string(events[0].Data) != "a" || string(events[1].Data) != "b" || events[1].Unterminated {
				t.Errorf("%q by %d: %+v, %v", stream, step, events, err)
			}
		}
	}
}

// An event is complete with its blank line: it must not wait for what follows.
func TestEventIsThereWithItsBlankLine(t *testing.T) {
	t.Parallel()
	for _, blank := range []string{"\n\n", "\r\r", "\n\r", "\r\n\r"} {
		body, server := io.Pipe()
		stream := NewEventReader(body, 1<<20)
		go func() {
			for _, piece := range []string{"data: " + strings.Repeat("a", 10_000), blank} {
				_, _ = io.WriteString(server, piece)
			}
			// The pipe stays open: nothing follows.
		}()
		event, err := stream.Next()
		if err != nil || len(event.Data) != 10_000 {
			t.Errorf("after %q: %d bytes, %v", blank, len(event.Data), err)
		}
		_ = body.Close()
	}
}

func TestEventThatIsTooLarge(t *testing.T) {
	t.Parallel()
	events, err := readAll("data: small\n\ndata: "+strings.Repeat("x", 100_000)+"\n\n", 0, 64<<10)
	if len(events) != 1 || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestEventStreamThatBreaks(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	stream := NewEventReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 1<<20)
	first, _ := stream.Next()
	second, _ := stream.Next()
	_, err := stream.Next()
	if first.Unterminated || !second.Unterminated || string(second.Data) != "b" || !errors.Is(err, broken) {
		t.Errorf("%+v, %+v, %v", first, second, err)
	}
}

func TestEventRemarksAreBounded(t *testing.T) {
	t.Parallel()
	block := strings.Repeat(":"+strings.Repeat("c", 2000)+"\nunknown\nretry: x\n", 1000) + "\n"
	events, _ := readAll(block, 0, 8<<20)
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	event := events[0]
	if len(event.Comments) != maxRemarks || len(event.Unknown) != maxRemarks || len(event.Flaws) != maxRemarks ||
		len(event.Comments[0]) != maxRemark {
		t.Errorf("%d comments, %d unknown, %d flaws", len(event.Comments), len(event.Unknown), len(event.Flaws))
	}
}

// Ids and names of megabytes are told apart in a transcript, and not kept there.
func TestEventRecordsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("i", 1<<20)
	events, _ := readAll("id: "+long+"\nevent: "+long+"\ndata: x\n\nid: "+long+"j\n\n", 0, 8<<20)
	if len(events) != 2 || *events[0].ID != long {
		t.Fatalf("%d events", len(events))
	}
	first, second := events[0].Record().SSE, events[1].Record().SSE
	if len(*first.ID) > 70_000 || len(first.Name) > 70_000 || *first.ID != first.Name || *first.ID == *second.ID {
		t.Errorf("recorded are the ids of %d and %d bytes, and a name of %d", len(*first.ID), len(*second.ID), len(first.Name))
	}
}

func BenchmarkLargeEvent(b *testing.B) {
	stream := "data: " + strings.Repeat("x", 16<<20) + "\n\n"
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		events, err := readAll(stream, 4<<10, 64<<20)
		if len(events) != 1 || !errors.Is(err, io.EOF) {
			b.Fatal(len(events), err)
		}
	}
}

// What was cut is nothing that a client takes: its last field may be half of one.
func TestEventThatIsCutHasNoFields(t *testing.T) {
	t.Parallel()
	const whole = "event: message\r\nid: 4-17\r\nretry: 2000\r\ndata: {}\r\n\r\n"
	for length := range len(whole) {
		reader := NewEventReader(strings.NewReader(whole[:length]), 1<<10)
		event, err := reader.Next()
		if err != nil {
			continue // not one line of it
		}
		record, over := event.Record(), length == len(whole)-1 // the last CR ends the blank line
		if found := record.SSE; over != (found.ID != nil && found.Retry != nil && found.HasData && found.Name != "") ||
			!over && (found.ID != nil || found.Retry != nil || found.HasData || found.Name != "" || len(found.Flaws) == 0) {
			t.Errorf("%q: %+v", whole[:length], found)
		}
	}
}
