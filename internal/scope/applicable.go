package scope

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Labels are the words by which a filter names a check: the requirements that it verifies,
// the words of package filter, and what it needs.
func (s *Scope) Labels(declared *Declaration) []string {
	labels := s.verifying(declared.Requirements)
	for _, needed := range []struct {
		prefix string
		values []string
	}{
		{"needs:", declared.Capabilities}, {"extended-by:", declared.Extensions}, {"provoked-by:", declared.Provocations},
	} {
		for _, value := range needed.values {
			labels = append(labels, needed.prefix+value)
		}
	}
	for _, kind := range declared.Tokens {
		labels = append(labels, "token:"+string(kind))
	}
	for _, transport := range declared.Transports {
		labels = append(labels, "over:"+transport)
	}
	if declared.Scenario != nil {
		labels = append(labels, "in:"+declared.Scenario.Name)
	}
	if declared.Together != "" {
		labels = append(labels, "together:"+declared.Together)
	}
	if declared.Barrier {
		labels = append(labels, "by-barrier")
	}
	if declared.Alone {
		labels = append(labels, "alone")
	}
	if declared.InTurn {
		labels = append(labels, "in-turn")
	}
	if declared.Guarded {
		labels = append(labels, "guarded")
	}
	return labels
}

// verifying are the labels of what verifies requirements.
func (s *Scope) verifying(requirements []string) []string {
	labels := slices.Clone(requirements) // first: the first one names the check
	for _, id := range s.Applicable(requirements) {
		requirement, known := s.Catalogue.Get(id)
		if !known {
			continue
		}
		for _, word := range s.words(requirement) {
			if !slices.Contains(labels, word) {
				labels = append(labels, word)
			}
		}
	}
	return labels
}

// words are the labels of a requirement beside its id.
func (s *Scope) words(requirement *catalogue.Requirement) []string {
	page := requirement.Page(s.Revision)
	words := append(filter.Page(page), pageLabel(page))
	for _, beginning := range filter.Beginnings(requirement.ID) {
		if _, known := s.Catalogue.Get(beginning); !known { // which would verify another requirement
			words = append(words, beginning)
		}
	}
	words = append(words, filter.Level(string(requirement.Level(s.Revision)))...)
	return append(words, s.Revision, s.Transport)
}

// pageLabel is the last part of a page's path: labels may not contain slashes. The
// pages of the transports have one label, as they were one page once.
func pageLabel(page string) string {
	if strings.HasPrefix(page, "basic/transports/") {
		return "transports"
	}
	if name, isExtension := strings.CutPrefix(page, "extensions/"); isExtension {
		return name + "-extension" // the protocol had tasks of its own once
	}
	page = strings.TrimSuffix(page, "/index")
	if page == "basic" {
		return "base"
	}
	return page[strings.LastIndexByte(page, '/')+1:]
}

// Applies tells whether a check is part of a run of the cell: its revision has what the check
// needs, and one of its requirements obliges the target there.
func (s *Scope) Applies(declared *Declaration) bool {
	return declared.Has(s.Revision) && s.obliges(declared.Requirements)
}

// AppliesRule tells whether a rule is part of a run of the cell.
func (s *Scope) AppliesRule(rule rules.Rule) bool {
	return rule.For(s.Role) && s.obliges(rule.Verifies.IDs)
}

// Applicable returns those of the requirements that oblige the target at the revision;
// all, when none does. What holds in both eras may be written down for each.
func (s *Scope) Applicable(ids []string) []string {
	for _, applies := range []func(*catalogue.Requirement) bool{
		func(r *catalogue.Requirement) bool { return r.Applies(s.Revision, s.Transport, s.Role) },
		s.stands, // what is told of another transport
	} {
		applicable := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			requirement, known := s.Catalogue.Get(id)
			return known && !applies(requirement)
		})
		if len(applicable) > 0 {
			return applicable
		}
	}
	return ids
}

// obliges tells whether one of the requirements obliges the target at the revision.
func (s *Scope) obliges(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		requirement, known := s.Catalogue.Get(id)
		return known && s.stands(requirement)
	})
}

// stands tells whether a requirement obliges the target at the revision, over any transport.
// One of HTTP with SSE counts over that alone: reports on other transports leave it out.
func (s *Scope) stands(requirement *catalogue.Requirement) bool {
	over := ""
	if requirement.OfSSE() {
		over = s.Transport
	}
	return requirement.Applies(s.Revision, over, s.Role)
}

// OtherTransport says why none of the requirements that oblige the target applies to the transport;
// "" when one does.
func (s *Scope) OtherTransport(ids []string) string {
	reason := ""
	for _, id := range ids {
		requirement, _ := s.Catalogue.Get(id)
		if requirement.Applies(s.Revision, s.Transport, s.Role) {
			return ""
		}
		if s.stands(requirement) {
			reason = "applies to the " + strings.Join(requirement.Transports, " and ") + " transport only"
		}
	}
	return reason
}

// Lacking tells what a rule needs of that which a recording lacks; "" when it needs nothing of it.
func (s *Scope) Lacking(rule rules.Rule, lacks []transcript.Lack) transcript.Lack {
	for _, lack := range lacks {
		if slices.Contains(rule.Needs, lack) || lack == transcript.HTTPHead && s.OverHTTPAlone(rule.Verifies.IDs) {
			return lack
		}
	}
	return ""
}

// OverHTTPAlone tells whether those of the requirements that oblige the target stand over HTTP alone.
func (s *Scope) OverHTTPAlone(ids []string) bool {
	return !slices.ContainsFunc(s.Applicable(ids), func(id string) bool {
		requirement, known := s.Catalogue.Get(id)
		return !known || len(requirement.Transports) == 0 || slices.Contains(requirement.Transports, protocol.Stdio)
	})
}

// TransportsOf returns the transports over which one of the requirements applies, not only
// that of the cell. If only names any, the others are left out.
func (s *Scope) TransportsOf(requirements, only []string) []string {
	applies := func(transport string) bool {
		return (len(only) == 0 || slices.Contains(only, transport)) && protocol.Reaches(transport, s.Role) &&
			slices.ContainsFunc(s.Applicable(requirements), func(id string) bool {
				requirement, known := s.Catalogue.Get(id)
				return known && requirement.Applies(s.Revision, transport, s.Role)
			})
	}
	return slices.DeleteFunc(protocol.Transports(), func(transport string) bool { return !applies(transport) })
}

// RuleLabels are the labels that a filter sees of a rule.
func (s *Scope) RuleLabels(rule rules.Rule) []string { return s.verifying(rule.Verifies.IDs) }
