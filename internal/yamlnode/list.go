package yamlnode

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"go.yaml.in/yaml/v3"
)

// EachFile reads every .yaml file in the root of fsys, in the order of their names. The
// error joins those of read, and that of a file which cannot be had.
func EachFile(fsys fs.FS, read func(name string, text []byte) error) error {
	names, err := fs.Glob(fsys, "*.yaml") // sorted
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err == nil {
			err = read(name, text)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// Entries says of a file that is a list of maps what it is a list of.
type Entries struct {
	One, Many string   // "a tool", "tools", for errors
	First     string   // key by which each begins, as people write them
	Keys      []string // that an entry may have; none: parse checks them
	// Hint adds to an unknown key which one may be meant, as in ", did you mean …?". It
	// goes with Keys.
	Hint func(key string, known []string) string
}

// List reads the entries of a file, of which parse makes values; name is what errors call
// the file. The error joins all that is wrong, each line beginning with file:line.
func List[T any](name string, text []byte, of Entries, parse func(*yaml.Node) (T, error)) ([]T, error) {
	list, err := Parse(name, text)
	if err != nil || list == nil {
		return nil, err
	}
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf(
			"%s:%d: expected a list of %s, each beginning with \"- %s:\"",
			name,
			list.Line,
			of.Many,
			of.First,
		)
	}
	var all []T
	var problems []error
	for _, item := range list.Content {
		if err := of.check(name, item); err != nil {
			problems = append(problems, err)
			continue
		}
		one, err := parse(item)
		problems = append(problems, err)
		if err == nil {
			all = append(all, one)
		}
	}
	return all, errors.Join(problems...)
}

// check makes sure that an entry is a map of keys that are known.
func (e Entries) check(name string, item *yaml.Node) error {
	switch {
	case HasAlias(item):
		return fmt.Errorf("%s:%d: aliases of YAML are not for %s: write it out", name, item.Line, e.Many)
	case item.Kind != yaml.MappingNode:
		return fmt.Errorf("%s:%d: %s: expected a map", name, item.Line, e.One)
	}
	for pair := range slices.Chunk(item.Content, 2) {
		if key := pair[0]; e.Keys != nil && !slices.Contains(e.Keys, key.Value) {
			return fmt.Errorf("%s:%d: unknown key %q%s", name, key.Line, key.Value, e.Hint(key.Value, e.Keys))
		}
	}
	return nil
}
