package conform

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// Prefixes of labels that carry a gate.
const (
	labelCapability  = "needs:"
	labelExtension   = "extended-by:"
	labelTransport   = "over:"
	labelProvocation = "provoked-by:"
	labelBarrier     = "by-barrier"
	labelAlone       = "alone"
	labelAbsent      = "not-at-this-revision"
)

// Verifies names the requirements that a check verifies. Level, page, link and
// revisions come from the catalogue; the words of package filter are labels of the
// check, so that --filter can name them.
func Verifies(requirements ...string) Labels { return verifying(building, requirements) }

func verifying(environment *Environment, requirements []string) Labels {
	labels := slices.Clone(Labels(requirements)) // first: the first one names the check
	for _, id := range requirements {
		requirement, known := environment.Catalogue.Get(id)
		if !known {
			panic(fmt.Sprintf("a check verifies %q, which no requirements.yaml has; the nearest is %q",
				id, environment.Catalogue.Nearest(id)))
		}
		if !slices.Contains(environment.Standing(requirements), id) {
			continue
		}
		for _, word := range environment.words(requirement) {
			if !slices.Contains(labels, word) {
				labels = append(labels, word)
			}
		}
	}
	if !environment.stands(requirements) {
		labels = append(labels, labelAbsent)
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

// AtRevisionsWith keeps a check to the revisions that have a feature, where what it
// verifies stands at others, too.
func AtRevisionsWith(feature protocol.Feature) Labels {
	if !building.Has(feature) {
		return Labels{labelAbsent}
	}
	return nil
}

// AtRevisionsWithout keeps a check to the revisions that do not have a feature.
func AtRevisionsWithout(feature protocol.Feature) Labels {
	if building.Has(feature) {
		return Labels{labelAbsent}
	}
	return nil
}

// NeedsCapability skips a check unless the target declared all of the
// capabilities, given as paths such as "resources.subscribe".
func NeedsCapability(paths ...string) Labels { return prefixed(labelCapability, paths) }

// NeedsExtension skips a check unless the target declared one of the extensions of
// the protocol's own (extensions/overview), such as "tasks".
func NeedsExtension(name string) Labels { return Labels{labelExtension + name} }

// officialExtensions is what the identifiers of these extensions begin with.
const officialExtensions = "io.modelcontextprotocol/"

// NeedsTransport skips a check on other transports.
func NeedsTransport(transport string) Labels { return Labels{labelTransport + transport} }

// Provocations are the kinds that a check with these labels needs.
func Provocations(labels []string) []string {
	var kinds []string
	for _, label := range labels {
		if kind, gated := strings.CutPrefix(label, labelProvocation); gated {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// NeedsProvocation makes a check inconclusive unless the target has a known
// way to provoke a behaviour, such as "progress": a fixture tool, or one that
// the config names.
func NeedsProvocation(kinds ...string) Labels { return prefixed(labelProvocation, kinds) }

// ByBarrier makes a check inconclusive when the server does not answer what every
// server must (ping; server/discover): for one that asks by it, whatever it is
// about.
func ByBarrier() Labels { return Labels{labelBarrier} }

// Alone runs a check when no other runs: what it provokes reaches every
// session of a shared target.
func Alone() Labels { return Labels{labelAlone} }

// WaitsLong marks a check in which many targets leave the harness waiting for as long as
// a reply may take: it begins first, and others go on beside it.
func WaitsLong() SpecPriority { return 1 }

func prefixed(prefix string, values []string) Labels {
	labels := make(Labels, len(values))
	for i, value := range values {
		labels[i] = prefix + value
	}
	return labels
}

// gate returns why a check with these labels does not apply or cannot be
// shown; outcome is "" when it can run.
func (e *Environment) gate(labels []string) (outcome Outcome) {
	if reason := e.elsewhere(e.Requirements(labels)); reason != "" {
		return Outcome{Ending: Skipped, Reason: reason}
	}
	for _, label := range labels {
		if wanted, ok := strings.CutPrefix(label, labelTransport); ok && wanted != e.Transport {
			return Outcome{Ending: Skipped, Reason: "applies to the " + wanted + " transport only"}
		}
	}
	if outcome := e.admits(labels); outcome.Ending != "" {
		return outcome
	}
	for _, label := range labels {
		if path, ok := strings.CutPrefix(label, labelCapability); ok && !e.declares(path) {
			return Outcome{Ending: Skipped, Reason: fmt.Sprintf("the server does not declare the capability %q", path)}
		}
		if name, ok := strings.CutPrefix(
			label,
			labelExtension,
		); ok &&
			!e.declares("extensions."+officialExtensions+name) {
			return Outcome{
				Ending: Skipped,
				Reason: fmt.Sprintf("the server does not declare the extension %q", officialExtensions+name),
			}
		}
	}
	if reason := e.never(labels); reason != "" {
		return Outcome{Ending: Skipped, Reason: reason}
	}
	if e.Survey != nil && e.Survey.Closed != "" {
		return Outcome{} // nothing can be asked, which the check finds out
	}
	if slices.Contains(labels, labelBarrier) && e.noBarrier() != "" {
		return Outcome{Ending: Inconclusion, Reason: e.noBarrierReason(), Hint: e.barrierHint()}
	}
	for _, label := range labels {
		kind, ok := strings.CutPrefix(label, labelProvocation)
		if !ok {
			continue
		}
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

// Requirements returns the ids among a check's labels that stand, in the order in
// which the check names them; all, when none does.
func (e *Environment) Requirements(labels []string) []string {
	return e.Standing(slices.DeleteFunc(slices.Clone(labels), func(label string) bool {
		_, known := e.Catalogue.Get(label)
		return !known
	}))
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

// TransportsOf returns the transports to which a check or rule with these labels
// applies, whatever that of the leg is.
func (e *Environment) TransportsOf(labels []string) []string {
	applies := func(transport string) bool {
		over := slices.IndexFunc(labels, func(label string) bool { return strings.HasPrefix(label, labelTransport) })
		return (over < 0 || labels[over] == labelTransport+transport) &&
			slices.ContainsFunc(e.Requirements(labels), func(id string) bool {
				requirement, known := e.Catalogue.Get(id)
				return known && requirement.Applies(e.Revision, transport, e.Role)
			})
	}
	return slices.DeleteFunc(protocol.CheckedTransports(), func(transport string) bool { return !applies(transport) })
}

// Standing returns a filter for what matches another ("" for everything) and stands
// at the revision of its leg.
func Standing(filter string) string {
	if filter == "" {
		return "!" + labelAbsent
	}
	return "(" + filter + ") && !" + labelAbsent
}

// Stands tells whether a check or rule with these labels stands at the revision of
// its leg: another is no part of a run.
func Stands(labels []string) bool { return !slices.Contains(labels, labelAbsent) }

// RuleLabels are the labels that a filter sees of a rule.
func (e *Environment) RuleLabels(rule rules.Rule) []string {
	if !rule.For(e.Role) {
		return []string{labelAbsent}
	}
	return verifying(e, rule.Requirements)
}

// AloneFilters splits a filter in two: the checks that run side by side, and
// those that run alone.
func AloneFilters(filter string) (together, alone string) {
	if filter == "" {
		return "!" + labelAlone, labelAlone
	}
	return "(" + filter + ") && !" + labelAlone, "(" + filter + ") && " + labelAlone
}

// IsAlone tells whether a check with these labels runs alone.
func IsAlone(labels []string) bool { return slices.Contains(labels, labelAlone) }
