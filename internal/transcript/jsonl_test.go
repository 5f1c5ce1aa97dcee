package transcript_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

var when = time.Date(2025, 11, 25, 10, 20, 30, 123456789, time.UTC)

// everyKind is a transcript with everything in it.
func everyKind() []transcript.Event {
	events := []transcript.Event{
		{Kind: transcript.Open, From: protocol.Client, Note: "to http://localhost/mcp"},
		{Kind: transcript.Head, Stream: "post-1", From: protocol.Client,
			HTTP: &transcript.HTTP{Method: "POST", URL: "http://localhost/mcp", Header: http.Header{"Accept": {"a", "b"}, "X-Empty": {}}}},
		{Kind: transcript.Message, Stream: "post-1", From: protocol.Client, Raw: []byte(`{"id":1,"x":"<&> ü 😀"}`), Deliberate: "the version is missing"},
		{Kind: transcript.Head, Stream: "post-1", From: protocol.Server, HTTP: &transcript.HTTP{Status: 200}},
		{Kind: transcript.Block, Stream: "post-1", From: protocol.Server, Raw: []byte("id: 1\nretry: 5\ndata:"),
			SSE: &transcript.SSE{ID: new("1"), Retry: new(5), HasData: true}},
		{Kind: transcript.Message, Stream: "post-1", From: protocol.Server, Raw: []byte("{}"),
			SSE: &transcript.SSE{ID: new(""), Name: "message", HasData: true, Comments: []string{"hello", ""}, Flaws: []string{"unknown field"}}},
		{Kind: transcript.Message, Stream: "stdio", From: protocol.Server, Raw: []byte("\xff\x00 not UTF-8\n")},
		{Kind: transcript.Message, Stream: "stdio", From: protocol.Server, Raw: []byte("\x00\x1f\u2028\ufffd\"\\")},
		{Kind: transcript.Message, Stream: "stdio", From: protocol.Server, Raw: []byte{}},
		{Kind: transcript.Message, Stream: "stdio", From: protocol.Server, Raw: []byte("beginn"), Size: 1 << 30},
		{Kind: transcript.Stderr, Stream: "stdio", From: protocol.Server, Raw: []byte("warn")},
		{Kind: transcript.End, Stream: "post-1", From: protocol.Server, Note: "complete"},
		{Kind: transcript.Exit, From: protocol.Server, Note: "exited with status 1"},
		{Kind: transcript.Close, From: protocol.Client},
	}
	for number := range events {
		events[number].Sequence, events[number].At, events[number].Connection = number, when, "c1"
	}
	return events
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := transcript.Write(&text, everyKind()); err != nil {
		t.Fatal(err)
	}
	read, err := transcript.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(everyKind(), read); difference != "" {
		t.Error(difference)
	}
}

