package excerpt

import (
	"fmt"
	"strings"
	"testing"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		strings.Repeat("x", 300):       strings.Repeat("x", 300),
		strings.Repeat("x", 301):       strings.Repeat("x", 300) + "… (301 bytes)",
		"x" + strings.Repeat("ü", 200): "x" + strings.Repeat("ü", 149) + "… (401 bytes)",
		strings.Repeat("\x80", 400):    strings.Repeat("\x80", 296) + "… (400 bytes)",
	} {
		if short := Short([]byte(text)); short != want {
			t.Errorf("%.20q… is shortened to %q, wanted %q", text, short, want)
		}
	}
}

func TestWordsThatNobodyReadsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a/", 20_000)
	got := Words("open " + long + " : no such file")
	if want := "open " + long[:300] + "… (40000 bytes) : no such file"; got != want {
		t.Errorf("%d bytes: %.400s", len(got), got)
	}
	if plain := "open run.json: no such file\nsee mcpconform merge --help"; Words(plain) != plain {
		t.Error(Words(plain))
	}
}

// A line of standard error is cut to what a person reads.
func TestALongLineOfStderrIsCut(t *testing.T) {
	t.Parallel()
	got := Stderr("begin\n" + strings.Repeat("x", 262_144) + "\npanic: nil\n")
	if len(got) > 400 || !strings.HasPrefix(got, "begin\nxxx") || !strings.HasSuffix(got, "… (262144 bytes)\npanic: nil") {
		t.Errorf("%d bytes: %.400s", len(got), got)
	}
}

// What went wrong stands above a long stack trace, and has to be seen.
func TestStderr(t *testing.T) {
	t.Parallel()
	trace := "boot.js:1\n  import x\n  ^\n\nError: Cannot find package 'x'\n" + strings.Repeat("    at frame (boot.js:1:1)\n", 20) + "\nNode.js v20\n"
	lines := make([]string, 20)
	for i := range lines {
		lines[i] = fmt.Sprint("line ", i)
	}
	for given, want := range map[string]string{
		trace:                            "boot.js:1\n\nError: Cannot find package 'x'\n\nNode.js v20",
		"usage:\n  serve\n":              "usage:\n  serve",
		strings.Join(lines, "\n") + "\n": strings.Join(lines[20-MostLines:], "\n"),
		"":                               "",
	} {
		if got := Stderr(given); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
