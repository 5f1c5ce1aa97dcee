package mrtr

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestWithAnother(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"a", "ab.cd", "eyJhIjoxfQ.c2lnbmF0dXJl", "....", "ÄÖÜäöü", strings.Repeat("A", 99)} {
		for at := range len(state) {
			changed := withAnother(state, at)
			if len(changed) != len(state) || changed == state {
				t.Errorf("%q at %d became %q", state, at, changed)
			}
		}
	}
}

func TestBitsThatMeanNothingStay(t *testing.T) {
	t.Parallel()
	const state = "eyJhIjoxfQ.c2lnbmF0dXI" // each part ends in a character of which some bits mean nothing
	for at := range len(state) {
		one, other, _ := strings.Cut(withAnother(state, at), ".")
		first, err := base64.RawURLEncoding.DecodeString(one)
		if err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		second, err := base64.RawURLEncoding.DecodeString(other)
		if err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		if string(first) == `{"a":1}` && string(second) == "signatur" {
			t.Errorf("a change at %d changes nothing", at)
		}
	}
}

func TestRewritten(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		`{"a":1,"b":[true,"x",null]}`:                                         `{"a":11,"b":[false,"x-mcpconform-wrong-4711",null]}`,
		base64.RawURLEncoding.EncodeToString([]byte(`{"user":"a"}`)) + ".sig": base64.RawURLEncoding.EncodeToString([]byte(`{"user":"a-mcpconform-wrong-4711"}`)) + ".sig",
		base64.StdEncoding.EncodeToString([]byte(`{"n":-2}`)):                 base64.StdEncoding.EncodeToString([]byte(`{"n":12}`)),
		"opaque": "", "": "", "123": "", `"text"`: "",
	} {
		if changed, readable := rewritten(state); changed != want || readable != (want != "") {
			t.Errorf("%q became %q, %v, expected %q", state, changed, readable, want)
		}
	}
}
