package reports

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                         "",
		"plain, 日本語, naïve, 👩‍🚀":   "plain, 日本語, naïve, 👩‍🚀",
		"two\nlines\tand a tab":    "two\nlines\tand a tab",
		"\x1b[31mred\x1b[0m":       `\x1b[31mred\x1b[0m`,
		"carriage\rreturn\x00\x7f": `carriage\x0dreturn\x00\x7f`,
		"c1 \u0085\u009b":          `c1 \u0085\u009b`,
		"\xff\xc3(":                `\xff\xc3(`,
		"\xed\xa0\x80":             `\xed\xa0\x80`, // a surrogate
		"\u202etxt.exe\u2066":      `\u202etxt.exe\u2066`,
		"\ufeffmark\ufffe\uffff":   `\ufeffmark\ufffe\uffff`,
		"\u2028\u2029\u00ad":       `\u2028\u2029\u00ad`,
		"\U000e0041tag":            `\U000e0041tag`,
		"a replacement \ufffd":     "a replacement \ufffd",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, wanted %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[31m", "\xff\xfe", "日本語\u202e", "\n\t\r", "\ufffe\U0001fffe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := Visible(s)
		if !utf8.ValidString(shown) {
			t.Errorf("not UTF-8: %q", shown)
		}
		for _, r := range shown {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff {
				t.Errorf("%q has %q", shown, r)
			}
		}
		if Visible(shown) != shown {
			t.Errorf("%q is changed by a second time", shown)
		}
		if !utf8.ValidString(valid(s)) {
			t.Errorf("%q is not made UTF-8", s)
		}
		if line := oneLine(s); strings.ContainsAny(line, "\n\t") {
			t.Errorf("%q is not one line", line)
		}
		for _, width := range []int{8, 20, 80} {
			for _, line := range fit(shown, width, 5) {
				if columns.StringWidth(line) > max(width, 40) {
					t.Errorf("%d columns, wanted %d: %q", columns.StringWidth(line), width, line)
				}
			}
			whole := strings.Join(wrap(shown, width), "")
			squeeze := strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace
			if squeeze(whole) != squeeze(shown) {
				t.Errorf("wrapping %q loses something: %q", shown, whole)
			}
		}
	})
}
