// Package baseline reads what a target is known to break, tells a run which of its
// results that names, and says what of it no longer holds.
//
// A baseline is a YAML file:
//
//	include: [sdk:typescript@1.32]
//	deviations:
//	  - requirement: tools.unknown.refused
//	    reason: The SDK returns isError; we wait for its next major release.
//	    revisions: [2025-11-25]
//	    until: 2027-06-30
//
// It never makes a result worse, and never excuses what is inconclusive.
package baseline

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/yamlnode"
	"github.com/mcpconform/mcpconform/reports"
)

const (
	// maxSize bounds a file: a thousand entries have some 300 KiB.
	maxSize = 4 << 20
	// maxDepth bounds files that include files.
	maxDepth = 8
	// maxFiles bounds how many there are in all.
	maxFiles = 100
)

// SDKPrefix is what the name of a baseline that is built in begins with.
const SDKPrefix = "sdk:"

// sdks are the baselines that are built in: what the records of fixtures/peers prove.
//
//go:embed sdk/*.yaml
var sdks embed.FS

// SDKs lists the names of the baselines that are built in: "sdk:typescript@1.32".
func SDKs() []string {
	entries, err := fs.ReadDir(sdks, "sdk")
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = SDKPrefix + strings.TrimSuffix(entry.Name(), ".yaml")
	}
	return names
}

// document is what a file says.
type document struct {
	Include    []string `yaml:"include"`
	Deviations []entry  `yaml:"deviations"`
}

// entry is a deviation as it is written.
type entry struct {
	Requirement string   `yaml:"requirement"`
	Check       string   `yaml:"check"`
	Reason      string   `yaml:"reason"`
	Says        string   `yaml:"says"`
	Issue       string   `yaml:"issue"`
	Only        []only   `yaml:"only"`
	Role        string   `yaml:"role"`
	Revisions   []string `yaml:"revisions"`
	Transports  []string `yaml:"transports"`
	Until       string   `yaml:"until"`
}

// only is what a mismatch is like, as it is written.
type only struct {
	Code   int64  `yaml:"code"`
	Where  string `yaml:"where"`
	Found  string `yaml:"found"`
	Method string `yaml:"method"`
}

// Load reads a baseline and all that it includes, its own entries first. Each entry has
// a reason. The error begins with file:line.
func Load(name string) ([]reports.Deviation, error) {
	l := loader{demandReasons: true}
	if err := l.load(name, nil, nil); err != nil {
		return nil, err
	}
	return l.entries, nil
}

// loader gathers the entries of several files.
type loader struct {
	demandReasons bool
	entries       []reports.Deviation
	files         int
}

// load reads a file; above are those that include it, the outermost first.
func (l *loader) load(name string, above []string, included *reports.Inclusion) error {
	text, err := read(name)
	if err != nil {
		return err
	}
	if l.files++; l.files > maxFiles {
		return fmt.Errorf("%s: more than %d files are included", name, maxFiles)
	}
	root, err := yamlnode.Parse(name, bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) // editors of Windows write it
	if err != nil || root == nil {
		return err
	}
	said, err := parse(name, root)
	if err != nil {
		return err
	}
	nodes := member(root, "deviations")
	lines := strings.Split(string(text), "\n")
	for i, one := range said.Deviations {
		at := nodes.Content[i].Line
		deviation := one.deviation()
		deviation.File, deviation.Line, deviation.Included = name, at, included
		deviation.Source = strings.TrimSpace(lines[min(at, len(lines))-1])
		if err := l.judge(&deviation, nodes.Content[i]); err != nil {
			return err
		}
		l.entries = append(l.entries, deviation)
	}
	return l.include(name, said.Include, member(root, "include"), append(slices.Clip(above), name), included)
}

// include reads what a file includes. Of what is included by something that is included
// the outermost line counts: it is the one that the baseline has.
func (l *loader) include(
	name string,
	others []string,
	node *yaml.Node,
	above []string,
	outer *reports.Inclusion,
) error {
	for i, other := range others {
		line := node.Content[i].Line
		inclusion := outer
		if inclusion == nil {
			inclusion = &reports.Inclusion{Name: other, File: name, Line: line}
		}
		if !strings.HasPrefix(other, SDKPrefix) && !filepath.IsAbs(other) {
			other = filepath.Join(filepath.Dir(name), other)
		}
		if slices.Contains(above, other) || len(above) > maxDepth {
			return fmt.Errorf("%s:%d: include: %s includes itself", name, line, other)
		}
		if err := l.load(other, above, inclusion); err != nil {
			if missing, is := errors.AsType[*missingError](err); is && missing.name == other {
				return fmt.Errorf("%s:%d: include: %w", name, line, err)
			}
			return err
		}
	}
	return nil
}

// missingError says that a file cannot be read.
type missingError struct{ name, reason string }

func (e *missingError) Error() string { return e.name + ": " + e.reason }

