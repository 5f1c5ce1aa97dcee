package schema

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refused is a published example that the specification itself does not allow.
type refused struct {
	revision, example string
	found             []string // what is wrong with it
	page, sentence    string   // that say so, as those of a deviation
}

var refusedExamples = []refused{
	{
		revision: "2026-07-28", example: "ReadResourceResultResponse/read-resource-result-response.json",
		found: []string{
			`at /result: expected member "cacheScope"; found an object with members contents, resultType (ReadResourceResult)`,
			`at /result: expected member "ttlMs"; found an object with members contents, resultType (ReadResourceResult)`,
		},
		page:     "server/utilities/caching",
		sentence: `Servers MUST include caching hints on results with resultType: "complete" returned by the following operations`,
	},
}

// expected finds what is known to be wrong with an example.
func expected(revision, example string) []string {
	for _, known := range refusedExamples {
		if known.revision == revision && known.example == example {
			return known.found
		}
	}
	return nil
}

// TestPublishedExamples validates all examples that are published beside a schema: each by the definition whose name
// its folder has, and what is a message, a result or an error also as such.
func TestPublishedExamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MCP_SCHEMA_DIR")
	if dir == "" {
		t.Skip("MCP_SCHEMA_DIR is not set: no published examples to validate")
	}
	validated := map[string]bool{}
	for _, revision := range Revisions() {
		root := filepath.Join(dir, revision, "examples")
		examples, err := fs.Glob(os.DirFS(root), "*/*.json")
		if err != nil {
			t.Fatal(err)
		}
		s := schemaOf(t, revision)
		for _, example := range examples {
			text, err := os.ReadFile(filepath.Join(root, example))
			if err != nil {
				t.Fatal(err)
			}
			definition, value := path.Dir(example), decode(t, string(text))
			if s.definitions[definition] == nil {
				t.Errorf("%s: %s is an example of what is not defined", revision, example)
				continue
			}
			validated[revision+"/"+example] = true
			got := lines(append(s.Validate(definition, value), asWhole(s, definition, value)...))
			if diff := cmp.Diff(expected(revision, example), got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", revision, example, diff)
			}
		}
	}
	for _, known := range refusedExamples {
		if !validated[known.revision+"/"+known.example] {
			t.Errorf("%s: there is no example %s, which is known to be wrong", known.revision, known.example)
		}
	}
	t.Logf("%d examples validated", len(validated))
}

// asWhole judges an example by the method or error whose message or result its definition is.
func asWhole(s *Schema, definition string, example any) []Violation {
	for _, m := range s.Methods() {
		switch {
		case definition == m.Message && m.Kind == Request:
			return s.ValidateRequest(m.Name, example)
		case definition == m.Message && m.Kind == Notification:
			return s.ValidateNotification(m.Name, example)
		case definition == m.Result, definition == m.InputResult:
			return s.ValidateResult(m.Name, example)
		case definition == m.Result+"Response":
			return s.ValidateResponse(example)
		}
	}
	for _, known := range s.ErrorCodes() {
		if definition == known.Definition && known.whole {
			return s.ValidateError(example)
		}
	}
	return nil
}
