package yamlnode_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

func TestEachFile(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"b.yaml":   {Data: []byte("b")},
		"a.yaml":   {Data: []byte("a")},
		"c.yaml":   {Mode: fs.ModeDir},
		"d.txt":    {Data: []byte("d")},
		"e/f.yaml": {Data: []byte("f")},
	}
	var read []string
	err := yamlnode.EachFile(files, func(name string, text []byte) error {
		read = append(read, name+"="+string(text))
		return errors.New("wrong: " + name)
	})
	if want := []string{"a.yaml=a", "b.yaml=b"}; !slices.Equal(read, want) {
		t.Errorf("read %v, wanted %v", read, want)
	}
	for _, text := range []string{"wrong: a.yaml", "wrong: b.yaml", "c.yaml"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error %v lacks %q", err, text)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	tools := yamlnode.Entries{
		One: "a tool", Many: "tools", First: "tool", Keys: []string{"tool"},
		Hint: func(key string, known []string) string {
			return "; one of " + strings.Join(known, " ") + " and not " + key
		},
	}
	parse := func(item *yaml.Node) (string, error) {
		if name := item.Content[1].Value; name != "bad" {
			return name, nil
		}
		return "", errors.New("f: a bad one")
	}
	for text, want := range map[string]struct{ values, err string }{
		"":                           {},
		"- tool: a\n- tool: b\n":     {"a b", ""},
		"- tool: bad\n- tool: b\n":   {"b", "f: a bad one"},
		"tool: a\n":                  {"", `f:1: expected a list of tools, each beginning with "- tool:"`},
		"\n- a\n- tool: b\n":         {"b", "f:2: a tool: expected a map"},
		"- toll: a\n":                {"", `f:1: unknown key "toll"; one of tool and not toll`},
		"- tool: &a a\n- tool: *a\n": {"a", "f:2: aliases of YAML are not for tools: write it out"},
		"- [":                        {"", "f:1: did not find expected node content"},
	} {
		found, err := yamlnode.List("f", []byte(text), tools, parse)
		words := ""
		if err != nil {
			words = err.Error()
		}
		if strings.Join(found, " ") != want.values || words != want.err {
			t.Errorf("%q: %v, %s\nwanted %s, %s", text, found, words, want.values, want.err)
		}
	}
	free := yamlnode.Entries{One: "a tool", Many: "tools", First: "tool"}
	if found, err := yamlnode.List("f", []byte("- other: a\n"), free, parse); err != nil || len(found) != 1 {
		t.Errorf("any key: %v, %v", found, err)
	}
}
