package provoke

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

// Load reads every .yaml file in the root of fsys: one for each known server, named as it
// is. A server is preferred to those whose names come later, a tool to those below it. The
// error joins all that is wrong in all of the files; each line begins with file:line.
func Load(fsys fs.FS) ([]Server, error) {
	var servers []Server
	err := yamlnode.EachFile(fsys, func(name string, text []byte) error {
		tools, err := Parse(name, text)
		servers = append(servers, Server{Name: strings.TrimSuffix(name, path.Ext(name)), Tools: tools})
		return err
	})
	if err := errors.Join(append([]error{err}, doubled(servers)...)...); err != nil {
		return nil, err
	}
	return servers, nil
}

// entry is one of a file, as it stands there.
type entry struct {
	Provocation `yaml:",inline"`
	Provokes    []yaml.Node `yaml:"provokes"`
	Needs       string      `yaml:"needs"`
}

// entries are what a file lists.
var entries = yamlnode.Entries{
	One: "a tool", Many: "tools", First: "tool", Hint: nearest.Hint,
	Keys: []string{"tool", "arguments", "resource", "provokes", "needs"},
}

// Parse reads the text of a file; name is what errors call it. The error joins all that
// is wrong.
func Parse(name string, text []byte) ([]Tool, error) {
	return yamlnode.List(name, text, entries, func(item *yaml.Node) (Tool, error) { return parseTool(name, item) })
}

func parseTool(name string, item *yaml.Node) (Tool, error) {
	wrong := func(line int, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))
	}
	var read entry
	if err := item.Decode(&read); err != nil {
		return Tool{}, yamlnode.Explain(name, err)
	}
	tool := Tool{Provocation: read.Provocation, Needs: protocol.Feature(read.Needs), Line: item.Line}
	var problems []error
	for _, kind := range read.Provokes {
		switch {
		case !IsKind(kind.Value):
			problems = append(
				problems,
				wrong(kind.Line, "provokes: unknown kind %q%s", kind.Value, nearest.Hint(kind.Value, Kinds())),
			)
		case slices.Contains(tool.Provokes, kind.Value):
			problems = append(problems, wrong(kind.Line, "provokes: %s is given twice", kind.Value))
		}
		tool.Provokes = append(tool.Provokes, kind.Value)
	}
	for _, problem := range tool.judge() {
		problems = append(problems, wrong(item.Line, "%s", problem))
	}
	return tool, errors.Join(problems...)
}

// judge says what is wrong with a tool whose kinds are known.
func (t Tool) judge() (problems []string) {
	if t.Tool == "" {
		problems = append(problems, "names no tool")
	}
	if t.Needs != "" && !t.Needs.Known() {
		problems = append(problems, fmt.Sprintf("needs: unknown feature %q", t.Needs))
	}
	if named := t.Resource != ""; named != slices.Contains(t.Provokes, resourceUpdated) {
		problems = append(problems, "resource is for "+resourceUpdated+", and only for that")
	}
	if _, err := json.Marshal(t.Arguments); err != nil {
		problems = append(problems, "arguments: "+err.Error())
	}
	return problems
}

// doubled finds calls that stand twice in a file, or for one kind in two: the later one
// would never be made.
func doubled(servers []Server) []error {
	type place struct {
		file string
		tool Tool
	}
	var problems []error
	calls := map[string][]place{}
	for _, server := range servers {
		for _, tool := range server.Tools {
			arguments, _ := json.Marshal(tool.Arguments) // it can be: judge has tried
			call, here := tool.Tool+" "+string(arguments), place{server.Name + ".yaml", tool}
			for _, first := range calls[call] {
				if first.file == here.file || first.tool.shares(tool) {
					problems = append(problems, fmt.Errorf("%s:%d: %s stands with the same arguments at %s:%d",
						here.file, tool.Line, tool.Tool, first.file, first.tool.Line))
				}
			}
			calls[call] = append(calls[call], here)
		}
	}
	return problems
}

// shares tells whether two tools provoke the same, or one of them nothing.
func (t Tool) shares(other Tool) bool {
	return len(t.Provokes) == 0 || len(other.Provokes) == 0 ||
		slices.ContainsFunc(t.Provokes, func(kind string) bool { return slices.Contains(other.Provokes, kind) })
}
