package fault

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Words is one word or a list of them.
type Words []string

// UnmarshalYAML takes a single word for a list of one.
func (w *Words) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*w = Words{node.Value}
		return nil
	}
	var list []string
	if err := node.Decode(&list); err != nil {
		return err
	}
	*w = list
	return nil
}

// Value is a JSON value to put into a message. In it, a mapping with one of
// these keys alone stands for something of the wire:
//
//	$asked: POINTER    a part of the request that the message answers
//	$message: POINTER  a part of the message itself
//	$json: TEXT        JSON as it is spelled, such as 1.0 or 1e400
type Value struct {
	value any
}

// UnmarshalYAML takes any value that JSON has.
func (v *Value) UnmarshalYAML(node *yaml.Node) error {
	value, err := jsonOf(node)
	v.value = value
	return err
}

// jsonOf makes a JSON value of YAML: keys are text, dates are text.
func jsonOf(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.AliasNode:
		return jsonOf(node.Alias)
	case yaml.MappingNode:
		object := make(map[string]any, len(node.Content)/2)
		for i := 0; i < len(node.Content); i += 2 {
			member, err := jsonOf(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			object[node.Content[i].Value] = member
		}
		return object, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, child := range node.Content {
			element, err := jsonOf(child)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		return list, nil
	}
	return scalarOf(node)
}

// jsonNull is the tag of a null that is a value.
const jsonNull = "!json-null"

func scalarOf(node *yaml.Node) (any, error) {
	switch node.ShortTag() {
	case "!!null", jsonNull:
		return nil, nil
	case "!!bool":
		var truth bool
		err := node.Decode(&truth)
		return truth, err
	case "!!int", "!!float":
		if !json.Valid([]byte(node.Value)) {
			return nil, fmt.Errorf(
				"line %d: %s is no number of JSON; write it as {$json: \"...\"}",
				node.Line,
				node.Value,
			)
		}
		return json.Number(node.Value), nil
	}
	return node.Value, nil
}

// errAbsent says that a pointer of a value leads nowhere.
var errAbsent = errors.New("there is no such member")

// resolve fills in what stands for parts of the wire.
func (v *Value) resolve(message, asked any) (any, error) {
	return resolve(v.value, message, asked)
}

func resolve(value, message, asked any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		if part, special, err := reference(value, message, asked); special {
			return part, err
		}
		object := make(map[string]any, len(value))
		for name, member := range value {
			resolved, err := resolve(member, message, asked)
			if err != nil {
				return nil, err
			}
			object[name] = resolved
		}
		return object, nil
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			resolved, err := resolve(element, message, asked)
			if err != nil {
				return nil, err
			}
			list[i] = resolved
		}
		return list, nil
	}
	return value, nil
}

func reference(value map[string]any, message, asked any) (part any, special bool, err error) {
	if len(value) != 1 {
		return nil, false, nil
	}
	for name, member := range value {
		text, _ := member.(string)
		from := message
		switch name {
		case "$json":
			return json.RawMessage(text), true, nil
		case "$asked":
			from = asked
		case "$message":
		default:
			return nil, false, nil
		}
		found := lookup(from, jsonrpc.Path(text))
		if len(found) == 0 {
			return nil, true, errAbsent
		}
		return found[0], true, nil
	}
	return nil, false, nil
}

// Condition is what a value at a pointer must be. Plain text, a number, a list,
// true, false or null must be equal; a mapping says more.
type Condition struct {
	// Is is equal to the value.
	Is *Value `yaml:"is"`
	// Not is different from it; an absent value differs from all.
	Not *Value `yaml:"not"`
	// Present wants a value to be there, or not.
	Present *bool `yaml:"present"`
	// Type is that of JSON: string, number, boolean, null, object, array.
	Type string `yaml:"type"`
	// Matches is a regular expression for text.
	Matches Pattern `yaml:"matches"`
}

// UnmarshalYAML takes anything but a mapping for a value to be equal to.
func (c *Condition) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		c.Is = &Value{}
		return c.Is.UnmarshalYAML(node)
	}
	type plain Condition
	return node.Decode((*plain)(c))
}
