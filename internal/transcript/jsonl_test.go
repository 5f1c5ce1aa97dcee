package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
		{Kind: transcript.Message, Stream: "post-1", From: protocol.Client, Raw: []byte(`{"id":1,"x":"<&> ü 😀"}`), Deliberate: "the version is missing", Made: "injected"},
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
		{Kind: transcript.Gap, Note: "the disk was full", Size: 77},
		{Kind: transcript.Exit, From: protocol.Server, Note: "exited with status 1"},
		{Kind: transcript.Close, From: protocol.Client},
	}
	for number := range events {
		events[number].Sequence, events[number].At, events[number].Connection = number, when, "c1"
	}
	return events
}

// everyMember is a header with everything in it.
func everyMember() transcript.Header {
	return transcript.Header{
		Harness: transcript.Harness{Name: "mcpconform", Version: "1.2.3"}, Role: "server", Transport: "http",
		Grade: transcript.Heads, Part: 2, Recording: "r", Joined: true, Lacks: []transcript.Lack{transcript.RawBytes},
		Agreement: transcript.Agreement{
			Revision:     "2025-11-25",
			Capabilities: transcript.Capabilities{Client: map[string]any{}, Server: map[string]any{"tools": map[string]any{"listChanged": true}}},
			Tools:        []map[string]any{{"name": "<a>", "outputSchema": map[string]any{"maximum": json.Number("12345678901234567890")}}},
		},
		Dropped: true, Unjudged: true, Draft: true,
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := transcript.Write(&text, everyMember(), everyKind()); err != nil {
		t.Fatal(err)
	}
	header, read, err := transcript.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	wanted := everyMember()
	wanted.Format, wanted.Version, wanted.Events = transcript.Format, transcript.Version, len(everyKind())
	if difference := cmp.Diff(wanted, header); difference != "" {
		t.Error(difference)
	}
	if difference := cmp.Diff(everyKind(), read); difference != "" {
		t.Error(difference)
	}
}

// What is text stays text, so that ordinary tools find it.
func TestWrittenForm(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	header := transcript.Header{Harness: transcript.Harness{Name: "mcpconform", Version: "1.2.3"}, Role: "server", Transport: "stdio",
		Agreement: transcript.Agreement{Revision: "2025-11-25", Capabilities: transcript.Capabilities{Server: map[string]any{"tools": map[string]any{}}}}}
	err := transcript.Write(&text, header, []transcript.Event{
		{Kind: transcript.Message, Connection: "c1", At: when, From: protocol.Server, Stream: "stdio", Raw: []byte(`{"a":"<ü>"}`)},
		{Kind: transcript.Message, Connection: "c1", Sequence: 1, At: when, From: protocol.Server, Stream: "stdio", Raw: []byte("\xff")},
		{Kind: transcript.Close, Connection: "c1", Sequence: 2, At: when},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"format":"mcpconform-transcript","version":2,"harness":{"name":"mcpconform","version":"1.2.3"},"role":"server","transport":"stdio","revision":"2025-11-25","capabilities":{"server":{"tools":{}}},"events":3}
{"connection":"c1","sequence":0,"at":"2025-11-25T10:20:30.123456789Z","stream":"stdio","from":"server","kind":"message","raw":"{\"a\":\"<ü>\"}"}
{"connection":"c1","sequence":1,"at":"2025-11-25T10:20:30.123456789Z","stream":"stdio","from":"server","kind":"message","raw64":"/w=="}
{"connection":"c1","sequence":2,"at":"2025-11-25T10:20:30.123456789Z","kind":"close"}
`
	if difference := cmp.Diff(want, text.String()); difference != "" {
		t.Error(difference)
	}
}

// full has room for some lines.
type full struct{ lines int }

func (f *full) Write(line []byte) (int, error) {
	if f.lines--; f.lines < 0 {
		return 0, errors.New("disk full")
	}
	return len(line), nil
}

func TestWriteTellsWhichEvent(t *testing.T) {
	t.Parallel()
	for lines, wanted := range []string{"writing the header: disk full", "writing event 4 of c7: disk full"} {
		err := transcript.Write(&full{lines}, everyMember(), []transcript.Event{{Connection: "c7", Sequence: 4, Kind: transcript.Close}})
		if err == nil || err.Error() != wanted {
			t.Errorf("told %v, wanted %s", err, wanted)
		}
	}
}

// A header without room for the tools goes without.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	header := everyMember()
	header.Tools = []map[string]any{{"name": strings.Repeat("a", 2<<20)}}
	var text bytes.Buffer
	if err := transcript.Write(&text, header, nil); err != nil {
		t.Fatal(err)
	}
	read, _, err := transcript.Read(&text)
	if err != nil || len(read.Tools) != 0 || read.Role != header.Role {
		t.Errorf("%d tools of a %s, %v", len(read.Tools), read.Role, err)
	}
}

const (
	// head is a header, event0 and event1 are events.
	head   = `{"format":"mcpconform-transcript","version":1,"role":"server","revision":"2025-11-25","transport":"stdio"}` + "\n"
	event0 = `{"connection":"c1","sequence":0,"at":"2025-11-25T10:20:30Z","kind":"open"}` + "\n"
	event1 = `{"connection":"c1","sequence":1,"at":"2025-11-25T10:20:30Z","kind":"close"}` + "\n"
)

func TestReadTellsTheLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, says string
		events     int
	}{
		"nothing":              {"", "line 1: no transcript: the file is empty; record one", 0},
		"empty lines alone":    {"\n\n", "line 3: no transcript: the file is empty; record one", 0},
		"a header":             {head, "", 0},
		"one":                  {head + event0, "", 1},
		"empty lines":          {"\n" + head + "\n" + event0 + "\n\n" + strings.TrimSpace(event1) + "\r\n\r\n", "", 2},
		"unknown members":      {`{"later":1,` + head[1:] + `{"kind":"close","later":1}`, "", 1},
		"no header":            {event0 + event1, "line 1: an event where the header belongs; record one", 0},
		"text":                 {"Server started\n", "line 1: not the header of a transcript; record one", 0},
		"bytes":                {"\x7fELF\x00\x01\n", "line 1: not the header of a transcript; record one", 0},
		"another JSON":         {`[]`, "line 1: not the header of a transcript; record one", 0},
		"a report":             {`{"format":7,"tool":{}}`, "line 1: not the header of a transcript; record one", 0},
		"a foreign header":     {`{"format":"pcap\n","version":1}`, `line 1: the format is "pcap", not "mcpconform-transcript"; record one`, 0},
		"a later version":      {`{"format":"mcpconform-transcript","version":3}`, "line 1: version 3 of the format is unknown, only 1 and 2 are read; record one", 0},
		"no version":           {`{"format":"mcpconform-transcript"}`, "line 1: the header has no version; record one", 0},
		"a header of oddities": {`{"format":"mcpconform-transcript","version":1,"tools":7}`, "line 1: not the header of a transcript: json: cannot unmarshal number", 0},
		"two headers":          {head + head, `line 2: not an event of a transcript: the member "kind" is missing; record one`, 0},
		"no JSON":              {head + event0 + "Server started\n" + event1, "line 3: not an event of a transcript: invalid character 'S'", 1},
		"cut off":              {head + event0 + event1[:20], "line 3: not an event of a transcript: unexpected end of JSON input; record one", 1},
		"cut off at a line":    {`{"events":2,` + head[1:] + event0, "line 3: the transcript ends after 1 of 2 events; record one", 1},
		"another connection":   {head + event0 + strings.Replace(event1, "c1", "c\x32", 1), `line 3: an event of another connection, "c2"; put each`, 1},
		"out of order":         {head + event1 + event0, "line 3: the event 0 stands behind the event 1; put them in order", 1},
		"no kind":              {head + "\n" + `{"jsonrpc":"2.0"}`, `line 3: not an event of a transcript: the member "kind" is missing`, 0},
		"a number as kind":     {head + `{"kind":1}`, "line 2: not an event", 0},
		"a time that is none":  {head + `{"kind":"close","at":"now"}`, "line 2: not an event of a transcript: parsing time", 0},
		"raw that is no bytes": {head + `{"kind":"message","raw64":"***"}`, "line 2: not an event of a transcript: illegal base64 data", 0},
		"a long header":        {`{"format":"mcpconform-transcript","tools":[` + strings.Repeat("{},", 1<<19) + `{}]}`, "line 1: the header is longer than 1 MiB; record one", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, events, err := transcript.Read(strings.NewReader(test.text))
			if len(events) != test.events {
				t.Errorf("%d events, wanted %d", len(events), test.events)
			}
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.HasPrefix(err.Error(), test.says)) {
				t.Errorf("told %v, wanted %q", err, test.says)
			}
		})
	}
}

func TestReadTellsWhatTheReaderTells(t *testing.T) {
	t.Parallel()
	broken := io.MultiReader(strings.NewReader("\n\n"), failing{})
	if _, _, err := transcript.Read(broken); err == nil || err.Error() != "line 3: disk gone" {
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
	_, _, err := transcript.ReadWithin(io.MultiReader(strings.NewReader("\n"), source), 2<<20, 10, 10<<20)
	if err == nil || err.Error() != "line 2: longer than 2 MiB; record one with --transcripts" {
		t.Errorf("told %v", err)
	}
	if source.read > 4<<20 {
		t.Errorf("%d MiB were read", source.read>>20)
	}
}

func TestReadBoundsTheWhole(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(head)
	for number := range 10 {
		fmt.Fprintf(&text, `{"kind":"message","sequence":%d,"raw":"0123456789"}`+"\n", number) // 50 bytes, of which 10 are kept
	}
	lines := text.String()
	for says, limits := range map[string][2]int{
		"": {10, 600},
		"line 11: more than 9 events; record one with --transcripts":     {9, 600},
		"line 11: more than 0 MiB in all; record one with --transcripts": {10, 599},
	} {
		_, events, err := transcript.ReadWithin(strings.NewReader(lines), 1<<10, limits[0], limits[1])
		if says == "" && (err != nil || len(events) != 10) || says != "" && (err == nil || err.Error() != says || len(events) != 9) {
			t.Errorf("%d events, told %v, wanted %q", len(events), err, says)
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
		says string
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
		_, events, err := transcript.Read(strings.NewReader(head + test.line))
		if test.says == "" && (err != nil || len(events) != 1) || test.says != "" && (err == nil || !strings.HasPrefix(err.Error(), "line 2: "+test.says)) {
			t.Errorf("%s: %d events, told %v", name, len(events), err)
		}
	}
}

// What a log keeps is written in lines that are within the bound of a reader, for
// all kinds of bytes.
func TestWrittenLinesAreBounded(t *testing.T) {
	t.Parallel()
	const size = 60_000
	for name, piece := range map[string]string{
		"letters": "a", "quotes": `"`, "line ends": "\r\n", "control characters": "\x00", "separators": "\u2028", "bytes": "\xff",
	} {
		raw := []byte(strings.Repeat(piece, size/len(piece)))
		var text bytes.Buffer
		if err := transcript.Write(&text, transcript.Header{}, []transcript.Event{{Kind: transcript.Message, Raw: raw}}); err != nil {
			t.Fatal(err)
		}
		if text.Len() > 2*size+400 {
			t.Errorf("%s: %d bytes are written as %d", name, size, text.Len())
		}
		_, again, err := transcript.Read(&text)
		if err != nil || len(again) != 1 || !bytes.Equal(again[0].Raw, raw) {
			t.Errorf("%s: %d events, %v", name, len(again), err)
		}
	}
}
