package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/reports"
)

// Format is the version of the file's format, which the file has on its first line.
const Format = 1

// maxFile bounds a file in bytes: what a survey keeps of a server is less.
const maxFile = 32 << 20

// about is the comment at the top of a file.
const about = `# What this server offers to its clients. mcpconform contract check compares the server with
# it; mcpconform contract write writes it again.
`

// Write writes the file: YAML, since a text of several lines is reviewed line by line there.
// The same contract gives the same bytes.
func (c *Contract) Write(out io.Writer) error {
	members := []struct {
		key   string
		value any
		empty bool
	}{
		{"contract", json.Number(strconv.Itoa(Format)), false},
		{"recorded", true, !c.Recorded},
		{"revision", c.Revision, false},
		{"revisions", listOf(c.Revisions), false},
		{"unlisted", listOf(c.Unlisted), len(c.Unlisted) == 0},
		{"server", c.Server, c.Server == ""},
		{"capabilities", c.Capabilities, len(c.Capabilities) == 0},
	}
	for _, kind := range lists() {
		items := *kind.of(c)
		members = append(members, struct {
			key   string
			value any
			empty bool
		}{kind.member, listOf(items), len(items) == 0})
	}
	w := writer{}
	_, _ = w.WriteString(about)
	for _, member := range members {
		if !member.empty {
			w.member(member.key, member.value, 0)
		}
	}
	_, err := io.WriteString(out, w.String())
	return err
}

func listOf[T any](items []T) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

// writer writes YAML. The library would write texts with emoji in one line, and hidden
// characters as they are.
type writer struct{ strings.Builder }

const (
	indented = "  "
	// maxBlocks is how deep blocks are: each indents all that is in it.
	maxBlocks = 24
	// flowWidth is the longest list that stands in one line, in characters.
	flowWidth = 90
	// maxKey is the longest key that needs no question mark before it, in bytes: YAML has
	// a bound of 1024 characters.
	maxKey = 256
)

// first are the keys that stand before others, in this order.
var first = []string{
	"name", "uri", "uriTemplate", "title", "description", "mimeType", "$ref", "type", "const", "enum", "format",
	"default", "properties", "required", "additionalProperties", "items",
}

