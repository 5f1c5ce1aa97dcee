package clientrun

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// cellIn is the one in which the client plays a scenario.
func cellIn(scenario *scenario.Scenario, cell Cell) Cell {
	cell.Revision = scenario.RevisionOf(cell.Revision)
	return cell
}

// Know tells the runner the checks of its role: the scenarios in which they look are
// those that a client can be run through.
func (r *Runner) Know(declared []*Declaration) {
	r.scenarios = map[string]*scenario.Scenario{}
	for _, one := range declared {
		if one.Scenario != nil {
			r.scenarios[one.Scenario.Name] = one.Scenario
		}
	}
}

// Scenarios are those in which the checks of the runner look and that can be
// played at its revision and over its transport, by name.
func (r *Runner) Scenarios() []*scenario.Scenario {
	var all []*scenario.Scenario
	for _, scenario := range r.scenarios {
		if scenario.At(r.Revision) && (scenario.Over == "" || scenario.Over == r.Transport) {
			all = append(all, scenario)
		}
	}
	slices.SortFunc(all, func(a, b *scenario.Scenario) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}
