package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// FilterError says what is wrong with a --filter.
type FilterError struct{ Reason string }

func (e *FilterError) Error() string { return e.Reason }

// Matches tells whether a filter chooses a check or rule of [All], over one of the
// transports at least.
func (d Declared) Matches(chosen *filter.Filter) bool {
	return slices.ContainsFunc(d.Transports, func(transport string) bool {
		return chosen.Matches(append(slices.Clip(d.Labels), transport))
	})
}

// ParseFilter reads a filter for the checks and rules of a role. The revisions are
// those at which it chooses any, oldest first. An error is a *FilterError, or one of
// the declarations.
func ParseFilter(role, text string) (chosen *filter.Filter, revisions []string, err error) {
	if chosen, err = filter.Parse(text); err != nil {
		return nil, nil, &FilterError{Reason: fmt.Sprintf("--filter %q cannot be read: %s", text, err)}
	}
	all, requirements, err := All(role, protocol.Released())
	if err != nil {
		return nil, nil, err
	}
	if err := resolve(chosen, all); err != nil {
		return nil, nil, err
	}
	if word, meant := chosen.Unknown(words(all)); word != "" {
		return nil, nil, &FilterError{
			Reason: fmt.Sprintf("--filter: %q is unknown%s", word, mend(role, word, meant, all, requirements)),
		}
	}
	for _, revision := range protocol.Released() {
		if slices.ContainsFunc(all[revision], func(one Declared) bool { return one.Matches(chosen) }) {
			revisions = append(revisions, revision)
		}
	}
	if len(revisions) == 0 {
		return nil, nil, &FilterError{
			Reason: fmt.Sprintf("--filter %q matches no check or rule of %s", text, aRole(role)),
		}
	}
	return chosen, revisions, nil
}

// resolve puts requirements in the place of the texts of a role's checks and rules. A word
// of any role, and a heading, is no text.
func resolve(chosen *filter.Filter, all map[string][]Declared) error {
	find := func(has func(*Declared) bool) (ids []string) {
		for _, declared := range all {
			for i := range declared {
				if has(&declared[i]) {
					ids = append(ids, declared[i].Requirements...)
				}
			}
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	var failed error
	everyWord := sync.OnceValue(func() []string { // seldom: most filters name what the role has
		known, err := Words(protocol.Roles()...)
		failed = err
		return known
	})
	own := words(all)
	known := func(word string) bool {
		is := func(one string) bool { return strings.EqualFold(one, word) }
		return slices.ContainsFunc(own, func(label string) bool { return is(filter.Word(label)) }) ||
			slices.ContainsFunc(everyWord(), is) ||
			len(find(func(one *Declared) bool { return slices.ContainsFunc(one.Group, is) })) > 0
	}
	err := chosen.Resolve(known, func(text string) []string {
		return find(func(one *Declared) bool { return filter.HasText(one.Text, text) })
	})
	return cmp.Or(failed, err)
}

// Words returns all words that a filter may have for the checks and rules of some
// roles, sorted.
func Words(roles ...string) ([]string, error) {
	var known []string
	for _, role := range roles {
		all, _, err := All(role, protocol.Released())
		if err != nil {
			return nil, err
		}
		for _, label := range words(all) {
			known = append(known, filter.Word(label))
		}
	}
	slices.Sort(known)
	return slices.Compact(known), nil
}

// words are the labels of all checks and rules, each once.
func words(all map[string][]Declared) []string {
	known := map[string]bool{protocol.Stdio: true, protocol.HTTP: true, protocol.SSE: true}
	for _, declared := range all {
		for _, one := range declared {
			for _, label := range one.Labels {
				known[label] = true
			}
		}
	}
	labels := make([]string, 0, len(known))
	for label := range known {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	return labels
}

// mend says what to do about a word that is unknown.
func mend(role, word, meant string, all map[string][]Declared, requirements *catalogue.Catalogue) string {
	for _, revision := range slices.Backward(protocol.Released()) {
		for _, one := range all[revision] {
			if slices.ContainsFunc(one.Group, func(heading string) bool { return strings.EqualFold(heading, word) }) {
				first, _ := requirements.Get(one.Requirements[0])
				return ": it is a heading; its page is " + first.Page(revision)
			}
		}
	}
	for _, other := range protocol.Roles() {
		known, err := Words(other)
		if err == nil && other != role &&
			slices.ContainsFunc(known, func(one string) bool { return strings.EqualFold(one, word) }) {
			return fmt.Sprintf(" among the checks of %s; %s has it: mcpconform %s", aRole(role), aRole(other), other)
		}
	}
	if meant != "" {
		return fmt.Sprintf(", did you mean %q?", meant)
	}
	return "; mcpconform list shows what there is"
}

// aRole is a role with its article.
func aRole(role string) string {
	if role == protocol.AuthorizationServerRole {
		return "an " + role
	}
	return "a " + role
}
