package catalogue

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// A Set is a frozen set of requirements of one revision, published under a name that
// always means the same: 2025-11-25@1. A later catalogue may have more requirements, and
// not fewer.
type Set struct {
	Revision     string   `yaml:"revision"`
	Number       int      `yaml:"number"` // from 1
	Requirements []Frozen `yaml:"requirements"`
}

// Frozen is what a set has of one requirement.
type Frozen struct {
	ID      string   `yaml:"id"`
	Level   Level    `yaml:"level"`
	Roles   []string `yaml:"roles"`    // of the targets that are judged by it
	Covers  []string `yaml:"covers"`   // fingerprints of the sentences that it states
	RestsOn string   `yaml:"rests-on"` // as Requirement.RestsOn
}

// Name is what the set is published under: 2025-11-25@1.
func (s *Set) Name() string { return fmt.Sprintf("%s@%d", s.Revision, s.Number) }

// File is what its file is called.
func (s *Set) File() string { return s.Name() + ".yaml" }

// Holds tells whether targets that play a role are judged by a requirement.
func (s *Set) Holds(id, role string) bool {
	return slices.ContainsFunc(s.Requirements, func(one Frozen) bool {
		return one.ID == id && slices.Contains(one.Roles, role)
	})
}

// Count counts the requirements by which targets that play a role are judged.
func (s *Set) Count(role string) int {
	count := 0
	for _, one := range s.Requirements {
		if slices.Contains(one.Roles, role) {
			count++
		}
	}
	return count
}

// Freeze makes a set of the requirements that have a check at a revision, for the roles
// that it is for.
func Freeze(c *Catalogue, checked Checked, revision string, number int) *Set {
	set := &Set{Revision: revision, Number: number}
	for _, requirement := range c.all {
		one := Frozen{
			ID: requirement.ID, Level: requirement.Level(revision),
			Covers: requirement.Covers, RestsOn: requirement.RestsOn,
		}
		for _, role := range protocol.Roles() {
			if requirement.Applies(revision, "", role) && checked(requirement.ID, revision, role) {
				one.Roles = append(one.Roles, role)
			}
		}
		if len(one.Roles) > 0 {
			set.Requirements = append(set.Requirements, one)
		}
	}
	return set
}

// Differences says, a line for each, in what a catalogue and its checks no longer are
// what a set promises: a requirement that is gone, has another level, states other
// sentences, or has no check.
func (s *Set) Differences(c *Catalogue, checked Checked) []string {
	var lines []string
	for _, one := range s.Requirements {
		add := func(format string, values ...any) {
			lines = append(lines, fmt.Sprintf("%s: %s %s", s.Name(), one.ID, fmt.Sprintf(format, values...)))
		}
		requirement, known := c.Get(one.ID)
		if !known {
			add("is gone")
			continue
		}
		if level := requirement.Level(s.Revision); level != one.Level {
			add("is a %s, and was a %s", level, one.Level)
		}
		for _, fingerprint := range one.Covers {
			if !slices.Contains(requirement.Covers, fingerprint) {
				add("no longer states the sentence %s", fingerprint)
			}
		}
		if requirement.RestsOn == "" != (one.RestsOn == "") {
			add("rests on %q, and did on %q", requirement.RestsOn, one.RestsOn)
		}
		for _, role := range one.Roles {
			switch {
			case !requirement.Applies(s.Revision, "", role):
				add("does not oblige a target of the role %s", role)
			case !checked(one.ID, s.Revision, role):
				add("has no check for the role %s", role)
			}
		}
	}
	return lines
}

// Only returns the catalogue for a run that judges a role by a set alone: requirements
// outside the set stay known, but oblige no target.
func (c *Catalogue) Only(set *Set, role string) *Catalogue {
	return c.with(func(requirement *Requirement) *Requirement {
		if set.Holds(requirement.ID, role) {
			return requirement
		}
		left := *requirement
		left.obliges = nil
		return &left
	})
}

// Text is the set as LoadSets reads it.
func (s *Set) Text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Frozen by mcpconform requirements freeze %s. Once published it is not changed.\n", s.Revision)
	fmt.Fprintf(&text, "revision: %s\nnumber: %d\nrequirements:\n", s.Revision, s.Number)
	for _, one := range s.Requirements {
		fmt.Fprintf(&text, "  - {id: %s, level: %s, roles: [%s]", one.ID, one.Level, strings.Join(one.Roles, ", "))
		if len(one.Covers) > 0 {
			quoted := make([]string, len(one.Covers))
			for i, fingerprint := range one.Covers {
				quoted[i] = strconv.Quote(fingerprint) // 12345678 and 1e345678 are numbers without
			}
			fmt.Fprintf(&text, ", covers: [%s]", strings.Join(quoted, ", "))
		}
		if one.RestsOn != "" {
			fmt.Fprintf(&text, ", rests-on: %q", one.RestsOn)
		}
		text.WriteString("}\n")
	}
	return text.String()
}

// setFile is what the files of sets are called.
var setFile = regexp.MustCompile(`^[^@]+@[0-9]+\.yaml$`)

// LoadSets reads the sets among the files of a folder, sorted by revision and number. The
// error joins what is wrong with each.
func LoadSets(fsys fs.FS) ([]*Set, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var sets []*Set
	var wrong []error
	for _, entry := range entries {
		if !setFile.MatchString(entry.Name()) {
			continue
		}
		set, err := loadSet(fsys, entry.Name())
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", entry.Name(), err))
			continue
		}
		sets = append(sets, set)
	}
	slices.SortFunc(sets, func(a, b *Set) int {
		return cmp.Or(strings.Compare(a.Revision, b.Revision), a.Number-b.Number)
	})
	return sets, errors.Join(wrong...)
}

func loadSet(fsys fs.FS, name string) (*Set, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	set := &Set{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(set); err != nil {
		return nil, err
	}
	if name != set.File() {
		return nil, fmt.Errorf("the file of the set %s is called %s", set.Name(), set.File())
	}
	return set, set.holds()
}

// holds tells what is wrong with a set by itself, without a catalogue.
func (s *Set) holds() error {
	if !slices.Contains(protocol.Released(), s.Revision) {
		return fmt.Errorf("%q is no revision", s.Revision)
	}
	seen := map[string]bool{}
	for _, one := range s.Requirements {
		switch {
		case one.ID == "" || seen[one.ID]:
			return fmt.Errorf("the requirement %q stands in it twice, or has no id", one.ID)
		case len(one.Roles) == 0:
			return fmt.Errorf("the requirement %q is for no role", one.ID)
		case !one.Level.Failing() && !one.Level.Warning():
			return fmt.Errorf("the requirement %q has the level %q", one.ID, one.Level)
		}
		for _, role := range one.Roles {
			if !slices.Contains(protocol.Roles(), role) {
				return fmt.Errorf("the requirement %q is for the role %q", one.ID, role)
			}
		}
		seen[one.ID] = true
	}
	return nil
}
