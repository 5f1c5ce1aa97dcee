// Package catalogue knows every requirement of the specification: who is
// obliged, how strongly, since which revision, and where it is written. It
// also reads the specification itself, to compute which of its normative
// sentences the catalogue states and which it does not.
package catalogue

import (
	"encoding/json"
	"slices"

	"github.com/mcpconform/mcpconform/internal/nearest"
)

// A Catalogue is the set of all requirements.
type Catalogue struct {
	all []*Requirement // sorted by id
	ids map[string]*Requirement
}

// record is of a requirement what a check needs to know: when it stands, and
// what it is filtered by.
type record struct {
	ID         string
	Since      string              `json:",omitempty"`
	Until      string              `json:",omitempty"`
	Observed   string              `json:",omitempty"`
	Transports []string            `json:",omitempty"`
	Needs      string              `json:",omitempty"`
	Obliges    perRevision[string] `json:",omitempty"`
	Levels     perRevision[Level]  `json:",omitempty"`
	Places     perRevision[place]  `json:",omitempty"`
}

// MarshalJSON makes what a process that runs checks reads much faster than the
// files. It leaves out what only reports and the trace tell: the sentences, and
// where they are from.
func (c *Catalogue) MarshalJSON() ([]byte, error) {
	records := make([]record, len(c.all))
	for i, r := range c.all {
		records[i] = record{r.ID, r.Since, r.Until, r.Observed, r.Transports, r.Needs, r.obliges, r.levels, r.places}
	}
	return json.Marshal(records)
}

// UnmarshalJSON reads what MarshalJSON made.
func (c *Catalogue) UnmarshalJSON(text []byte) error {
	var records []record
	if err := json.Unmarshal(text, &records); err != nil {
		return err
	}
	*c = Catalogue{ids: map[string]*Requirement{}}
	for _, r := range records {
		requirement := &Requirement{
			ID: r.ID, Since: r.Since, Until: r.Until, Observed: r.Observed,
			Transports: r.Transports, Needs: r.Needs, obliges: r.Obliges, levels: r.Levels, places: r.Places,
		}
		c.all = append(c.all, requirement)
		c.ids[r.ID] = requirement
	}
	return nil
}

// For returns the catalogue for a process that checks a role alone: of what obliges others only
// the ids are known.
func (c *Catalogue) For(role string) *Catalogue {
	return c.with(func(requirement *Requirement) *Requirement {
		if requirement.concerns("", role) {
			return requirement
		}
		return &Requirement{ID: requirement.ID}
	})
}

// with is the catalogue with another requirement in the place of each, by the same id.
func (c *Catalogue) with(other func(*Requirement) *Requirement) *Catalogue {
	changed := &Catalogue{all: make([]*Requirement, len(c.all)), ids: make(map[string]*Requirement, len(c.all))}
	for i, requirement := range c.all {
		changed.all[i] = other(requirement)
		changed.ids[requirement.ID] = changed.all[i]
	}
	return changed
}

// Get returns a requirement by its id.
func (c *Catalogue) Get(id string) (*Requirement, bool) {
	requirement, ok := c.ids[id]
	return requirement, ok
}

// All returns every requirement, sorted by id.
func (c *Catalogue) All() []*Requirement { return slices.Clone(c.all) }

// Applies returns the requirements that oblige a target that plays the role at
// a revision over a transport, sorted by id. Empty means any, as in
// Requirement.Applies.
func (c *Catalogue) Applies(revision, transport, role string) []*Requirement {
	var applies []*Requirement
	for _, requirement := range c.all {
		if requirement.Applies(revision, transport, role) {
			applies = append(applies, requirement)
		}
	}
	return applies
}

// Nearest returns the id that a mistyped one most likely means, or "" when
// none resembles it.
func (c *Catalogue) Nearest(id string) string {
	ids := make([]string, len(c.all))
	for i, requirement := range c.all {
		ids[i] = requirement.ID
	}
	return nearest.Word(id, ids)
}
