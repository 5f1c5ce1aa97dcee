package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/reports"
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
	all, requirements, err := All(role, protocol.Checked())
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
	for _, revision := range protocol.Checked() {
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
		all, _, err := All(role, protocol.Checked())
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
	known := map[string]bool{protocol.Stdio: true, protocol.HTTP: true}
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
	for _, revision := range slices.Backward(protocol.Checked()) {
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

// readFilter reads the filter of the options, and keeps the run to the revisions at
// which it chooses something.
func (c *collector) readFilter() error {
	if c.options.Profile == FullProfile {
		c.options.Profile = ""
	}
	chosen, revisions, err := ParseChoice(c.options.Role, c.options.Profile, c.options.Filter)
	if err != nil || chosen == nil {
		return err
	}
	c.chosen, c.report.Profile, c.report.Filter = chosen, c.options.Profile, c.options.Filter
	policy := &c.options.Revisions
	if !policy.Named() {
		policy.Among = revisions
		return nil
	}
	if !slices.ContainsFunc(policy.Listed, func(asked string) bool { return slices.Contains(revisions, asked) }) {
		return &FilterError{
			Reason: fmt.Sprintf("%s matches nothing at %s; it does at %s, which --revision names",
				c.options.choice(), strings.Join(policy.Listed, " and "), strings.Join(revisions, " and ")),
		}
	}
	return nil
}

// filterChecks returns the expression for the checks to run. A filter that names a
// requirement of a rule, or rules alone, runs all of them: the rules judge what
// they provoke. The error is a *FilterError when nothing is chosen on any leg.
func (r *run) filterChecks(declared []Declared) (string, error) {
	if r.chosen == nil {
		return "", nil
	}
	ruled, provoking := false, false
	for _, state := range r.legs {
		for _, rule := range state.rules {
			if r.chosen.Matches(state.environment.RuleLabels(rule)) {
				ruled = true
				provoking = provoking || !r.recorded() && slices.ContainsFunc(rule.Verifies.IDs, r.chosen.Names)
			}
		}
	}
	checks := slices.ContainsFunc(
		declared,
		func(check Declared) bool { return r.chosen.Matches(check.Labels) },
	)
	switch {
	case checks && !provoking:
		return r.chosen.Expression(), nil
	case checks || ruled:
		return "", nil
	}
	return "", &FilterError{
		Reason: fmt.Sprintf(
			"%s matches nothing%s over %s",
			r.options.choice(),
			r.inSet(),
			strings.Join(r.options.Transports, " and "),
		),
	}
}

// inSet names the set of requirements that the run is kept to.
func (c *collector) inSet() string {
	if c.options.Requirements == nil {
		return ""
	}
	return " in " + c.options.Requirements.Name()
}

// chosenRules counts the rules that the filter chooses on a leg.
func (c *collector) chosenRules(state *legState) int {
	count := 0
	for _, rule := range state.environment.Rules {
		if state.environment.StandsRule(rule) && c.chooses(state, rule) {
			count++
		}
	}
	return count
}

// chooses tells whether the filter leaves a rule of a leg.
func (c *collector) chooses(state *legState, rule rules.Rule) bool {
	return c.chosen == nil || c.chosen.Matches(state.environment.RuleLabels(rule))
}

// recorded tells whether everything that is judged was recorded before.
func (r *run) recorded() bool {
	return slices.ContainsFunc(r.plan.Legs, func(one leg) bool { return one.Recordings != nil })
}

// filterResults leaves the results that the filter chooses: others were there to
// provoke what rules judge. It tells whether the filter has anything to do with the
// leg.
func (c *collector) filterResults(state *legState) bool {
	if c.chosen == nil {
		return true
	}
	chosen := map[string]bool{}
	for _, check := range c.declared {
		if check.leg == state.planned && c.chosen.Matches(check.Labels) {
			chosen[CheckName(check.Group, check.Text)] = true
		}
	}
	state.report.Results = slices.DeleteFunc(state.report.Results, func(result reports.Result) bool {
		return result.Kind == reports.KindCheck && !isDrawn(&result) && !chosen[CheckName(result.Group, result.Text)]
	})
	return len(chosen) > 0 || len(state.report.Results) > 0
}

// older tells of a revision that is not the newest which the target speaks, because
// the filter chooses nothing there; "" otherwise.
func (r *run) older(revision string, speaks []string) string {
	newer := slices.DeleteFunc(
		protocol.Checked(),
		func(one string) bool { return one <= revision || !slices.Contains(speaks, one) },
	)
	if r.chosen == nil || !r.options.Revisions.Auto || len(newer) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%s is checked: the filter matches nothing at %s, which the %s speaks, too",
		revision,
		strings.Join(newer, " and "),
		r.options.Role,
	)
}

// unchosen says that the target speaks none of the revisions at which the filter
// chooses something.
func (r *run) unchosen(speaks []string) error {
	return &FilterError{Reason: fmt.Sprintf(
		"%s matches something at %s only; the %s speaks %s",
		r.options.choice(),
		strings.Join(r.options.Revisions.Among, " and "),
		r.options.Role,
		strings.Join(speaks, " and "),
	)}
}

// aRole is a role with its article.
func aRole(role string) string {
	if role == protocol.AuthorizationServerRole {
		return "an " + role
	}
	return "a " + role
}
