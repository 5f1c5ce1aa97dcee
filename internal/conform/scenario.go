package conform

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/scenario"
)

// labelScenario is what the label of the scenario of a check begins with.
const labelScenario = "in:"

// In says in which scenario a check looks. What the check needs of the revision and
// of the transport, the scenario has.
func In(scenario *scenario.Scenario) Labels {
	if building == nil {
		panic("conform: In outside of a tree of checks")
	}
	building.tell(scenario)
	labels := Labels{labelScenario + scenario.Name}
	if !scenario.At(building.Revision) {
		labels = append(labels, labelAbsent)
	}
	if scenario.Over != "" {
		labels = append(labels, labelTransport+scenario.Over)
	}
	if scenario.Protected != nil {
		labels = append(labels, labelAlone) // clients listen for the answer on a port that is always the same
	}
	return labels
}

// legIn is the one in which the client plays a scenario.
func legIn(scenario *scenario.Scenario, leg Leg) Leg {
	leg.Revision = scenario.RevisionOf(leg.Revision)
	return leg
}

// ScenarioOf returns the name of the scenario in which a check with these labels looks;
// "" for none.
func ScenarioOf(labels []string) string {
	for _, label := range labels {
		if name, found := cutScenario(label); found {
			return name
		}
	}
	return ""
}

func cutScenario(label string) (string, bool) {
	if len(label) > len(labelScenario) && label[:len(labelScenario)] == labelScenario {
		return label[len(labelScenario):], true
	}
	return "", false
}

// tell makes a scenario known to the environment. Two of one name are a mistake of
// who wrote them.
func (e *Environment) tell(told *scenario.Scenario) {
	if e.scenarios == nil {
		e.scenarios = map[string]*scenario.Scenario{}
	}
	if known := e.scenarios[told.Name]; known != nil && known != told {
		panic(fmt.Sprintf("two scenarios are named %q", told.Name))
	}
	e.scenarios[told.Name] = told
}

// ScenarioIn returns the scenario in which a check with these labels looks; nil for none.
func (e *Environment) ScenarioIn(labels []string) *scenario.Scenario {
	return e.scenarios[ScenarioOf(labels)]
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
