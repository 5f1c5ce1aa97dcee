package fault

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Pattern is a regular expression, checked when it is read.
type Pattern struct{ *regexp.Regexp }

// UnmarshalYAML compiles the expression.
func (p *Pattern) UnmarshalYAML(node *yaml.Node) error {
	compiled, err := regexp.Compile(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: %q is no regular expression: %w", node.Line, node.Value, err)
	}
	p.Regexp = compiled
	return nil
}
