package yamlnode_test

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"nothing":             {"", ""},
		"a mapping":           {"a: 1\nb: {a: 1}\nc: [{a: 1}, {a: 1}]\n", ""},
		"an alias":            {"a: &x {b: 1}\nb: *x\nc: {<<: *x, b: 2}\n", ""},
		"a key twice":         {"a: 1\nb: 2\na: 3\n", `3: key "a" is given twice, the first time on line 1`},
		"further in":          {"- a:\n    b: 1\n    b: 2\n", `3: key "b" is given twice, the first time on line 2`},
		"of another type":     {"1: a\n'1': b\n", `2: key "1" is given twice, the first time on line 1`},
		"a key that is a map": {"a: 1\n? {b: 1}\n: 2\n", "2: a list, mapping or alias stands where a key belongs"},
		"many lists":          {strings.Repeat("- [0, 0]\n", 35_000), "33333: more than 100000 keys and values"},
		"many keys twice":     {strings.Repeat("a: #\n", 10_000), `2: key "a" is given twice, the first time on line 1`},
		"many keys":           {numbered(20_000), "1: more than 15000 keys in one mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var document yaml.Node
			if err := yaml.Unmarshal([]byte(test.text), &document); err != nil {
				t.Fatal(err)
			}
			found := ""
			if problem := yamlnode.Check(&document); problem != nil {
				found = fmt.Sprintf("%d: %s", problem.Line, problem.Text)
			}
			if found != test.want {
				t.Errorf("found %q, wanted %q", found, test.want)
			}
		})
	}
}

func numbered(keys int) string {
	var text strings.Builder
	for number := range keys {
		fmt.Fprintf(&text, "k%d: 1\n", number)
	}
	return text.String()
}
