package catalogue

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Coverage says which normative sentences of the specification the catalogue
// states, and where the two disagree.
type Coverage struct {
	Revisions []RevisionCoverage
	Problems  []Problem
}

// RevisionCoverage is the coverage of one revision.
type RevisionCoverage struct {
	Revision string
	Total    Count // of what is no guide
	Pages    []PageCoverage
}

// PageCoverage is the coverage of one page at one revision.
type PageCoverage struct {
	Page  string
	Guide bool // advises; only what a peer can see is catalogued
	Count
	Uncatalogued []Sentence // normative, and stated by no requirement; of a guide none
}

// Count counts the normative sentences of a page.
type Count struct {
	Normative  int // sentences that carry a keyword
	Catalogued int // of these, stated by a requirement
	Server     Seen
	Client     Seen // some oblige both
	Authority  Seen // authorization servers
}

// Seen counts the catalogued sentences that oblige a role.
type Seen struct {
	Visible int // those of which a peer can see a breach
	Checked int // of these, those that a check of the role verifies
}

func (c *Count) add(other Count) {
	c.Normative += other.Normative
	c.Catalogued += other.Catalogued
	c.Server.add(other.Server)
	c.Client.add(other.Client)
	c.Authority.add(other.Authority)
}

func (s *Seen) add(other Seen) {
	s.Visible += other.Visible
	s.Checked += other.Checked
}

// A Checked function tells whether a requirement has a check at a revision for
// a target that plays a role.
type Checked = func(id, revision, role string) bool

// The kinds of disagreement between catalogue and specification.
const (
	Gone        = "gone"        // covers a fingerprint that no revision has
	NoAnchor    = "no anchor"   // is at a page or heading that does not exist
	Contradicts = "contradicts" // has a level that none of its sentences has
	NotStated   = "not stated"  // stands at a revision that has none of its sentences
)

// A Problem is one disagreement between a requirement and the specification.
type Problem struct {
	Requirement *Requirement
	Kind        string
	Revision    string // empty when it concerns all
	Detail      string
}

// String returns the problem in one line, beginning with file:line.
func (p Problem) String() string {
	revision := ""
	if p.Revision != "" {
		revision = " at " + p.Revision
	}
	return fmt.Sprintf(
		"%s:%d: %s %s%s: %s",
		p.Requirement.File,
		p.Requirement.Line,
		p.Requirement.ID,
		p.Kind,
		revision,
		p.Detail,
	)
}

// Complete tells whether every normative sentence is catalogued and nothing
// in the catalogue disagrees with the specification.
func (c *Coverage) Complete() bool {
	if len(c.Problems) > 0 {
		return false
	}
	for _, revision := range c.Revisions {
		if revision.Total.Catalogued < revision.Total.Normative {
			return false
		}
	}
	return true
}

// Trace compares the catalogue with a checkout of the specification (see
// ReadSpecification). Nothing is checked when the function is nil.
func Trace(fsys fs.FS, catalogue *Catalogue, checked Checked) (*Coverage, error) {
	spec, err := ReadSpecification(fsys)
	if err != nil {
		return nil, err
	}
	return spec.Trace(catalogue, checked), nil
}

// Trace compares the catalogue with the specification, as the function Trace.
func (s *Specification) Trace(catalogue *Catalogue, checked Checked) *Coverage {
	t := &tracer{
		spec:      s,
		catalogue: catalogue,
		checked:   checked,
		sentences: map[string]map[string][]Sentence{},
		covering:  map[string][]*Requirement{},
	}
	if t.checked == nil {
		t.checked = func(string, string, string) bool { return false }
	}
	for _, revision := range protocol.Released() {
		t.sentences[revision] = map[string][]Sentence{}
		for _, name := range s.pages(revision) {
			if name == schemaPage {
				continue
			}
			for _, sentence := range s.Page(revision, name).Sentences {
				t.sentences[revision][sentence.Fingerprint] = append(
					t.sentences[revision][sentence.Fingerprint],
					sentence,
				)
			}
		}
	}
	for _, requirement := range catalogue.all {
		for _, fingerprint := range requirement.Covers {
			t.covering[fingerprint] = append(t.covering[fingerprint], requirement)
		}
	}

	coverage := &Coverage{}
	for _, revision := range protocol.Released() {
		if s.revisions[revision] != nil {
			coverage.Revisions = append(coverage.Revisions, t.revision(revision))
		}
	}
	for _, requirement := range catalogue.all {
		coverage.Problems = append(coverage.Problems, t.requirement(requirement)...)
	}
	return coverage
}