func read(name string) ([]byte, error) {
	if of, is := strings.CutPrefix(name, SDKPrefix); is {
		text, err := sdks.ReadFile(path.Join("sdk", of+".yaml"))
		if err != nil {
			return nil, &missingError{name, "no built-in baseline has this name" + nearest.Hint(name, SDKs()) +
				"; there are " + strings.Join(SDKs(), ", ")}
		}
		return text, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, &missingError{name, files.Reason(err).Error()}
	}
	defer func() { _ = file.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return nil, &missingError{name, files.Reason(err).Error()}
	case len(text) > maxSize:
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxSize>>20)
	}
	return text, nil
}

// parse decodes a file whose keys are all known.
func parse(name string, root *yaml.Node) (document, error) {
	if yamlnode.HasAlias(root) {
		return document{}, fmt.Errorf("%s:%d: an alias; write the entry out", name, root.Line)
	}
	if err := knows(name, root, reflect.TypeFor[document]()); err != nil {
		return document{}, err
	}
	plainDates(root)
	if list := member(root, "deviations"); list != nil {
		for _, one := range list.Content {
			if err := knowsEntry(name, one); err != nil {
				return document{}, err
			}
		}
	}
	var said document
	if err := root.Decode(&said); err != nil {
		return document{}, yamlnode.Explain(name, err)
	}
	return said, nil
}

// knowsEntry looks for keys of an entry that mean nothing, and for what says nothing.
func knowsEntry(name string, node *yaml.Node) error {
	if err := knows(name, node, reflect.TypeFor[entry]()); err != nil {
		return err
	}
	list := member(node, "only")
	if list == nil {
		return nil
	}
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		return fmt.Errorf("%s:%d: only: expected a list of mismatches; leave it out for all", name, list.Line)
	}
	for _, one := range list.Content {
		if err := knows(name, one, reflect.TypeFor[only]()); err != nil {
			return err
		}
		if len(one.Content) == 0 {
			return fmt.Errorf("%s:%d: only: expected code, where, found or method", name, one.Line)
		}
	}
	return nil
}

func (e entry) deviation() reports.Deviation {
	var likes []reports.Found
	for _, one := range e.Only {
		likes = append(likes, reports.Found(one))
	}
	return reports.Deviation{
		Only:        likes,
		Requirement: e.Requirement, Check: e.Check, Reason: strings.TrimSpace(e.Reason), Says: e.Says, Issue: e.Issue,
		Role: e.Role, Revisions: e.Revisions, Transports: e.Transports, Until: e.Until,
	}
}

// judge says what is wrong with an entry of the right form.
func (l *loader) judge(d *reports.Deviation, node *yaml.Node) error {
	at := func(key string) string {
		if value := member(node, key); value != nil {
			return fmt.Sprintf("%s:%d", d.File, value.Line)
		}
		return d.Place()
	}
	if d.Requirement == "" && d.Check == "" {
		return fmt.Errorf("%s: this names neither a requirement nor a check", d.Place())
	}
	if l.demandReasons && d.Reason == "" {
		return fmt.Errorf("%s: %s has no reason: say why it is known and not corrected", at("reason"), d.Name())
	}
	for _, list := range []struct {
		key          string
		given, known []string
	}{
		{"role", []string{d.Role}, append(protocol.Roles(), "")},
		{"revisions", d.Revisions, protocol.Released()},
		{"transports", d.Transports, protocol.Transports()},
	} {
		for _, value := range list.given {
			if !slices.Contains(list.known, value) {
				return fmt.Errorf(
					"%s: %s: %q is unknown%s",
					at(list.key),
					list.key,
					value,
					nearest.Hint(value, list.known),
				)
			}
		}
		if list.given != nil && len(list.given) == 0 {
			return fmt.Errorf("%s: %s: the list is empty; leave it out for all", at(list.key), list.key)
		}
	}
	if _, err := time.Parse(time.DateOnly, d.Until); d.Until != "" && err != nil {
		return fmt.Errorf("%s: until: %q is not a date such as 2027-06-30", at("until"), d.Until)
	}
	return nil
}

// knows looks for keys that mean nothing, and says which were meant.
func knows(name string, node *yaml.Node, structure reflect.Type) error {
	var known []string
	for field := range structure.Fields() {
		known = append(known, field.Tag.Get("yaml"))
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: expected a mapping with the keys %s", name, node.Line, strings.Join(known, ", "))
	}
	for pair := range slices.Chunk(node.Content, 2) {
		if key := pair[0]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("%s:%d: unknown key %q%s", name, key.Line, key.Value, nearest.Hint(key.Value, known))
		}
	}
	return nil
}

// plainDates makes text of dates: YAML has them and revisions are words.
func plainDates(node *yaml.Node) {
	if node.ShortTag() == "!!timestamp" {
		node.Tag = "!!str"
	}
	for _, child := range node.Content {
		plainDates(child)
	}
}

// member is the value of a key; nil where there is none.
func member(node *yaml.Node, name string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for pair := range slices.Chunk(node.Content, 2) {
		if pair[0].Value == name {
			return pair[1]
		}
	}
	return nil
}
