package excerpt

import (
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
