package replay

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

// Compare says how a part of an answer is compared.
type Compare string

// How parts are compared.
const (
	Ignore Compare = "ignore" // not at all
	Shape  Compare = "shape"  // by types and members, not by values
	Exact  Compare = "exact"  // by values, too: another one fails
)

// Rule says how a part of some answers is compared. The last one that fits counts.
type Rule struct {
	Method  string  `yaml:"method"`  // "" for any
	Of      string  `yaml:"of"`      // the name of a tool or prompt, or a URI; "" for any
	Pointer string  `yaml:"pointer"` // into the result; * is any one token
	Compare Compare `yaml:"compare"`
}

// ReadRules reads a file of rules; name is what errors call it.
func ReadRules(name string, text []byte) ([]Rule, error) {
	of := yamlnode.Entries{
		One: "a rule", Many: "rules", First: "method", Keys: []string{"method", "of", "pointer", "compare"},
		Hint: func(string, []string) string { return "" },
	}
	return yamlnode.List(name, text, of, func(item *yaml.Node) (Rule, error) {
		var rule Rule
		if err := item.Decode(&rule); err != nil {
			return rule, yamlnode.Explain(name, err)
		}
		switch {
		case !slices.Contains([]Compare{Ignore, Shape, Exact}, rule.Compare):
			return rule, fmt.Errorf("%s:%d: compare is %q, not one of ignore, shape, exact",
				name, item.Line, rule.Compare)
		case rule.Pointer != "" && !strings.HasPrefix(rule.Pointer, "/"):
			return rule, fmt.Errorf("%s:%d: the pointer %q must begin with /, as in /content/*/text",
				name, item.Line, rule.Pointer)
		}
		if _, err := path.Match(rule.Of, ""); err != nil {
			return rule, fmt.Errorf("%s:%d: of is %q, which is no pattern", name, item.Line, rule.Of)
		}
		return rule, nil
	})
}

// rule is how what stands at a path of the result is compared; "" where no rule says so.
func (c *comparing) rule(at []string) (by Compare) {
	for _, rule := range c.options.Rules {
		of := rule.Of == "" || rule.Of == c.subject
		if !of {
			of, _ = path.Match(rule.Of, c.subject)
		}
		if (rule.Method == "" || rule.Method == c.method) && of && fits(jsonrpc.Path(rule.Pointer), at) {
			by = rule.Compare
		}
	}
	return by
}

// fits tells whether a path is one that a pattern names. Below the place that a pattern names,
// values are compared like it.
func fits(pattern, at []string) bool {
	for position, token := range pattern {
		if position == len(at) || token != "*" && token != at[position] {
			return false
		}
	}
	return true
}
