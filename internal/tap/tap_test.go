package tap_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/tap"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// FuzzReader shows that a reader gets what it is given, in pieces of any size, and how it ended.
func FuzzReader(f *testing.F) {
	f.Add([]byte("one\ntwo"), 1, true)
	f.Add([]byte(""), 3, false)
	f.Fuzz(func(t *testing.T, text []byte, size int, isWhole bool) {
		var read []byte
		var failed error
		reader := tap.Read(func(source io.Reader) { read, failed = io.ReadAll(source) })
		for piece := range slices.Chunk(text, max(1, size)) {
			reader.Take(piece)
		}
		var end error
		if !isWhole {
			end = io.ErrUnexpectedEOF
		}
		reader.End(end)
		reader.End(errors.New("again"))
		if string(read) != string(text) || !errors.Is(failed, end) {
			t.Errorf("read %q of %q, %v", read, text, failed)
		}
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	const text = "a\n\nfour\nlonger\nrest"
	want := []string{`"a" 0 `, `"" 0 `, `"four" 0 `, `"long" 6 the beginning of a line that is too long`, `"rest" 0 not ended by a newline`}
	for size := 1; size <= len(text); size++ {
		var told []string
		lines := &tap.Lines{From: protocol.Client, Limit: 4, Tell: func(event transcript.Event) {
			told = append(told, fmt.Sprintf("%q %d %s", event.Raw, event.Size, event.Note))
		}}
		for piece := range slices.Chunk([]byte(text), size) {
			lines.Take(piece)
		}
		lines.End(nil)
		if lines.End(nil); !slices.Equal(told, want) {
			t.Errorf("in pieces of %d: %q", size, told)
		}
		told = nil
		lines.Take([]byte("lo"))
		lines.Skip()
		if lines.Take([]byte("st\nkept\n")); len(told) != 1 || !strings.Contains(told[0], "kept") {
			t.Errorf("behind a gap: %q", told)
		}
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from   protocol.Party
		method string
		size   int
		cut    bool
		kind   transcript.Kind
		note   string
	}{
		{protocol.Client, http.MethodPost, 2, false, transcript.Message, ""},
		{protocol.Client, http.MethodPut, 2, false, transcript.Body, ""},
		{protocol.Server, http.MethodPut, 2, false, transcript.Message, ""},
		{protocol.Server, http.MethodDelete, 2, false, transcript.Body, ""},
		{protocol.Server, http.MethodPost, 2, true, transcript.Body, "cut off"},
		{protocol.Client, http.MethodPost, 3, false, transcript.Message, "the beginning of a body that is too long"},
	} {
		event := tap.Body(test.from, test.method, http.StatusOK, []byte("{}"), test.size, test.cut)
		if event.Kind != test.kind || event.Note != test.note || (event.Size != 0) != (test.size > 2) {
			t.Errorf("%+v: %+v", test, event)
		}
	}
}
