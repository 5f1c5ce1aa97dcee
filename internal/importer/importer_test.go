package importer_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/importer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// said are the messages of a connection in short: who sent each, and what it begins with.
func said(one importer.Connection) string {
	var all strings.Builder
	for _, event := range one.Events {
		switch event.Kind {
		case transcript.Message:
			all.WriteString(map[protocol.Party]string{protocol.Client: ">", protocol.Server: "<"}[event.From])
		case transcript.Gap:
			all.WriteString("?")
		}
	}
	return all.String()
}

// Each sample holds the same conversation, as another program writes it.
func TestReadSamples(t *testing.T) {
	t.Parallel()
	const bytes, encoding, heads, times = transcript.RawBytes, transcript.Encoding, transcript.HTTPHead, transcript.Times
	for name, want := range map[string]struct {
		transport string
		lacks     []transcript.Lack
		said      string
		notice    string
	}{
		"browser.har":            {protocol.HTTP, []transcript.Lack{encoding}, "><>><><?", "1 entry, the first at line 10, is not judged"},
		"inspector.json":         {protocol.Stdio, []transcript.Lack{bytes, heads}, "><>><><??", "1 entry, the first at line 2, is not judged"},
		"lines.jsonl":            {protocol.Stdio, []transcript.Lack{bytes, heads, times}, "><>><><?", "1 line, the first at line 1, is not judged"},
		"mcp-server-weather.log": {protocol.Stdio, []transcript.Lack{bytes}, "><>><><?", "5 lines, the first at line 3, are not judged"},
		"mcpsnoop.jsonl":         {protocol.Stdio, []transcript.Lack{bytes}, "><>><><?", ""},
	} {
		file, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		found, err := importer.Read(file)
		if err != nil || len(found.Connections) != 1 {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		_ = file.Close()
		one := found.Connections[0]
		if one.Header.Transport != want.transport || !slices.Equal(one.Header.Lacks, want.lacks) || said(one) != want.said || one.Header.Joined {
			t.Errorf("%s: %+v, said %s", name, one.Header, said(one))
		}
		if !strings.HasPrefix(found.Notice(), want.notice) || want.notice == "" && found.Unplaced > 0 {
			t.Errorf("%s: %q", name, found.Notice())
		}
	}
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	reply = `{"jsonrpc":"2.0","id":1,"result":{}}`
)

// The words that recorders have for the same.
func TestReadLines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"c2s and s2c":            {`{"raw":` + hello + `,"direction":"c2s"}` + "\n" + `{"raw":` + reply + `,"direction":"s2c"}`, "><?"},
		"arrows":                 {`{"data":` + hello + `,"dir":"→"}` + "\n" + `{"data":` + reply + `,"dir":"←"}`, "><?"},
		"send and recv":          {`{"msg":` + hello + `,"type":"send"}` + "\n" + `{"msg":` + reply + `,"type":"recv"}`, "><?"},
		"in is from the client":  {`{"msg":` + hello + `,"type":"in"}` + "\n" + `{"msg":` + reply + `,"type":"out"}`, "><?"},
		"who sent it":            {`{"payload":` + hello + `,"from":"client"}` + "\n" + `{"payload":` + reply + `,"from":"server"}`, "><?"},
		"under jsonrpc":          {`{"jsonrpc":` + hello + `,"from":"client"}`, ">?"},
		"the object itself":      {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{},"from":"client","at":5}`, ">?"},
		"a message that was cut": {`{"raw":` + hello + `,"dir":"c2s"}` + "\n" + `{"raw":` + reply + `,"dir":"s2c","truncated":true}`, ">??"},
		"hidden":                 {`{"raw":` + hello + `,"dir":"c2s"}` + "\n" + `{"raw":` + reply + `,"dir":"s2c","redacted":true}`, ">??"},
		"two directions":         {`{"raw":` + hello + `,"type":"request","dir":"c2s"}`, ">?"},
		"a mark before":          {"\ufeff" + `{"raw":` + hello + `,"dir":"c2s"}`, ">?"},
		"a part in a log":        {"2026-01-02T03:04:05.000Z [a] [info] Message from client: " + hello + "\n2026-01-02T03:04:05.000Z [a] [info] Message from server: {\"jso", ">??"},
		"mixed":                  {`{"raw":` + hello + `,"dir":"c2s"}` + "\n" + `[]` + "\n" + `7` + "\nwords\n", ">?"},
	} {
		found, err := importer.Read(strings.NewReader(test.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := said(found.Connections[0]); got != test.want {
			t.Errorf("%s: said %s, wanted %s", name, got, test.want)
		}
	}
}

// Who opens anew begins another connection, if the recorder has no name for it.
func TestReadSeveralConnections(t *testing.T) {
	t.Parallel()
	opening := `{"raw":` + hello + `,"dir":"c2s"}` + "\n"
	named := func(id string) string { return strings.Replace(opening, "{", `{"session_id":"`+id+`",`, 1) }
	for text, want := range map[string]int{opening + opening: 2, named("a") + named("b"): 2, named("a") + named("a"): 1} {
		found, err := importer.Read(strings.NewReader(text))
		if err != nil || len(found.Connections) != want {
			t.Errorf("%d connections, wanted %d, %v:\n%s", len(found.Connections), want, err, text)
		}
	}
	found, err := importer.Read(strings.NewReader(strings.Replace(opening, "initialize", "ping", 1)))
	if err != nil || !found.Connections[0].Header.Joined {
		t.Errorf("one that had begun before: %+v, %v", found, err)
	}
}

// What is of no kind ends with one line, and nothing takes more than it weighs.
func TestReadWhatIsNone(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 1<<20)
	for name, test := range map[string]struct{ text, want string }{
		"words":            {"one\ntwo\n", "line 1: no message of MCP was found; looked for a transcript, HAR 1.2"},
		"nothing":          {"[]", "line 1: no message of MCP was found"},
		"a binary":         {"\x7fELF\x00\x01", "line 1: no message of MCP was found"},
		"a cut HAR":        {`{"log":{"version":"1.2","entries":[` + "\n{", "line 2: not a HAR that is whole"},
		"a HAR of others":  {`{"log":{"version":"1.2","entries":7}}`, "line 1: not a HAR that is whole"},
		"odd entries":      {`{"log":{"entries":[7,null,{},{"request":7},{"request":{"url":"%"}}]}}`, "line 1: no message of MCP"},
		"deep":             {deep, "line 1: no message of MCP was found"},
		"deep in a HAR":    {`{"log":{"entries":[` + deep, "line 1: not a HAR that is whole"},
		"deep in a line":   {"\n" + `{"raw":` + deep, "line 2: no message of MCP was found"},
		"deep in a string": {`{"dir":"c2s","raw":"` + deep + `"}`, "line 1: no message of MCP was found"},
		"too many":         {strings.Repeat(`{"raw":`+hello+`,"dir":"c2s"}`+"\n", 4097), "line 1: more than 4096 connections"},
		"too much":         {strings.Repeat(" ", 128<<20) + "{}", "line 1: longer than 128 MiB"},
	} {
		found, err := importer.Read(strings.NewReader(test.text))
		if _, isLine := errors.AsType[*transcript.LineError](err); !isLine || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// exchanged is a connection over HTTP with all that a HAR has room for.
func exchanged() (transcript.Header, []transcript.Event) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	id, retry := "7", 5
	events := []transcript.Event{
		{Stream: "post-1", From: protocol.Client, Kind: transcript.Head, HTTP: &transcript.HTTP{Method: "POST", URL: "http://localhost/mcp?a=b", Header: http.Header{"Accept": {"a", "b"}}}, Deliberate: "a test"},
		{Stream: "post-1", From: protocol.Client, Kind: transcript.Message, Raw: []byte(hello)},
		{Stream: "post-1", From: protocol.Server, Kind: transcript.Head, HTTP: &transcript.HTTP{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}, "Mcp-Session-Id": {"s"}}}},
		{Stream: "post-1", From: protocol.Server, Kind: transcript.Block, Raw: []byte(": here\nid: 6\nretry: 5"), SSE: &transcript.SSE{ID: new("6"), Retry: &retry, Comments: []string{"here"}}},
		{Stream: "get-1", From: protocol.Client, Kind: transcript.Head, HTTP: &transcript.HTTP{Method: "GET", URL: "http://localhost/mcp", Header: http.Header{}}},
		{Stream: "post-1", From: protocol.Server, Kind: transcript.Message, Raw: []byte(reply), SSE: &transcript.SSE{ID: &id, HasData: true}},
		{Stream: "get-1", From: protocol.Server, Kind: transcript.Head, HTTP: &transcript.HTTP{Status: 405, Header: http.Header{"Content-Type": {"text/plain"}}}},
		{Stream: "get-1", From: protocol.Server, Kind: transcript.Body, Raw: []byte("no \xff")},
		{Stream: "get-1", From: protocol.Server, Kind: transcript.End, Note: transcript.Complete},
		{Stream: "post-1", From: protocol.Server, Kind: transcript.End, Note: "cut"},
		{Stream: "get-2", From: protocol.Client, Kind: transcript.Head, HTTP: &transcript.HTTP{Method: "GET", URL: "http://localhost/mcp", Header: http.Header{}}},
		{Stream: "get-2", From: protocol.Server, Kind: transcript.Head, HTTP: &transcript.HTTP{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}}},
		{Stream: "get-2", From: protocol.Server, Kind: transcript.End, Note: "left"},
		{Stream: "post-2", From: protocol.Client, Kind: transcript.Head, HTTP: &transcript.HTTP{Method: "POST", URL: "http://localhost/mcp", Header: http.Header{}}},
		{Stream: "post-2", From: protocol.Client, Kind: transcript.Message, Raw: []byte("\xff")},
	}
	for position := range events {
		events[position].Sequence, events[position].At = position, at.Add(time.Duration(position)*time.Millisecond)
	}
	return transcript.Header{Role: "server", Transport: protocol.HTTP, Agreement: transcript.Agreement{Revision: "2025-06-18"}}, events
}

// What is written as a HAR is read as it was, but for the time between a head and a body.
func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	header, events := exchanged()
	var text bytes.Buffer
	writer, err := importer.NewWriter(&text, "1")
	if err == nil {
		err = writer.Connection(header, events)
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil || writer.Written() != 4 {
		t.Fatal(writer.Written(), err)
	}
	found, err := importer.Read(&text)
	if err != nil || len(found.Connections) != 1 {
		t.Fatal(found, err)
	}
	read := found.Connections[0]
	for position := range read.Events {
		read.Events[position].At, events[position].At = time.Time{}, time.Time{}
	}
	if difference := cmp.Diff(events, read.Events); difference != "" {
		t.Error(difference)
	}
	if difference := cmp.Diff(header, read.Header); difference != "" {
		t.Error(difference)
	}
}

// FuzzRead shows that nothing makes Read panic, and that what it reads is a transcript.
func FuzzRead(f *testing.F) {
	samples, err := filepath.Glob("testdata/*.*")
	if err != nil || len(samples) == 0 {
		f.Fatal(samples, err)
	}
	for _, name := range samples {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	header, events := exchanged()
	var text bytes.Buffer
	if writer, err := importer.NewWriter(&text, "1"); err == nil && writer.Connection(header, events) == nil && writer.Close() == nil {
		f.Add(text.Bytes())
	}
	f.Add([]byte(`{"log":{"entries":[{"startedDateTime":1e308,"time":-1,"_eventSourceMessages":[{"time":"x"}]}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		importer.IsTranscript(raw)
		found, err := importer.Read(bytes.NewReader(raw))
		if at, isLine := errors.AsType[*transcript.LineError](err); err != nil && (!isLine || at.Line < 1 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("an error that names no line, or of several lines: %v", err)
		}
		if err != nil {
			return
		}
		if len(found.Connections) == 0 || strings.Contains(found.Notice(), "\n") {
			t.Errorf("%+v", found)
		}
		for _, one := range found.Connections {
			for position, event := range one.Events {
				if event.Sequence != position || event.Kind == "" {
					t.Errorf("event %d: %+v", position, event)
				}
			}
		}
	})
}
