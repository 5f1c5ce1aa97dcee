package fault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

// maxFile bounds one file, in bytes. A page has some dozens of faults of some
// hundred bytes each.
const maxFile = 1 << 20

// Load reads every .yaml file below the root of fsys. The error joins all that
// is wrong in all of the files; each line begins with file:line.
func Load(fsys fs.FS) ([]*Fault, error) {
	var all []*Fault
	var problems []error
	ids := map[string]*Fault{}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		text, err := readBounded(fsys, name)
		if err != nil {
			return err
		}
		faults, err := Parse(name, text)
		problems = append(problems, err)
		for _, fault := range faults {
			if first := ids[fault.ID]; first != nil {
				problems = append(
					problems,
					fmt.Errorf(
						"%s:%d: id %q is taken: %s:%d has it",
						name,
						fault.Line,
						fault.ID,
						first.File,
						first.Line,
					),
				)
			}
			ids[fault.ID] = fault
		}
		all = append(all, faults...)
		return nil
	})
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, err
	}
	return all, nil
}

// Broken are the requirements that the faults of fsys break. It looks for nothing else, which
// takes a hundredth of the time of Load, and leaves to that what it cannot read.
func Broken(fsys fs.FS) map[string]bool {
	broken := map[string]bool{}
	names, _ := fs.Glob(fsys, "*/*.yaml") // the pattern is well formed
	for _, name := range names {
		text, err := readBounded(fsys, name)
		if err != nil {
			continue
		}
		inBlock := false
		for line := range strings.Lines(string(text)) {
			list, isItem := strings.CutPrefix(line, "    - ")
			if _, value, begins := strings.Cut(line, " breaks:"); begins {
				list, _, _ = strings.Cut(value, "]")
				inBlock = strings.TrimSpace(value) == ""
			} else if inBlock = inBlock && isItem; !inBlock {
				continue
			}
			for _, id := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("[, \n", r) }) {
				broken[id] = true
			}
		}
	}
	return broken
}

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: larger than %d KiB", name, maxFile>>10)
	}
	return text, err
}

// Parse reads the text of a file of faults or variations; name is what errors
// call it. The error joins all that is wrong.
func Parse(name string, text []byte) ([]*Fault, error) {
	return yamlnode.List(name, text, entries, func(item *yaml.Node) (*Fault, error) { return parseOne(name, item) })
}

// entries are what a file lists; which keys one may have its structure says.
var entries = yamlnode.Entries{One: "a fault", Many: "faults", First: "id"}

func parseOne(name string, item *yaml.Node) (*Fault, error) {
	if err := knows(name, item, reflect.TypeFor[Fault]()); err != nil {
		return nil, err
	}
	fault := &Fault{File: name, Line: item.Line}
	if err := item.Decode(fault); err != nil {
		return nil, yamlnode.Explain(name, err)
	}
	judge := &judge{place: fmt.Sprintf("%s:%d", name, item.Line), fault: fault}
	judge.judge()
	if fault.ofClient() {
		fault.turn()
	}
	return fault, errors.Join(judge.problems...)
}

// knows looks for keys that mean nothing, and says which were meant. A null that
// is a value of JSON gets a tag of its own: the YAML library takes the others for
// nothing at all.
func knows(name string, node *yaml.Node, structure reflect.Type) error {
	for structure.Kind() == reflect.Pointer || structure.Kind() == reflect.Slice {
		if structure.Kind() == reflect.Slice {
			return knowsEach(name, node, structure.Elem())
		}
		structure = structure.Elem()
	}
	switch {
	case node.ShortTag() == "!!null" && (structure == reflect.TypeFor[Value]() || structure == reflect.TypeFor[Condition]()):
		node.Tag = jsonNull
		return nil
	case node.Kind != yaml.MappingNode || structure == reflect.TypeFor[Value](): // a value is free
		return nil
	case structure.Kind() == reflect.Map:
		for pair := range slices.Chunk(node.Content, 2) {
			if err := knows(name, pair[1], structure.Elem()); err != nil {
				return err
			}
		}
		return nil
	case structure.Kind() != reflect.Struct:
		return nil
	}
	known := keys(structure)
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], pair[1]
		index := slices.IndexFunc(known, func(field reflect.StructField) bool { return yamlName(field) == key.Value })
		if index < 0 {
			return fmt.Errorf(
				"%s:%d: unknown key %q%s",
				name,
				key.Line,
				key.Value,
				nearest.Hint(key.Value, names(known)),
			)
		}
		if err := knows(name, value, known[index].Type); err != nil {
			return err
		}
	}
	return nil
}

func knowsEach(name string, node *yaml.Node, element reflect.Type) error {
	if node.Kind != yaml.SequenceNode {
		return nil
	}
	for _, child := range node.Content {
		if err := knows(name, child, element); err != nil {
			return err
		}
	}
	return nil
}

// keys lists the fields that a file may set, those of embedded structures too. Thousands
// of faults are made of a few structures.
func keys(structure reflect.Type) []reflect.StructField {
	if known, there := keysOf.Load(structure); there {
		return known.([]reflect.StructField)
	}
	fields := findKeys(structure)
	keysOf.Store(structure, fields)
	return fields
}

var keysOf sync.Map // reflect.Type to []reflect.StructField

func findKeys(structure reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for field := range structure.Fields() {
		switch tag := field.Tag.Get("yaml"); tag {
		case "", "-":
		case ",inline":
			fields = append(fields, keys(field.Type)...)
		default:
			fields = append(fields, field)
		}
	}
	return fields
}

func yamlName(field reflect.StructField) string { return field.Tag.Get("yaml") }

func names(fields []reflect.StructField) []string {
	all := make([]string, len(fields))
	for i, field := range fields {
		all[i] = yamlName(field)
	}
	return all
}
