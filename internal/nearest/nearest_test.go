package nearest_test

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/nearest"
)

var known = []string{"timeout", "revision", "transport", "transcripts", "url"}

func TestWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"revision":  "revision",
		"reversion": "revision",
		"REVISION":  "revision",
		"timeuot":   "timeout",
		"tranport":  "transport",
		"transcrip": "transcripts",
		"uri":       "url",
		"banana":    "",
		"":          "",
	} {
		if found := nearest.Word(word, known); found != want {
			t.Errorf("%q is taken for %q, wanted %q", word, found, want)
		}
	}
	if found := nearest.Word("revision", nil); found != "" {
		t.Errorf("of no words it found %q", found)
	}
}

// Of words equally near it is always the same one that is found.
func TestWordIsSteady(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"cats", "cars"}, {"cars", "cats"}} {
		if found := nearest.Word("cabs", words); found != "cars" {
			t.Errorf("of %q it found %q", words, found)
		}
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"reversion": `, did you mean "revision"?`,
		"banana":    "; known are revision, timeout, transcripts, transport, url",
	} {
		if hint := nearest.Hint(word, append(known, "url")); hint != want {
			t.Errorf("the hint for %q is %q, wanted %q", word, hint, want)
		}
	}
	if known[0] != "timeout" {
		t.Error("the caller's words were sorted")
	}
}
