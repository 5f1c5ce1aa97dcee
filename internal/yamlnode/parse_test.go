package yamlnode_test

import (
	"fmt"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 "<nil> <nil>",
		"# a comment\n":    "<nil> <nil>",
		"a: 1\n":           "a 1 <nil>",
		"\ufeffa: 1\nb: 2": "a 1 <nil>",
		"\xff":             "<nil> f:1: not UTF-8",
		"a: 1\n---\nb: 2":  "<nil> f:2: more than one document; what follows --- would be ignored",
		"a: 1\n---\nb: [":  "<nil> f:3: did not find expected node content",
		"\na: 1\nb: c: d":  "<nil> f:3: mapping values are not allowed in this context",
		"a: 1\na: 2\n":     `<nil> f:2: key "a" is given twice, the first time on line 1`,
		"a: &b 1\nc: *b\n": "a 1 <nil>",
	} {
		node, err := yamlnode.Parse("f", []byte(text))
		words := "<nil>"
		if node != nil {
			words = node.Content[0].Value + " " + node.Content[1].Value
		}
		if found := fmt.Sprintf("%s %v", words, err); found != want {
			t.Errorf("%q: %s\nwanted %s", text, found, want)
		}
	}
}

func TestHasAlias(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"a: &b 1\nc: [1]": false, "a: &b 1\nc: [*b]": true} {
		node, err := yamlnode.Parse("f", []byte(text))
		if err != nil || yamlnode.HasAlias(node) != want {
			t.Errorf("%q: wanted %t, %v", text, want, err)
		}
	}
}

// What the library says of values has a place, too, and is said for people.
func TestExplain(t *testing.T) {
	t.Parallel()
	type part struct{ A int }
	for text, want := range map[string]string{
		"\na: b":    `f:2: "b" stands where a whole number belongs`,
		"b: [1]":    "f:1: a list stands where true or false belongs",
		"c: soon":   `f:1: "soon" stands where a duration such as 5s belongs`,
		"d: {a: 1}": "f:1: a mapping stands where text belongs",
		"e: a":      `f:1: "a" stands where a list belongs`,
		"f: [1]":    "f:1: a list stands where a mapping belongs",
		"g: {a: 1}": "f:1: a mapping stands where text belongs",
	} {
		var into struct {
			A int
			B bool
			C time.Duration
			D string
			E []string
			F part
			G word
		}
		err := yaml.Unmarshal([]byte(text), &into)
		if err == nil {
			t.Errorf("%q: no error", text)
			continue
		}
		if reported := yamlnode.Explain("f", err).Error(); reported != want {
			t.Errorf("%q: told %s\nwanted %s", text, reported, want)
		}
	}
}

type word string
