package conform

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// legIn is the one in which the client plays a scenario.
func legIn(scenario *scenario.Scenario, leg Leg) Leg {
	leg.Revision = scenario.RevisionOf(leg.Revision)
	return leg
}

// Know tells the environment the checks of its role: the scenarios in which they look are
// those that a client can be run through.
func (e *Environment) Know(declared []*Declaration) {
	e.scenarios = map[string]*scenario.Scenario{}
	for _, one := range declared {
		if one.Scenario != nil {
			e.scenarios[one.Scenario.Name] = one.Scenario
		}
	}
}

// Scenarios are those in which the checks of the environment look and that can be
// played at its revision and over its transport, by name.
func (e *Environment) Scenarios() []*scenario.Scenario {
	var all []*scenario.Scenario
	for _, scenario := range e.scenarios {
		if scenario.At(e.Revision) && (scenario.Over == "" || scenario.Over == e.Transport) {
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
