package conform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// Labels are the words by which a filter names a check: the requirements that it verifies,
// the words of package filter, and what it needs.
func (e *Environment) Labels(declared *Declaration) []string {
	labels := e.verifying(declared.Requirements)
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
	if declared.Transport != "" {
		labels = append(labels, "over:"+declared.Transport)
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
	if declared.Guarded {
		labels = append(labels, GuardedFilter)
	}
	return labels
}

// verifying are the labels of what verifies requirements.
func (e *Environment) verifying(requirements []string) []string {
	labels := slices.Clone(requirements) // first: the first one names the check
	for _, id := range e.Standing(requirements) {
		requirement, known := e.Catalogue.Get(id)
		if !known {
			continue
		}
		for _, word := range e.words(requirement) {
			if !slices.Contains(labels, word) {
				labels = append(labels, word)
			}
		}
	}
	return labels
}

// words are the labels of a requirement beside its id.
func (e *Environment) words(requirement *catalogue.Requirement) []string {
	page := requirement.Page(e.Revision)
	words := append(filter.Page(page), pageLabel(page))
	for _, beginning := range filter.Beginnings(requirement.ID) {
		if _, known := e.Catalogue.Get(beginning); !known { // which would verify another requirement
			words = append(words, beginning)
		}
	}
	words = append(words, filter.Level(string(requirement.Level(e.Revision)))...)
	return append(words, e.Revision, e.Transport)
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

// Stands tells whether a check is part of a run of the leg: its revision has what the check
// needs, and one of its requirements obliges the target there.
func (e *Environment) Stands(declared *Declaration) bool {
	return declared.Has(e.Revision) && e.stands(declared.Requirements)
}

// StandsRule tells whether a rule is part of a run of the leg.
func (e *Environment) StandsRule(rule rules.Rule) bool {
	return rule.For(e.Role) && e.stands(rule.Verifies.IDs)
}

// officialExtensions is what the identifiers of these extensions begin with.
const officialExtensions = "io.modelcontextprotocol/"

// gate returns why a check does not apply or cannot be shown; its ending is "" when it can
// run.
func (e *Environment) gate(declared *Declaration) (outcome Outcome) {
	if reason := e.elsewhere(e.Standing(declared.Requirements)); reason != "" {
		return Outcome{Ending: Skipped, Reason: reason}
	}
	if wanted := declared.Transport; wanted != "" && wanted != e.Transport {
		return Outcome{Ending: Skipped, Reason: "applies to the " + wanted + " transport only"}
	}
	if outcome := e.admits(declared); outcome.Ending != "" {
		return outcome
	}
	for _, path := range declared.Capabilities {
		if !e.declares(path) {
			return Outcome{Ending: Skipped, Reason: fmt.Sprintf("the server does not declare the capability %q", path)}
		}
	}
	for _, name := range declared.Extensions {
		if identifier := officialExtensions + name; !e.declares("extensions." + identifier) {
			return Outcome{
				Ending: Skipped,
				Reason: fmt.Sprintf("the server does not declare the extension %q", identifier),
			}
		}
	}
	if reason := e.never(declared); reason != "" {
		return Outcome{Ending: Skipped, Reason: reason}
	}
	if e.Survey != nil && e.Survey.Closed != "" {
		return Outcome{} // nothing can be asked, which the check finds out
	}
	if declared.Barrier && e.noBarrier() != "" {
		return Outcome{Ending: Inconclusion, Reason: e.noBarrierReason(), Hint: e.barrierHint()}
	}
	for _, kind := range declared.Provocations {
		if _, found := e.provocation(kind); !found {
			return Outcome{
				Ending:      Inconclusion,
				Reason:      e.unprovoked(kind),
				Hint:        provocationHint(kind),
				Provocation: kind,
			}
		}
	}
	return Outcome{}
}

// Standing returns those of the requirements that oblige the target at the revision;
// all, when none does. What holds in both eras may be written down for each.
func (e *Environment) Standing(ids []string) []string {
	standing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		requirement, known := e.Catalogue.Get(id)
		return known && !requirement.Applies(e.Revision, "", e.Role)
	})
	if len(standing) == 0 {
		return ids
	}
	return standing
}

// stands tells whether one of the requirements obliges the target at the revision.
func (e *Environment) stands(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		requirement, known := e.Catalogue.Get(id)
		return known && requirement.Applies(e.Revision, "", e.Role)
	})
}

// elsewhere says why none of the requirements that stand applies to the transport;
// "" when one does.
func (e *Environment) elsewhere(ids []string) string {
	reason := ""
	for _, id := range ids {
		requirement, _ := e.Catalogue.Get(id)
		if requirement.Applies(e.Revision, e.Transport, e.Role) {
			return ""
		}
		if requirement.Applies(e.Revision, "", e.Role) {
			reason = "applies to the " + strings.Join(requirement.Transports, " and ") + " transport only"
		}
	}
	return reason
}

// TransportsOf returns the transports over which one of the requirements applies, whatever
// that of the leg is: only the one that is named, if any is.
func (e *Environment) TransportsOf(requirements []string, only string) []string {
	applies := func(transport string) bool {
		return (only == "" || only == transport) &&
			slices.ContainsFunc(e.Standing(requirements), func(id string) bool {
				requirement, known := e.Catalogue.Get(id)
				return known && requirement.Applies(e.Revision, transport, e.Role)
			})
	}
	return slices.DeleteFunc(protocol.CheckedTransports(), func(transport string) bool { return !applies(transport) })
}

// RuleLabels are the labels that a filter sees of a rule.
func (e *Environment) RuleLabels(rule rules.Rule) []string { return e.verifying(rule.Verifies.IDs) }
