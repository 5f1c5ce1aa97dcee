package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Draft is the folder of a checkout that has what is to become the next revision.
const Draft = "draft"

// The kinds of Change.
const (
	New     = "new"
	Changed = "changed" // in its words, or in how binding it is
	Moved   = "moved"   // to another page or heading
	Absent  = "gone"
)

// A Change is what became of a normative sentence between two revisions.
type Change struct {
	Kind   string
	Before *Sentence // nil of what is new
	After  *Sentence // nil of what is gone
	// Alike is the share of words that a changed sentence has in common with what it was.
	Alike float64
	// Requirements state the sentence as it was, or as it is.
	Requirements []*Requirement
	// Items are the sentences that a lead-in and an item of its list are together, where the lead-in alone has
	// changed: Before and After are the lead-in then. None for others.
	Items []Change
}

// Sentences are the changes of single sentences: those of the items, or itself.
func (c *Change) Sentences() []Change {
	if len(c.Items) > 0 {
		return c.Items
	}
	return []Change{*c}
}

// Sentence is the sentence as it is, or was.
func (c *Change) Sentence() *Sentence { return cmp.Or(c.After, c.Before) }

// Uncatalogued tells whether no requirement states the sentence as it is.
func (c *Change) Uncatalogued() bool {
	if len(c.Items) > 0 {
		return slices.ContainsFunc(c.Items, func(one Change) bool { return one.Uncatalogued() })
	}
	return c.After != nil && !slices.ContainsFunc(c.Requirements, func(r *Requirement) bool {
		return slices.Contains(r.Covers, c.After.Fingerprint)
	})
}

// sameEnough is the share of words from which on a sentence is taken for another one changed:
// between the released revisions all rewordings have more, and other pairs less.
const sameEnough = 0.6

// Since compares the normative sentences of two revisions of a checkout, of which the later may
// be Draft. The changes are sorted by page and line, what is gone by where it was. An error
// says which folder is missing.
func (s *Specification) Since(catalogue *Catalogue, from, to string) ([]Change, error) {
	for _, revision := range []string{from, to} {
		if s.revisions[revision] == nil {
			return nil, fmt.Errorf("there is no folder %s", revision)
		}
	}
	before := s.normative(from, func(page string) bool { // kept beside the specification, and not in each checkout
		return slices.Contains(guides, page) && s.revisions[to][page] == nil
	})
	after := s.normative(to, func(string) bool { return false })
	var changes []Change
	var fresh []Sentence
	for _, sentence := range after.order {
		twins := before.by[sentence.Fingerprint]
		switch {
		case len(twins) == 0:
			fresh = append(fresh, sentence)
		case !slices.ContainsFunc(twins, sentence.standsWith):
			changes = append(changes, Change{Kind: Moved, Before: &twins[0], After: &sentence})
		case !slices.ContainsFunc(twins, sentence.bindsAs):
			changes = append(changes, Change{Kind: Changed, Before: &twins[0], After: &sentence, Alike: 1})
		}
	}
	var lost []Sentence
	for _, sentence := range before.order {
		if len(after.by[sentence.Fingerprint]) == 0 {
			lost = append(lost, sentence)
		}
	}
	changes = append(changes, pair(lost, fresh)...)
	for i := range changes {
		changes[i].Requirements = catalogue.touched(changes[i])
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		one, other := a.Sentence(), b.Sentence()
		return cmp.Or(strings.Compare(one.Page, other.Page), cmp.Compare(one.Line, other.Line))
	})
	return byLeadIn(changes), nil
}

// byLeadIn makes one change of those of the items of a list whose lead-in alone has changed.
func byLeadIn(changes []Change) []Change {
	type leadIns struct{ page, before, after string }
	first := map[leadIns]int{}
	var told []Change
	for _, change := range changes {
		before, after, is := change.leadIns()
		if !is {
			told = append(told, change)
			continue
		}
		key := leadIns{change.After.Page, before.Text, after.Text}
		at, there := first[key]
		if !there {
			at = len(told)
			first[key] = at
			told = append(
				told,
				Change{Kind: Changed, Before: before, After: after, Alike: alikeness(before.Text, after.Text)},
			)
		}
		whole := &told[at]
		whole.Items = append(whole.Items, change)
		for _, requirement := range change.Requirements {
			if !slices.Contains(whole.Requirements, requirement) {
				whole.Requirements = append(whole.Requirements, requirement)
			}
		}
	}
	return told
}

