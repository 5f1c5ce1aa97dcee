package filter

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// labels are those of a check.
func labels(page, id, level, revision, transport string) []string {
	return slices.Concat([]string{id}, Beginnings(id), Page(page), Level(level), []string{revision, transport, "needs:tools"})
}

func TestFilters(t *testing.T) {
	t.Parallel()
	check := labels("server/utilities/pagination", "pagination.cursor.refused", "MUST NOT", "2025-11-25", "http")
	for text, want := range map[string]bool{
		"server/utilities/pagination": true, "Server/Utilities/Pagination": true, "server/utilities": true, "server": true,
		"server/tools": false, "pagination": true, "pagination.cursor": true, "pagination.cursor.refused": true, "pagination.c": false,
		"MUST": true, "must not": true, "SHOULD": false, "2025-11-25": true, "2025-06-18": false, "http": true, "stdio": false,
		"server/tools || server/utilities": true, "server/tools, http": true, "server && !http": false,
		"!(server/tools || 2025-06-18) && http": true, "/cursor/": true, "/^cursor/": false, "server/utilities && /refused$/": true,
		"needs:tools": true, "needs: containsAny {tools, prompts}": true, "needs: containsAll {tools, prompts} || stdio": false,
		"  http  ": true,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := f.Matches(check); got != want || f.String() != text {
			t.Errorf("%q: %v, wanted %v (%s)", text, got, want, f.Expression())
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":            "it is empty",
		"  ":          "it is empty",
		"a & b":       "Invalid token '&'. Did you mean '&&'?",
		"(a":          "Mismatched '(' - could not find matching ')'.",
		"a && ":       "Unexpected EOF.",
		"/(/":         "RegExp compilation error: error parsing regexp: missing closing ): `(`",
		"a /b/":       "",
		"x: oneOf {}": "Invalid set operation 'oneOf'.",
	} {
		_, err := Parse(text)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, wanted %s", text, err, want)
		}
	}
}

func TestUnknownWords(t *testing.T) {
	t.Parallel()
	known := labels("server/tools", "tools.list.valid", "MUST", "2025-11-25", "http")
	for text, want := range map[string][]string{
		"server/tools && MUST":             {"", ""},
		"server/tool":                      {"server/tool", "server/tools"},
		"server/tools && tools.list.vaild": {"tools.list.vaild", "tools.list.valid"},
		"!( HTTP , 2025-11-26)":            {"2025-11-26", "2025-11-25"},
		"completely different":             {"completely different", ""},
		"/completely/ || needs: isEmpty":   {"", ""},
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		word, meant := f.Unknown(known)
		if diff := cmp.Diff(want, []string{word, meant}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestTextsStandForRequirements(t *testing.T) {
	t.Parallel()
	known := func(word string) bool { return word == "MUST" }
	find := func(text string) []string {
		if HasText("rejects a DELETE (or a GET) with a foreign Origin", text) {
			return []string{"http.origin", "http.delete"}
		}
		return nil
	}
	for text, want := range map[string]string{
		"foreign origin":                 "(http.origin || http.delete)",
		`"MUST" || MUST`:                 "a quoted text || MUST",
		`MUST && !"DELETE (or" , nobody`: "MUST && !(http.origin || http.delete) , nobody",
		"reign":                          "reign",
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := f.Resolve(known, find); err != nil || f.Expression() != want || f.String() != text {
			t.Errorf("%s: %q, wanted %q (%v)", text, f.Expression(), want, err)
		}
	}
}