type tracer struct {
	spec      *Specification
	catalogue *Catalogue
	checked   Checked
	sentences map[string]map[string][]Sentence // by revision and fingerprint
	covering  map[string][]*Requirement        // by fingerprint
}

func (t *tracer) revision(revision string) RevisionCoverage {
	coverage := RevisionCoverage{Revision: revision}
	for _, name := range Pages {
		page := t.spec.Page(revision, name)
		if page == nil {
			continue
		}
		counted := t.page(revision, page)
		if counted.Guide {
			counted.Uncatalogued = nil
		} else {
			coverage.Total.add(counted.Count)
		}
		coverage.Pages = append(coverage.Pages, counted)
	}
	return coverage
}

func (t *tracer) page(revision string, page *Page) PageCoverage {
	coverage := PageCoverage{Page: page.Name, Guide: slices.Contains(guides, page.Name)}
	for _, sentence := range page.Sentences {
		if !sentence.Normative {
			continue
		}
		coverage.Normative++
		requirements := t.stating(revision, sentence)
		if len(requirements) == 0 {
			coverage.Uncatalogued = append(coverage.Uncatalogued, sentence)
			continue
		}
		coverage.add(Count{
			Catalogued: 1,
			Server:     t.seen(requirements, revision, protocol.ServerRole),
			Client:     t.seen(requirements, revision, protocol.ClientRole),
			Authority:  t.seen(requirements, revision, protocol.AuthorizationServerRole),
		})
	}
	return coverage
}

// seen counts a sentence that the requirements state, for a role. A MAY cannot
// be broken.
func (t *tracer) seen(requirements []*Requirement, revision, role string) Seen {
	seen := Seen{}
	for _, r := range requirements {
		if !r.Visible() || r.Level(revision) == May || !r.Applies(revision, "", role) {
			continue
		}
		seen.Visible = 1
		if t.checked(r.ID, revision, role) {
			seen.Checked = 1
		}
	}
	return seen
}

// stating returns the requirements that state a sentence at a revision. Where
// two pages have the same sentence, each needs a requirement of its own.
func (t *tracer) stating(revision string, sentence Sentence) []*Requirement {
	var stating []*Requirement
	for _, requirement := range t.covering[sentence.Fingerprint] {
		if !requirement.StandsAt(revision) {
			continue
		}
		home := requirement.Page(revision)
		elsewhere := home != sentence.Page && slices.ContainsFunc(t.sentences[revision][sentence.Fingerprint],
			func(twin Sentence) bool { return twin.Page == home })
		if !elsewhere {
			stating = append(stating, requirement)
		}
	}
	return stating
}

