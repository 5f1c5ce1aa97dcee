package transcript_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// FuzzRead shows that nothing makes Read panic, and that what it reads is
// written and read again the same.
func FuzzRead(f *testing.F) {
	var text bytes.Buffer
	if err := transcript.Write(&text, everyMember(), everyKind()); err != nil {
		f.Fatal(err)
	}
	whole := text.Bytes()
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(append(headerLine(f, 0), whole...))
	for line := range bytes.Lines(text.Bytes()) {
		f.Add(line)
	}
	f.Add([]byte("{\"kind\":\"x\",\"raw\":\"a\",\"raw64\":\"YQ==\",\"size\":-1}\n\n[]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, text := range [][]byte{raw, append(headerLine(t, 0), raw...)} { // a file, and what is behind a header
			header, events, err := transcript.Read(bytes.NewReader(text))
			at, isLine := errors.AsType[*transcript.LineError](err)
			switch {
			case err == nil && header.Format != transcript.Format:
				t.Errorf("the format is %q", header.Format)
			case err != nil && (!isLine || at.Line < 1 || strings.Contains(err.Error(), "\n")):
				t.Errorf("an error that names no line, or of several lines: %v", err)
			}
			again(t, header, events, events)
		}
	})
}

// headerLine is a header for so many events.
func headerLine(t testing.TB, events int) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := transcript.Write(&text, everyMember(), make([]transcript.Event, events)); err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(text.Bytes(), []byte("\n"))
	return append(line, '\n')
}

// again writes a transcript, and wants to read it.
func again(t *testing.T, header transcript.Header, events, want []transcript.Event) {
	t.Helper()
	var text bytes.Buffer
	if err := transcript.Write(&text, header, events); err != nil {
		t.Skip("a year beyond 9999 is read and not written")
	}
	if lines := bytes.Count(text.Bytes(), []byte("\n")); lines != len(events)+1 {
		t.Fatalf("%d events are written on %d lines", len(events), lines)
	}
	readHeader, read, err := transcript.Read(&text)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	header.Format, header.Version, header.Events = transcript.Format, transcript.Version, len(events)
	if difference := cmp.Diff(header, readHeader, cmpopts.EquateEmpty()); difference != "" {
		t.Fatalf("a header became another:\n%s", difference)
	}
	// Members without content are not written.
	if difference := cmp.Diff(want, read, cmpopts.EquateEmpty()); difference != "" {
		t.Fatalf("an event became another:\n%s", difference)
	}
	for number := range want {
		if (want[number].Raw == nil) != (read[number].Raw == nil) {
			t.Errorf("event %d has bytes: %t, and %t", number, want[number].Raw != nil, read[number].Raw != nil)
		}
	}
}

// FuzzWrite shows that each event is read as it was written. Of what is not
// UTF-8, the bytes of a message are kept; in other places it is replaced.
func FuzzWrite(f *testing.F) {
	f.Add([]byte("{}"), "complete", "1", "text/event-stream", int64(0))
	f.Add([]byte(""), "", "", "", int64(-1))
	f.Add([]byte("\xff\x00 not UTF-8\n"), "\xff", "\x00", "a, b\u2028", int64(1_764_066_030_123_456_789))
	f.Add([]byte("\x00\x01\x02"), "\n", "id\r", "<&>\xc3", int64(1)<<62)
	f.Fuzz(func(t *testing.T, raw []byte, note, id, header string, nanoseconds int64) {
		event := func(valid func(string) string) []transcript.Event {
			id := valid(id)
			return []transcript.Event{
				{Sequence: 3, At: time.Unix(0, nanoseconds).UTC(), Connection: valid(note), Stream: "post-1", From: protocol.Server,
					Kind: transcript.Message, Raw: raw, Size: len(raw), Note: valid(note), Deliberate: valid(id),
					SSE: &transcript.SSE{ID: &id, Name: valid(note), HasData: true, Comments: []string{valid(header), ""}}},
				{Sequence: 4, Connection: valid(note), At: time.Unix(0, nanoseconds).UTC(), Kind: transcript.Head,
					HTTP: &transcript.HTTP{Status: 200, Header: http.Header{valid(id): {valid(header), valid(note)}}}},
			}
		}
		again(t, everyMember(), event(func(text string) string { return text }), event(replaced))
	})
}

// replaced puts U+FFFD in place of each byte that is not UTF-8.
func replaced(text string) string {
	var valid strings.Builder
	for _, char := range text { // a byte that is not UTF-8 is a RuneError
		valid.WriteRune(char)
	}
	if !utf8.ValidString(valid.String()) {
		panic("a rune that is not UTF-8")
	}
	return valid.String()
}