// leadIns are those of a sentence as it was and as it is, where nothing else of it has changed.
func (c *Change) leadIns() (before, after *Sentence, is bool) {
	if c.Kind != Changed || c.Before.LeadIn == "" || c.After.LeadIn == "" || c.Before.LeadIn == c.After.LeadIn ||
		c.Before.item() != c.After.item() {
		return nil, nil, false
	}
	return c.Before.leadIn(), c.After.leadIn(), true
}

// item is what a sentence says without its lead-in.
func (s Sentence) item() string { return strings.TrimPrefix(s.Text, s.LeadIn) }

// leadIn is the lead-in of a sentence alone. It is no sentence of its own, and has no fingerprint.
func (s Sentence) leadIn() *Sentence {
	s.Text, s.Line, s.Fingerprint = s.LeadIn, s.leadLine, ""
	return &s
}

// pair takes for changed the sentences of two revisions that are most alike, each once; the
// others are gone, or new.
func pair(lost, fresh []Sentence) []Change {
	type couple struct {
		lost, fresh int
		alike       float64
	}
	var couples []couple
	for i := range lost {
		for j := range fresh {
			if alike := alikeness(lost[i].Text, fresh[j].Text); alike >= sameEnough {
				couples = append(couples, couple{i, j, alike})
			}
		}
	}
	slices.SortStableFunc(couples, func(a, b couple) int { return cmp.Compare(b.alike, a.alike) })
	var changes []Change
	left, came := map[int]bool{}, map[int]bool{}
	for _, one := range couples {
		if left[one.lost] || came[one.fresh] {
			continue
		}
		left[one.lost], came[one.fresh] = true, true
		changes = append(changes, Change{
			Kind: Changed, Before: &lost[one.lost], After: &fresh[one.fresh], Alike: one.alike,
		})
	}
	for i := range lost {
		if !left[i] {
			changes = append(changes, Change{Kind: Absent, Before: &lost[i]})
		}
	}
	for i := range fresh {
		if !came[i] {
			changes = append(changes, Change{Kind: New, After: &fresh[i]})
		}
	}
	return changes
}

// touched returns the requirements that cover a sentence as it was or as it is.
func (c *Catalogue) touched(change Change) []*Requirement {
	var touched []*Requirement
	for _, requirement := range c.all {
		covers := func(sentence *Sentence) bool {
			return sentence != nil && slices.Contains(requirement.Covers, sentence.Fingerprint)
		}
		if covers(change.Before) || covers(change.After) {
			touched = append(touched, requirement)
		}
	}
	return touched
}

// sentences are the normative ones of a revision.
type sentences struct {
	order []Sentence            // the first of each fingerprint
	by    map[string][]Sentence // by fingerprint
}

// normative reads the normative sentences of the pages of a revision, save those that are
// skipped, those of extensions, and of pages that the catalogue leaves out at every release.
func (s *Specification) normative(revision string, skip func(page string) bool) sentences {
	found := sentences{by: map[string][]Sentence{}}
	for _, name := range s.pages(revision) {
		if strings.HasPrefix(name, "extensions/") || s.leftOut(name) || skip(name) {
			continue
		}
		for _, sentence := range s.Page(revision, name).Sentences {
			if !sentence.Normative {
				continue
			}
			if found.by[sentence.Fingerprint] == nil {
				found.order = append(found.order, sentence)
			}
			found.by[sentence.Fingerprint] = append(found.by[sentence.Fingerprint], sentence)
		}
	}
	return found
}

// leftOut tells whether a page of some release is none of Pages: it is generated, or tells
// the news.
func (s *Specification) leftOut(page string) bool {
	return !slices.Contains(Pages, page) && slices.ContainsFunc(protocol.Released(), func(revision string) bool {
		return s.revisions[revision][page] != nil
	})
}

// standsWith tells whether two sentences stand below the same heading.
func (s Sentence) standsWith(other Sentence) bool {
	return s.Page == other.Page && s.Anchor == other.Anchor
}

// bindsAs tells whether two sentences are equally binding.
func (s Sentence) bindsAs(other Sentence) bool { return slices.Equal(s.Levels(), other.Levels()) }
