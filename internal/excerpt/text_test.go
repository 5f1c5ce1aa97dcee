package excerpt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ got, want string }{
		"a short one":              {Within("été", 5), "été"},
		"bytes":                    {Within("été", 4), "ét…"},
		"within a character":       {Within("été", 1), "…"},
		"as many characters":       {Characters("été", 3), "été"},
		"characters":               {Characters("étés", 3), "été…"},
		"none":                     {Characters("été", 0), "…"},
		"counted":                  {Counted("étés", 3), "été… (6 bytes)"},
		"counted, a short one":     {Counted("été", 3), "été"},
		"the middle":               {Middle("abcdefgh", 4), "abc … 4 characters left out … h"},
		"the middle, of one":       {Middle("abcde", 4), "abc … 1 character left out … e"},
		"the middle of a short":    {Middle("été", 3), "été"},
		"one line":                 {OneLine(" a\n b\t\r\nc "), "a b c"},
		"the last line":            {LastLine("a\n b\nc d\n\n"), "c d"},
		"the last line of nothing": {LastLine("\n"), ""},
	} {
		if one.got != one.want {
			t.Errorf("%s: %q, not %q", name, one.got, one.want)
		}
	}
	long := strings.Repeat("é", 1000)
	for most := range 100 {
		if got := Within(long, most); !utf8.ValidString(got) || len(got) > most+len(ellipsis) {
			t.Errorf("%d bytes: %q", most, got)
		}
	}
}
