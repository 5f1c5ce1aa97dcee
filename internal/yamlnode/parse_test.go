package yamlnode_test

import (
	"fmt"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 "<nil> <nil>",
		"# a comment\n":    "<nil> <nil>",
		"a: 1\n":           "a 1 <nil>",
		"\xff":             "<nil> f:1: not UTF-8",
		"a: 1\n---\nb: 2":  "<nil> f:2: more than one document; what follows --- would be ignored",
		"a: 1\n---\nb: [":  "<nil> f:3: did not find expected node content",
		"\na: 1\nb: c: d":  "<nil> f:3: mapping values are not allowed in this context",
		"a: 1\na: 2\n":     `<nil> f:2: key "a" is given twice, the first time on line 1`,
		"a: &b 1\nc: *b\n": "a 1 <nil>",
	} {
		node, err := yamlnode.Parse("f", []byte(text))
		said := "<nil>"
		if node != nil {
			said = node.Content[0].Value + " " + node.Content[1].Value
		}
		if found := fmt.Sprintf("%s %v", said, err); found != want {
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

// What the library says of values has a place, too.
func TestExplain(t *testing.T) {
	t.Parallel()
	var into struct{ A int }
	err := yaml.Unmarshal([]byte("\na: b"), &into)
	if told := yamlnode.Explain("f", err).Error(); told != "f:2: cannot unmarshal !!str `b` into int" {
		t.Errorf("told %q", told)
	}
}
