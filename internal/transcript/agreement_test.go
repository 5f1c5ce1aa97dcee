package transcript_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// What becomes known while a transcript grows counts as if it had been known first.
func TestAgreements(t *testing.T) {
	t.Parallel()
	tools := []map[string]any{{"name": "add"}}
	for name, test := range map[string]struct {
		first transcript.Agreement
		later []transcript.Agreement
		want  transcript.Agreement
	}{
		"nothing":       {},
		"all first":     {first: transcript.Agreement{Revision: "2025-06-18", Tools: tools}, want: transcript.Agreement{Revision: "2025-06-18", Tools: tools}},
		"all later":     {later: []transcript.Agreement{{Revision: "2025-06-18"}, {Tools: tools}}, want: transcript.Agreement{Revision: "2025-06-18", Tools: tools}},
		"the last word": {first: transcript.Agreement{Revision: "2025-06-18"}, later: []transcript.Agreement{{Revision: "2025-11-25"}}, want: transcript.Agreement{Revision: "2025-11-25"}},
		"each side": {
			first: transcript.Agreement{Capabilities: transcript.Capabilities{Client: map[string]any{"roots": map[string]any{}}}},
			later: []transcript.Agreement{{Capabilities: transcript.Capabilities{Server: map[string]any{"tools": map[string]any{}}}}},
			want: transcript.Agreement{Capabilities: transcript.Capabilities{
				Client: map[string]any{"roots": map[string]any{}}, Server: map[string]any{"tools": map[string]any{}}}},
		},
	} {
		var text bytes.Buffer
		writer, err := transcript.NewWriter(&text, transcript.Header{Transport: "stdio", Agreement: test.first})
		for _, later := range test.later {
			if err == nil {
				err = writer.Agree(later)
			}
		}
		if err == nil {
			err = writer.Event(transcript.Event{Kind: transcript.Close, Connection: "c", At: when})
		}
		if err != nil {
			t.Fatal(err)
		}
		header, events, err := transcript.Read(&text)
		if err != nil || len(events) != 1 {
			t.Fatalf("%s: read %d events: %v", name, len(events), err)
		}
		if difference := cmp.Diff(test.want, header.Agreement); difference != "" {
			t.Errorf("%s:\n%s", name, difference)
		}
	}
}

func TestAgreementsThatAreNone(t *testing.T) {
	t.Parallel()
	header := `{"format":"mcpconform-transcript","version":2,"transport":"stdio"}` + "\n"
	for _, line := range []string{`{"agreed":7}`, `{ "agreed" : null}`, `{"agreed":{"revision":7}}`, `{"agreed":`} {
		_, _, err := transcript.Read(strings.NewReader(header + line))
		if want := `line 2: not a line of a transcript: "agreed" has to be an object; record one`; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: told %v, wanted %s", line, err, want)
		}
	}
}

// A log tells of everything, even of what it has no room for, whole.
func TestLogTells(t *testing.T) {
	t.Parallel()
	log := transcript.NewLogIn(transcript.NewMemoryBudget(2000), "c")
	var told []transcript.Event
	log.Tell(func(event transcript.Event) { told = append(told, event) })
	for range 20 {
		log.Append(transcript.Event{Kind: transcript.Message, Raw: []byte(strings.Repeat("x", 100))})
	}
	if len(log.Events()) == 20 || log.Dropped() == 0 {
		t.Fatal("all of it fits")
	}
	if len(told) != 20 || told[19].Sequence != 19 || len(told[19].Raw) != 100 || told[19].Connection != "c" {
		t.Errorf("told of %d events, the last %+v", len(told), told[len(told)-1])
	}
}
