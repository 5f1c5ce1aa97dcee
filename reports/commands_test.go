package reports

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// commandAnywhere is what the runners of CI systems look for anywhere in a line.
var commandAnywhere = regexp.MustCompile(`##[a-zA-Z]*\[`)

// commandIn returns a line that a runner would take for a command, or "".
func commandIn(text string) string {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		seen := strings.Map(func(r rune) rune { // a comparison by culture ignores what shows nothing
			if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && r != '\t' && r != '\x1b' {
				return -1
			}
			return r
		}, line)
		if strings.HasPrefix(strings.TrimSpace(seen), "::") || commandAnywhere.MatchString(seen) {
			return line
		}
	}
	return ""
}

func TestNoCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"::error::x\n":                       ":\\u003aerror::x\n",
		"a\n \t::set-output name=x::y\n::":   "a\n \t:\\u003aset-output name=x::y\n:\\u003a",
		"a\r::debug::x":                      "a\r:\\u003adebug::x",
		"\u3000\u00a0\u200b::x":              "\u3000\u00a0\u200b:\\u003ax",
		":\u200b:x":                          ":\u200b\\u003ax",
		"it said ##[error]x":                 "it said ##\\u005berror]x",
		"####[x] and ##vso[task.a]b":         "####\\u005bx] and ##vso\\u005btask.a]b",
		"##teamcity[x] #[y] # #[z] ##a b[c]": "##teamcity\\u005bx] #[y] # #[z] ##a b[c]",
		`{"text":"##[x]"}`:                   `{"text":"##\u005bx]"}`,
		"a::b: c :: d\nstd::string\n:a:\n":   "a::b: c :: d\nstd::string\n:a:\n",
		"## Title\n\x1b[31m##\x1b[0m [x]":    "## Title\n\x1b[31m##\x1b[0m [x]",
		"":                                   "",
	} {
		for name, write := range map[string]func(*bytes.Buffer) error{
			"at once": func(out *bytes.Buffer) error {
				count, err := NoCommands(out).Write([]byte(text))
				if count != len(text) {
					t.Errorf("%q: %d bytes of %d are written", text, count, len(text))
				}
				return err
			},
			"byte by byte": func(out *bytes.Buffer) error {
				w := NoCommands(out)
				for i := range len(text) {
					if _, err := w.Write([]byte{text[i]}); err != nil {
						return err
					}
				}
				return nil
			},
		} {
			var out bytes.Buffer
			if err := write(&out); err != nil || out.String() != want {
				t.Errorf("%s: %q became %q, wanted %q (%v)", name, text, out.String(), want, err)
			}
			if line := commandIn(out.String()); line != "" {
				t.Errorf("%q is a command still", line)
			}
		}
	}
	if count, err := NoCommands(closed{}).Write([]byte("x\n::y::z")); err == nil || count != 0 {
		t.Errorf("%d, %v", count, err)
	}
}

// closed takes nothing.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func FuzzNoCommands(f *testing.F) {
	f.Add("\t ::error::a##[b]", 4)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var out bytes.Buffer
		w := NoCommands(&out)
		cut = min(max(cut, 0), len(text))
		for _, part := range []string{text[:cut], text[cut:]} {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if line := commandIn(Visible(out.String())); line != "" {
			t.Errorf("%q became %q, with the command %q", text, out.String(), line)
		}
		if again := strings.NewReplacer(`\u003a`, ":", `\u005b`, "[").Replace(out.String()); !strings.Contains(text, `\u00`) && again != text {
			t.Errorf("%q became %q", text, out.String())
		}
	})
}
