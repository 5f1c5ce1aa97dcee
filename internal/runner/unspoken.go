package runner

import (
	"cmp"
	"slices"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// revisionAsked is the id of a result by which no requirement is broken: it is the user who
// named a revision that the target does not speak.
const revisionAsked = "revision"

// deny adds the result of a revision that the target does not speak, unless others say
// what fails. It stands regardless of the filter.
func (c *collector) deny(state *cellState) {
	failed := slices.ContainsFunc(
		state.report.Results,
		func(result reports.Result) bool { return result.Verdict == reports.Failed },
	)
	if state.denied != nil && !failed && c.catalogue != nil {
		state.report.Results = append(state.report.Results, c.denied(state))
	}
}

// denied makes that result.
func (c *collector) denied(state *cellState) reports.Result {
	revision, role := state.report.Revision, state.report.Role
	ids := []string{state.denied.ID}
	name, events, hint := ids[0], state.denied.Events, ""
	if state.denied.Keeps {
		name, ids = revisionAsked, nil
	}
	if state.denied.Text == "" && c.options.Revisions.Named() {
		hint = "a " + role + " that does not support " + revision + " can be checked with other revisions in --revision"
	}
	verdict := reports.Failed
	if requirement, known := c.catalogue.Get(state.denied.ID); known && !requirement.Level(revision).Failing() {
		verdict = reports.Warned
	}
	return reports.Result{
		ID:           name,
		Kind:         reports.KindCheck,
		Group:        []string{"First contact"},
		Text:         cmp.Or(state.denied.Text, "speaks "+revision),
		Requirements: c.requirements(state, ids),
		Page:         c.page(state, state.denied.ID),
		Verdict:      verdict,
		Failures: []reports.Failure{{
			Wanted: c.redact(state.denied.Wanted), Found: c.redact(state.denied.Found),
			Hint: hint,
		}},
		Exchange: evidence.Steps(events, evidence.LastOf(events, role), c.redact),
		Output:   c.redact(state.denied.Output),
		Rerun:    c.rerun(state, state.denied.ID),
	}
}

// cut leaves of events what a report shows.
func cut(events []transcript.Event) []transcript.Event {
	return evidence.Shorten([][]transcript.Event{events}, check.Outcome{})[0]
}
