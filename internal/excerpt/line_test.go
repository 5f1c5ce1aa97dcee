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
