package yamlnode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Parse reads a file of one document and returns what it says; nil for nothing at all.
// The error begins with file:line.
func Parse(name string, text []byte) (*yaml.Node, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s:1: not UTF-8", name)
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, Explain(name, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, fmt.Errorf("%s:%d: more than one document; what follows --- would be ignored", name, second.Line)
	case !errors.Is(err, io.EOF):
		return nil, Explain(name, err)
	}
	if problem := Check(&document); problem != nil {
		return nil, fmt.Errorf("%s:%d: %s", name, problem.Line, problem.Text)
	}
	return document.Content[0], nil
}

// HasAlias tells whether a node has one: with aliases a text grows without end.
func HasAlias(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || slices.ContainsFunc(node.Content, HasAlias)
}

// How the YAML library words its errors, and the line that they tell.
var placed = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// Explain turns an error of the YAML library into one that begins with file:line.
func Explain(name string, err error) error {
	text := err.Error()
	if wrong, several := errors.AsType[*yaml.TypeError](err); several {
		text = wrong.Errors[0]
	}
	found := placed.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
	line := 1
	if at, err := strconv.Atoi(found[1]); err == nil {
		line = at
	}
	return fmt.Errorf("%s:%d: %s", name, line, found[2])
}