// ordered are the keys of an object in the order of the file.
func ordered(object map[string]any) []string {
	rank := func(key string) int {
		if at := slices.Index(first, key); at >= 0 {
			return at
		}
		return len(first)
	}
	return slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

// member writes a key with its value, at a depth.
func (w *writer) member(key string, value any, depth int) {
	name := scalar(key, true)
	_, _ = w.WriteString(name)
	if len(key) > maxKey {
		w.indent(depth)
	}
	_, _ = w.WriteString(":")
	w.value(value, depth, " ")
}

// value writes a value behind what stands in the line already; gap is what comes between, where
// the value goes on in the line.
func (w *writer) value(value any, depth int, gap string) {
	if object, isObject := value.(map[string]any); isObject && len(object) > 0 && depth < maxBlocks {
		for position, key := range ordered(object) {
			if position > 0 || gap != "" {
				w.indent(depth + 1)
			}
			w.member(key, object[key], depth+1)
		}
		return
	}
	all, isList := value.([]any)
	line := ""
	if !isList || len(all) == 0 || depth >= maxBlocks || scalars(all) {
		line = flow(value)
	}
	if line != "" && (!isList || len(all) == 0 || depth >= maxBlocks || len(line) <= flowWidth) {
		if text, isText := value.(string); isText {
			line = w.text(text, depth)
		}
		_, _ = w.WriteString(gap + line + "\n")
		return
	}
	for position, one := range all {
		if position > 0 || gap != "" {
			w.indent(depth + 1)
		}
		_, _ = w.WriteString("- ")
		w.value(one, depth+1, "")
	}
}

// indent begins a line. Where the line before is not at its end, it ends it.
func (w *writer) indent(depth int) {
	if text := w.String(); !strings.HasSuffix(text, "\n") {
		_, _ = w.WriteString("\n")
	}
	_, _ = w.WriteString(strings.Repeat(indented, depth))
}

func scalars(all []any) bool {
	return !slices.ContainsFunc(all, func(one any) bool {
		switch one := one.(type) {
		case map[string]any, []any:
			return true
		case string:
			return strings.Contains(one, "\n")
		}
		return false
	})
}

// text writes a text: of several lines as a block, if it reads the same there.
func (w *writer) text(text string, depth int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	odd := func(line string) bool { return line != "" && strings.TrimSpace(line) == "" }
	begun := strings.TrimLeft(lines[0], " \t") == lines[0] && lines[0] != ""
	if len(lines) == 1 || !begun || lines[len(lines)-1] == "" || reports.Visible(text) != text ||
		slices.ContainsFunc(lines, odd) {
		return scalar(text, false)
	}
	var block strings.Builder
	_, _ = block.WriteString("|")
	if !strings.HasSuffix(text, "\n") {
		_, _ = block.WriteString("-")
	}
	for _, line := range lines {
		_, _ = block.WriteString("\n")
		if line != "" {
			_, _ = block.WriteString(strings.Repeat(indented, depth+1) + line)
		}
	}
	return block.String()
}

var (
	plainText  = regexp.MustCompile(`^[A-Za-z$_/][\w./$;!?'()-]*(?: [\w./$;!?'()-]+)*$`)
	plainDate  = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	otherwise  = regexp.MustCompile(`^(?i:true|false|null|yes|no|on|off|y|n)$`)
	jsonNumber = regexp.MustCompile(`^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$`)
)

// scalar writes a text in one line.
func scalar(text string, key bool) string {
	if len(text) <= maxKey && (plainText.MatchString(text) || plainDate.MatchString(text) && !key) &&
		!otherwise.MatchString(text) {
		return text
	}
	var quoted strings.Builder
	_, _ = quoted.WriteString(`"`)
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			_, _ = quoted.WriteString(`\` + string(r))
		case r == '\n':
			_, _ = quoted.WriteString(`\n`)
		case r == '\t':
			_, _ = quoted.WriteString(`\t`)
		case reports.Visible(string(r)) == string(r):
			_, _ = quoted.WriteRune(r)
		case r <= 0xffff:
			_, _ = fmt.Fprintf(&quoted, `\u%04x`, r)
		default:
			_, _ = fmt.Fprintf(&quoted, `\U%08x`, r)
		}
	}
	if key && len(text) > maxKey {
		return "? " + quoted.String() + `"`
	}
	return quoted.String() + `"`
}

// flow writes a value in one line.
func flow(value any) string {
	switch value := value.(type) {
	case string:
		return scalar(value, false)
	case map[string]any:
		members := make([]string, 0, len(value))
		for _, key := range ordered(value) {
			members = append(members, scalar(key, true)+" : "+flow(value[key]))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case []any:
		elements := make([]string, 0, len(value))
		for _, one := range value {
			elements = append(elements, flow(one))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
	return compact(value)
}

// Read reads a file; name is what errors call it, with the line.
func Read(name string, in io.Reader) (*Contract, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s is longer than %d MiB: not a contract", name, maxFile>>20)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("%s is not a contract: %w", name, err)
	}
	if len(document.Content) != 1 {
		return nil, fmt.Errorf("%s is empty; write a contract with mcpconform contract write", name)
	}
	value, err := read(document.Content[0])
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	found, err := fromObject(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return found.Normal(), nil
}

// read makes values as JSON has them.
func read(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for pair := range slices.Chunk(node.Content, 2) {
			key := pair[0]
			if key.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("%d: expected a name before the colon", key.Line)
			}
			if _, twice := object[key.Value]; twice {
				return nil, fmt.Errorf("%d: %q is given twice", key.Line, key.Value)
			}
			value, err := read(pair[1])
			if err != nil {
				return nil, err
			}
			object[key.Value] = value
		}
		return object, nil
	case yaml.SequenceNode:
		all := make([]any, 0, len(node.Content))
		for _, one := range node.Content {
			value, err := read(one)
			if err != nil {
				return nil, err
			}
			all = append(all, value)
		}
		return all, nil
	case yaml.ScalarNode:
		return readScalar(node), nil
	}
	return nil, fmt.Errorf("%d: aliases of YAML are not for contracts: write it out", node.Line)
}

func readScalar(node *yaml.Node) any {
	switch {
	case node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return node.Value
	case node.Tag == "!!null":
		return nil
	case node.Tag == "!!bool":
		return strings.EqualFold(node.Value, "true")
	case jsonNumber.MatchString(node.Value):
		return json.Number(node.Value)
	}
	return node.Value
}

// fromObject makes sure that a file is a contract.
func fromObject(value any) (*Contract, error) {
	members, _ := value.(map[string]any)
	switch format := members["contract"]; {
	case format == nil:
		return nil, fmt.Errorf(
			"not a contract: it has no \"contract: %d\"; write one with mcpconform contract write",
			Format,
		)
	case format != json.Number(strconv.Itoa(Format)):
		return nil, fmt.Errorf(
			"the format of the contract is %.40s, not %d; write it with this version",
			compact(format),
			Format,
		)
	}
	found := &Contract{Revision: text(members["revision"])}
	found.Recorded, _ = members["recorded"].(bool)
	found.Server, _ = members["server"].(string)
	found.Capabilities, _ = members["capabilities"].(map[string]any)
	known := map[string]bool{
		"contract": true, "recorded": true, "revision": true, "revisions": true, "unlisted": true, "server": true,
		"capabilities": true,
	}
	for member, into := range map[string]*[]string{"revisions": &found.Revisions, "unlisted": &found.Unlisted} {
		texts, err := listIn[string](members, member, "text")
		if err != nil {
			return nil, err
		}
		*into = texts
	}
	for _, kind := range lists() {
		known[kind.member] = true
		items, err := listIn[map[string]any](members, kind.member, "map")
		if err != nil {
			return nil, err
		}
		*kind.of(found) = items
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if !known[key] {
			return nil, fmt.Errorf("unknown key %q", key)
		}
	}
	return found, nil
}

func listIn[T any](members map[string]any, name, what string) ([]T, error) {
	value, there := members[name]
	if !there {
		return nil, nil
	}
	all, isList := value.([]any)
	if !isList {
		return nil, fmt.Errorf("%s: expected a list", name)
	}
	found := make([]T, 0, len(all))
	for position, one := range all {
		item, is := one.(T)
		if !is {
			return nil, fmt.Errorf("%s: entry %d is not a %s", name, position+1, what)
		}
		found = append(found, item)
	}
	return found, nil
}
