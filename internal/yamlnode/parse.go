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

	"github.com/mcpconform/mcpconform/internal/excerpt"
)

// Parse reads a file of one document and returns what it says; nil for nothing at all.
// The error begins with file:line.
func Parse(name string, text []byte) (*yaml.Node, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // editors of Windows write it
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
var (
	placed   = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)
	mistyped = regexp.MustCompile("^cannot unmarshal (!!\\w+)(?: `(.*)`)? into (.+)$")
)

// Explain turns an error of the YAML library into one line that begins with file:line and
// says what belongs there.
func Explain(name string, err error) error {
	text := err.Error()
	if wrong, several := errors.AsType[*yaml.TypeError](err); several {
		text = wrong.Errors[0]
	}
	found := placed.FindStringSubmatch(excerpt.OneLine(text))
	line, problem := 1, found[2]
	if at, err := strconv.Atoi(found[1]); err == nil {
		line = at
	}
	if parts := mistyped.FindStringSubmatch(problem); parts != nil {
		problem = fmt.Sprintf("%s stands where %s belongs", stands(parts[1], parts[2]), belongs(parts[1], parts[3]))
	}
	return fmt.Errorf("%s:%d: %s", name, line, problem)
}

// stands names a value by its tag and its beginning.
func stands(tag, value string) string {
	switch tag {
	case "!!seq":
		return "a list"
	case "!!map":
		return "a mapping"
	}
	return strconv.Quote(value)
}

// belongs names a type of Go for people. One that has a name of its own is a structure,
// unless a mapping was not taken for it.
func belongs(tag, wanted string) string {
	switch wanted {
	case "time.Duration":
		return "a duration such as 5s"
	case "bool":
		return "true or false"
	case "int":
		return "a whole number"
	case "string":
		return "text"
	}
	switch {
	case strings.HasPrefix(wanted, "[]"):
		return "a list"
	case tag == "!!map":
		return "text"
	}
	return "a mapping"
}