// What is text stays text, so that ordinary tools find it.
func TestWrittenForm(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	err := transcript.Write(&text, []transcript.Event{
		{Kind: transcript.Message, Connection: "c1", At: when, From: protocol.Server, Stream: "stdio", Raw: []byte(`{"a":"<ü>"}`)},
		{Kind: transcript.Message, Connection: "c1", Sequence: 1, At: when, From: protocol.Server, Stream: "stdio", Raw: []byte("\xff")},
		{Kind: transcript.Close, Connection: "c1", Sequence: 2, At: when},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"connection":"c1","sequence":0,"at":"2025-11-25T10:20:30.123456789Z","stream":"stdio","from":"server","kind":"message","raw":"{\"a\":\"<ü>\"}"}
{"connection":"c1","sequence":1,"at":"2025-11-25T10:20:30.123456789Z","stream":"stdio","from":"server","kind":"message","raw64":"/w=="}
{"connection":"c1","sequence":2,"at":"2025-11-25T10:20:30.123456789Z","kind":"close"}
`
	if difference := cmp.Diff(want, text.String()); difference != "" {
		t.Error(difference)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteTellsWhichEvent(t *testing.T) {
	t.Parallel()
	err := transcript.Write(full{}, []transcript.Event{{Connection: "c7", Sequence: 4, Kind: transcript.Close}})
	if err == nil || err.Error() != "writing event 4 of c7: disk full" {
		t.Errorf("told %v", err)
	}
}

func TestReadTellsTheLine(t *testing.T) {
	t.Parallel()
	const line = `{"connection":"c1","sequence":0,"at":"2025-11-25T10:20:30Z","kind":"close"}`
	for name, test := range map[string]struct {
		text, told string
		events     int
	}{
		"nothing":              {"", "", 0},
		"one":                  {line, "", 1},
		"empty lines":          {"\n" + line + "\n\n" + line + "\r\n\r\n", "", 2},
		"unknown members":      {`{"kind":"close","later":1}`, "", 1},
		"no JSON":              {line + "\nServer started\n" + line, "line 2: not an event of a transcript: invalid character 'S'", 1},
		"cut off":              {line + "\n" + line[:20], "line 2: not an event of a transcript: unexpected end", 1},
		"another JSON":         {`[]`, "line 1: not an event of a transcript: json: cannot unmarshal array", 0},
		"no kind":              {"\n\n" + `{"jsonrpc":"2.0"}`, `line 3: not an event of a transcript: the member "kind" is missing`, 0},
		"a number as kind":     {`{"kind":1}`, "line 1: not an event", 0},
		"a time that is none":  {`{"kind":"close","at":"now"}`, "line 1: not an event of a transcript: parsing time", 0},
		"raw that is no bytes": {`{"kind":"message","raw64":"***"}`, "line 1: not an event of a transcript: illegal base64 data", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := transcript.Read(strings.NewReader(test.text))
			if len(events) != test.events {
				t.Errorf("%d events, wanted %d", len(events), test.events)
			}
			if test.told == "" && err != nil || test.told != "" && (err == nil || !strings.HasPrefix(err.Error(), test.told)) {
				t.Errorf("told %v, wanted %q", err, test.told)
			}
		})
	}
}

func TestReadTellsWhatTheReaderTells(t *testing.T) {
	t.Parallel()
	broken := io.MultiReader(strings.NewReader("\n\n"), failing{})
	if _, err := transcript.Read(broken); err == nil || err.Error() != "line 3: disk gone" {
		t.Errorf("told %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

// endless is a line without an end.
type endless struct{ read int }

func (e *endless) Read(target []byte) (int, error) {
	e.read += len(target)
	return len(target), nil
}

func TestReadBoundsALine(t *testing.T) {
	t.Parallel()
	source := &endless{}
	_, err := transcript.ReadWithin(io.MultiReader(strings.NewReader("\n"), source), 2<<20, 10, 10<<20)
	if err == nil || err.Error() != "line 2: longer than 2 MiB" {
		t.Errorf("told %v", err)
	}
	if source.read > 4<<20 {
		t.Errorf("%d MiB were read", source.read>>20)
	}
}

func TestReadBoundsTheWhole(t *testing.T) {
	t.Parallel()
	const line = `{"kind":"message","raw":"0123456789"}` + "\n" // 37 bytes, of which 10 are kept
	lines := strings.Repeat(line, 10)
	for told, limits := range map[string][2]int{
		"": {10, 470},
		"line 10: more than 9 events; give the connections one by one":     {9, 470},
		"line 10: more than 0 MiB in all; give the connections one by one": {10, 469},
	} {
		events, err := transcript.ReadWithin(strings.NewReader(lines), 1<<10, limits[0], limits[1])
		if told == "" && (err != nil || len(events) != 10) || told != "" && (err == nil || err.Error() != told || len(events) != 9) {
			t.Errorf("%d events, told %v, wanted %q", len(events), err, told)
		}
	}
}

// What is not the bytes of a message takes many times its length when it is read.
func TestReadBoundsWhatIsBesideTheMessage(t *testing.T) {
	t.Parallel()
	const size = 5 << 20
	long := strings.Repeat("a", size)
	for name, test := range map[string]struct {
		line string
		told string
	}{
		"a long message":     {`{"kind":"message","raw":"` + long + `","size":7}`, ""},
		"in base64":          {`{"raw64":"` + long[:4<<20] + `aaaa","kind":"message"}`, ""},
		"comments":           {`{"kind":"block","raw":"","sse":{"comments":[""` + strings.Repeat(`,""`, size/3) + `]}}`, "more than 4 MiB beside"},
		"headers":            {`{"kind":"head","http":{"header":{"a":[]` + strings.Repeat(`,"a":[]`, size/7) + `}}}`, "more than 4 MiB beside"},
		"an unknown member":  {`{"kind":"message","other":"` + long + `"}`, "more than 4 MiB beside"},
		"raw of other types": {`{"kind":"message","raw":["` + long + `"]}`, "more than 4 MiB beside"},
		"no JSON":            {long, "more than 4 MiB beside"},
		"cut off":            {`{"kind":"message","raw":"` + long, "more than 4 MiB beside"},
	} {
		events, err := transcript.Read(strings.NewReader(test.line))
		if test.told == "" && (err != nil || len(events) != 1) || test.told != "" && (err == nil || !strings.HasPrefix(err.Error(), "line 1: "+test.told)) {
			t.Errorf("%s: %d events, told %v", name, len(events), err)
		}
	}
}

// What a log keeps is written in lines that are read again, whatever it is made of.
func TestWrittenLinesAreBounded(t *testing.T) {
	t.Parallel()
	const size = 60_000
	for name, piece := range map[string]string{
		"letters": "a", "quotes": `"`, "line ends": "\r\n", "control characters": "\x00", "separators": "\u2028", "bytes": "\xff",
	} {
		raw := []byte(strings.Repeat(piece, size/len(piece)))
		var text bytes.Buffer
		if err := transcript.Write(&text, []transcript.Event{{Kind: transcript.Message, Raw: raw}}); err != nil {
			t.Fatal(err)
		}
		if text.Len() > 2*size+200 {
			t.Errorf("%s: %d bytes are written as %d", name, size, text.Len())
		}
		again, err := transcript.Read(&text)
		if err != nil || len(again) != 1 || !bytes.Equal(again[0].Raw, raw) {
			t.Errorf("%s: %d events, %v", name, len(again), err)
		}
	}
}
