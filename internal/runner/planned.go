package runner

import (
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// PlannedCell has the checks and rules of one revision over one transport.
type PlannedCell struct {
	check.Cell
	Checks []plan.Declared
}

// Planned returns what a run with the options would check on a target that speaks every
// revision. Nothing is started. An error is a *plan.FilterError, or one of the declarations.
func Planned(options Options) ([]PlannedCell, error) {
	if err := options.defaults(); err != nil {
		return nil, err
	}
	r := newRun(options, time.Now())
	if err := r.readFilter(); err != nil {
		return nil, err
	}
	r.budget, r.plan.Workers = transcript.NewMemoryBudget(memory.BudgetAlone), 1
	for _, transport := range options.Transports {
		for _, revision := range r.revisions() {
			at := check.Cell{Role: options.Role, Revision: revision, Transport: transport}
			r.cells = append(r.cells, &cellState{
				planned: len(r.plan.Cells),
				report:  reports.Cell{Role: at.Role, Revision: revision, Transport: transport, Spoken: true},
			})
			r.plan.Cells = append(r.plan.Cells, worker.Cell{Cell: at, Survey: &survey.Survey{Revision: revision}})
		}
	}
	if err := r.declare(); err != nil {
		return nil, err
	}
	planned := make([]PlannedCell, len(r.cells))
	for i, state := range r.cells {
		planned[i] = PlannedCell{Cell: r.plan.Cells[i].Cell, Checks: r.chosenOf(state)}
	}
	return planned, nil
}

// declare finds out which checks there are for the cells, and that their declarations hold.
func (r *run) declare() error {
	requirements, err := r.load()
	if err != nil {
		return err
	}
	r.catalogue, r.plan.Catalogue = requirements, requirements
	if len(r.plan.Cells) == 0 {
		return nil
	}
	environments := r.plan.Environments(r.process, r.budget, r.closed)
	r.planned = environments
	for _, state := range r.cells {
		if state.planned >= 0 {
			state.environment = environments[state.planned]
			state.rules, state.otherTransport = state.environment.ApplicableRules()
			state.all = len(state.rules) + len(state.otherTransport)
		}
	}
	declared := plan.At(environments)
	filter, err := r.filterChecks(declared)
	if err != nil {
		return err
	}
	r.plan.Filter = filter
	matches := worker.Matching(filter)
	for _, check := range declared {
		r.state(check.Cell).all++
		if matches(func() []string { return check.Labels }) {
			r.declared = append(r.declared, check)
		}
	}
	r.share()
	for _, check := range r.declared {
		r.state(check.Cell).total++
	}
	return nil
}

// chosenOf are the checks and rules that a cell reports on; others may be there to provoke
// what its rules judge.
func (r *run) chosenOf(state *cellState) []plan.Declared {
	var chosen []plan.Declared
	for _, check := range r.declared {
		if check.Cell == state.planned && (r.chosen == nil || r.chosen.Matches(check.Labels)) {
			chosen = append(chosen, check)
		}
	}
	return append(chosen, r.chosenRules(state)...)
}

// chosenRules are the rules that the filter leaves of a cell.
func (c *collector) chosenRules(state *cellState) []plan.Declared {
	return slices.DeleteFunc(plan.RulesAt(state.environment), func(rule plan.Declared) bool {
		return c.chosen != nil && !c.chosen.Matches(rule.Labels)
	})
}
