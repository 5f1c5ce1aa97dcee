// Package yamlnode looks at a YAML document before the library makes values of
// it: a file may come from anywhere.
package yamlnode

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

const (
	// maxNodes bounds the keys and values of a document: a catalogue of a thousand
	// faults has some thirty thousand.
	maxNodes = 100_000
	// maxKeys bounds the keys of one mapping. The library compares each with all
	// others, which takes a second for twenty-five thousand.
	maxKeys = 15_000
)

// Problem is what is wrong with a document, and the line.
type Problem struct {
	Line int
	Text string
}

// Check finds a key that is given twice, of which the library would list every
// pair, and what is too long. It returns nil when all is well.
func Check(document *yaml.Node) *Problem {
	left := maxNodes
	return check(document, &left)
}

func check(node *yaml.Node, left *int) *Problem {
	if *left--; *left < 0 {
		return &Problem{node.Line, fmt.Sprintf("more than %d keys and values", maxNodes)}
	}
	if node.Kind == yaml.MappingNode {
		if problem := repeated(node); problem != nil {
			return problem
		}
	}
	for _, child := range node.Content {
		if problem := check(child, left); problem != nil {
			return problem
		}
	}
	return nil
}

func repeated(mapping *yaml.Node) *Problem {
	if len(mapping.Content)/2 > maxKeys {
		return &Problem{mapping.Line, fmt.Sprintf("more than %d keys in one mapping", maxKeys)}
	}
	lines := map[string]int{}
	for pair := range slices.Chunk(mapping.Content, 2) {
		key := pair[0]
		if key.Kind != yaml.ScalarNode {
			return &Problem{key.Line, "a list, mapping or alias stands where a key belongs"}
		}
		if line, seen := lines[key.Value]; seen {
			return &Problem{key.Line, fmt.Sprintf("key %q is given twice, the first time on line %d", key.Value, line)}
		}
		lines[key.Value] = key.Line
	}
	return nil
}