func (t *tracer) requirement(r *Requirement) []Problem {
	var problems []Problem
	report := func(kind, revision, format string, args ...any) {
		problems = append(problems, Problem{r, kind, revision, fmt.Sprintf(format, args...)})
	}
	for _, fingerprint := range r.Covers {
		if !t.exists(fingerprint) {
			report(Gone, "", "no sentence has the fingerprint %s%s", fingerprint, t.closest(r, fingerprint))
		}
	}
	for _, revision := range protocol.Released() {
		if t.spec.revisions[revision] == nil || !r.StandsAt(revision) {
			continue
		}
		stated := t.statedBy(r, revision)
		at := r.places.at(revision)
		switch page := t.spec.Page(revision, at.Page); {
		case page == nil && slices.Contains(guides, at.Page):
			continue // kept beside the specification, and not in each checkout
		case page == nil:
			report(NoAnchor, revision, "there is no page %s%s", at.Page, suggest(at.Page, t.spec.pages(revision)))
		case at.Anchor != "" && !page.Anchors[at.Anchor]:
			report(NoAnchor, revision, "the page %s has no heading #%s%s",
				at.Page, at.Anchor, suggest(at.Anchor, slices.Sorted(maps.Keys(page.Anchors))))
		}
		if len(r.Covers) > 0 && len(stated) == 0 {
			report(NotStated, revision, "none of the sentences that it covers stands there")
		}
		level := r.Level(revision)
		if found := levelsOf(stated); len(found) > 0 && !slices.Contains(found, level) && r.RestsOn == "" {
			words := make([]string, len(found))
			for i, l := range found {
				words[i] = string(l)
			}
			report(
				Contradicts,
				revision,
				"its level is %s, but what it covers says %s",
				level,
				strings.Join(words, ", "),
			)
		}
	}
	return problems
}

// statedBy returns the sentences of a revision that a requirement covers.
func (t *tracer) statedBy(r *Requirement, revision string) []Sentence {
	var stated []Sentence
	for _, fingerprint := range r.Covers {
		stated = append(stated, t.sentences[revision][fingerprint]...)
	}
	return stated
}

// levelsOf returns the levels of all the sentences, the strongest first. Those
// without a keyword have none.
func levelsOf(sentences []Sentence) []Level {
	var found []Level
	for _, level := range levels {
		if slices.ContainsFunc(sentences, func(s Sentence) bool { return slices.Contains(s.Levels(), level) }) {
			found = append(found, level)
		}
	}
	return found
}

func (t *tracer) exists(fingerprint string) bool {
	for _, sentences := range t.sentences {
		if len(sentences[fingerprint]) > 0 {
			return true
		}
	}
	return false
}

// closest says which sentence a fingerprint that is gone may mean: one whose
// fingerprint looks like it, or, of the sentences on the requirement's page
// that no requirement states, the one that shares most words with what the
// requirement says.
func (t *tracer) closest(r *Requirement, fingerprint string) string {
	var fingerprints []string
	best, closest := closestWords, Sentence{}
	for _, revision := range slices.Backward(protocol.Released()) {
		page := t.spec.Page(revision, r.Page(revision))
		if page == nil {
			continue
		}
		for _, sentence := range page.Sentences {
			fingerprints = append(fingerprints, sentence.Fingerprint)
			if len(t.covering[sentence.Fingerprint]) > 0 {
				continue
			}
			if alike := alikeness(r.Says, sentence.Text); alike > best {
				best, closest = alike, sentence
			}
		}
	}
	if typo := nearest.Word(fingerprint, fingerprints); typo != "" {
		return suggest(fingerprint, fingerprints)
	}
	if closest.Fingerprint == "" {
		return ""
	}
	return fmt.Sprintf("; closest is %s on line %d, %q", closest.Fingerprint, closest.Line, closest.Text)
}

// closestWords is the share of words that two texts must have in common to be
// worth naming.
const closestWords = 0.25

// alikeness returns the share of words that two texts have in common, from 0
// to 1.
func alikeness(a, b string) float64 {
	wordsOf := func(s string) map[string]bool {
		set := map[string]bool{}
		for _, word := range strings.FieldsFunc(strings.ToLower(s), func(c rune) bool {
			return strings.ContainsRune(" .,;:()\"'", c)
		}) {
			set[word] = true
		}
		return set
	}
	as, bs := wordsOf(a), wordsOf(b)
	common := 0
	for word := range as {
		if bs[word] {
			common++
		}
	}
	if len(as)+len(bs) == 0 {
		return 0
	}
	return 2 * float64(common) / float64(len(as)+len(bs))
}
