package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/verdict"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// readFilter reads the filter of the options, and keeps the run to the revisions at
// which it chooses something.
func (c *collector) readFilter() error {
	if c.options.Profile == plan.FullProfile {
		c.options.Profile = ""
	}
	chosen, revisions, err := plan.ParseChoice(c.options.Role, c.options.Profile, c.options.Filter)
	if err != nil || chosen == nil {
		return err
	}
	c.chosen, c.report.Profile, c.report.Filter = chosen, c.options.Profile, c.options.Filter
	policy := &c.options.Revisions
	if !policy.Named() {
		policy.Among = revisions
		carries := func(transport string) bool { return policy.Over(transport).Any() }
		if len(c.options.Transports) > 0 && !slices.ContainsFunc(c.options.Transports, carries) {
			return &plan.FilterError{Reason: fmt.Sprintf("%s matches something at %s only, which is not spoken over %s",
				c.options.choice(), reports.Series(revisions), strings.Join(c.options.Transports, " and "))}
		}
		return nil
	}
	if !slices.ContainsFunc(policy.Listed, func(asked string) bool { return slices.Contains(revisions, asked) }) {
		return &plan.FilterError{
			Reason: fmt.Sprintf("%s matches nothing at %s; it does at %s, which --revision names",
				c.options.choice(), reports.Series(policy.Listed), reports.Series(revisions)),
		}
	}
	return nil
}

// filterChecks returns the expression for the checks to run. A filter that names a
// requirement of a rule, or rules alone, runs all of them: the rules judge what
// they provoke. The error is a *plan.FilterError when nothing is chosen on any cell.
func (r *run) filterChecks(declared []plan.Declared) (string, error) {
	if r.chosen == nil {
		return "", nil
	}
	ruled, provoking := false, false
	for _, state := range r.cells {
		for _, rule := range state.rules {
			if r.chosen.Matches(state.environment.RuleLabels(rule)) {
				ruled = true
				provoking = provoking || !r.recorded() && slices.ContainsFunc(rule.Verifies.IDs, r.chosen.Names)
			}
		}
	}
	checks := slices.ContainsFunc(
		declared,
		func(check plan.Declared) bool { return r.chosen.Matches(check.Labels) },
	)
	switch {
	case checks && !provoking:
		return r.chosen.Expression(), nil
	case checks || ruled:
		return "", nil
	}
	return "", &plan.FilterError{
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

// chooses tells whether the filter leaves a rule of a cell.
func (c *collector) chooses(state *cellState, rule rules.Rule) bool {
	return c.chosen == nil || c.chosen.Matches(state.environment.RuleLabels(rule))
}

// recorded tells whether everything that is judged was recorded before.
func (r *run) recorded() bool {
	return slices.ContainsFunc(r.plan.Cells, func(one worker.Cell) bool { return one.Recordings != nil })
}

// filterResults leaves the results that the filter chooses: others were there to
// provoke what rules judge. It tells whether the filter has anything to do with the
// cell.
func (c *collector) filterResults(state *cellState) bool {
	if c.chosen == nil {
		return true
	}
	chosen := map[string]bool{}
	for _, check := range c.declared {
		if check.Cell == state.planned && c.chosen.Matches(check.Labels) {
			chosen[plan.CheckName(check.Group, check.Text)] = true
		}
	}
	state.report.Results = slices.DeleteFunc(state.report.Results, func(result reports.Result) bool {
		return result.Kind == reports.KindCheck && !verdict.IsDrawn(&result) &&
			!chosen[plan.CheckName(result.Group, result.Text)]
	})
	return len(chosen) > 0 || len(state.report.Results) > 0
}

// older tells of a revision that is not the newest which the target speaks, because
// the filter chooses nothing there; "" otherwise.
func (r *run) older(revision string, speaks []string) string {
	newer := slices.DeleteFunc(
		protocol.Released(),
		func(one string) bool { return one <= revision || !slices.Contains(speaks, one) },
	)
	if r.chosen == nil || !r.options.Revisions.Auto || len(newer) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%s is checked: the filter matches nothing at %s, which the %s speaks, too",
		revision,
		reports.Series(newer),
		r.options.Role,
	)
}

// unchosen says that the target speaks none of the revisions at which the filter
// chooses something.
func (r *run) unchosen(speaks []string) error {
	return &plan.FilterError{Reason: fmt.Sprintf(
		"%s matches something at %s only; the %s speaks %s",
		r.options.choice(),
		reports.Series(r.options.Revisions.Among),
		r.options.Role,
		reports.Series(speaks),
	)}
}

// choice names what was chosen, as flags do: --filter "ping".
func (o *Options) choice() string {
	var words []string
	if o.Profile != "" {
		words = append(words, "--profile "+o.Profile)
	}
	if o.Filter != "" {
		words = append(words, fmt.Sprintf("--filter %q", o.Filter))
	}
	return strings.Join(words, " ")
}
