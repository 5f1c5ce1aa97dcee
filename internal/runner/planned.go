package runner

import (
	"time"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// PlannedLeg has the checks and rules of one revision over one transport.
type PlannedLeg struct {
	conform.Leg
	Checks []Declared
}

// Planned returns what a run with the options would check on a target that speaks every
// revision. Nothing is started. An error is a *FilterError, or one of the declarations.
func Planned(options Options) ([]PlannedLeg, error) {
	if err := options.defaults(); err != nil {
		return nil, err
	}
	r := newRun(options, time.Now())
	if err := r.readFilter(); err != nil {
		return nil, err
	}
	r.budget, r.plan.Workers = transcript.NewMemoryBudget(budgetAlone), 1
	for _, transport := range options.Transports {
		for _, revision := range r.options.Revisions.Choose(protocol.Checked(), nil) {
			at := conform.Leg{Role: options.Role, Revision: revision, Transport: transport}
			r.legs = append(r.legs, &legState{
				planned: len(r.plan.Legs),
				report:  reports.Leg{Role: at.Role, Revision: revision, Transport: transport, Spoken: true},
			})
			r.plan.Legs = append(r.plan.Legs, leg{Leg: at, Survey: &survey.Survey{Revision: revision}})
		}
	}
	if err := r.declare(); err != nil {
		return nil, err
	}
	planned := make([]PlannedLeg, len(r.legs))
	for i, state := range r.legs {
		planned[i] = PlannedLeg{Leg: r.plan.Legs[i].Leg, Checks: r.chosenOf(state)}
	}
	return planned, nil
}

// chosenOf are the checks and rules that a leg reports on; others may be there to provoke
// what its rules judge.
func (r *run) chosenOf(state *legState) []Declared {
	var chosen []Declared
	for _, check := range r.declared {
		if check.leg == state.planned && (r.chosen == nil || r.chosen.Matches(check.Labels)) {
			chosen = append(chosen, check)
		}
	}
	for _, rule := range state.environment.Rules {
		labels := state.environment.RuleLabels(rule)
		if !state.environment.StandsRule(rule) || r.chosen != nil && !r.chosen.Matches(labels) {
			continue
		}
		chosen = append(chosen, Declared{
			Group: []string{"Rules"}, Text: rule.Text, Rule: true,
			Labels: labels, Requirements: state.environment.Standing(rule.Verifies.IDs), leg: state.planned,
		})
	}
	return chosen
}
