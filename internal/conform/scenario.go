package conform

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Scenario is one run of a target client against a scripted server. Several checks
// may look at the same scenario: the client plays it once for all of them.
type Scenario struct {
	// Name tells it from all others, in words with hyphens.
	Name string
	// Says tells in one sentence what happens in it.
	Says string
	// Official is the scenario of the official suite for which a client does what
	// this scenario needs: one that was written for that suite, and not for ours, plays
	// the scenario then. When it is "" such a client connects, lists the tools, and calls
	// AddNumbers where the steps do.
	Official string
	// Context is what that scenario gives the client beside.
	Context Object
	// Since and Until are the revisions at which it can be played; "" for all.
	Since, Until string
	// Over is the transport over which it can be played; "" for each.
	Over string
	// Speaks is the revision of the scripted server where it is another one than that
	// of the leg: what a client says then is not judged by the rules.
	Speaks string
	// Unnamed leaves it to the client which revision it begins with: none is named.
	Unnamed bool
	// Named is the revision that the client is told to begin with where it is another
	// one than that of the leg.
	Named string
	// Steps are what the client is told to do.
	Steps Steps
	// Server says how the scripted server differs from a good one; nil for not at
	// all.
	Server func(server *scripted.Server)
	// Unclosed says that the scenario ends when it is quiet, and the client is ended
	// then: it has something to do that takes no end.
	Unclosed bool
}

// labelScenario is what the label of the scenario of a check begins with.
const labelScenario = "in:"

// In says in which scenario a check looks. What the check needs of the revision and
// of the transport, the scenario has.
func In(scenario *Scenario) Labels {
	if building == nil {
		panic("conform: In outside of a tree of checks")
	}
	building.tell(scenario)
	labels := Labels{labelScenario + scenario.Name}
	if !scenario.at(building.Revision) {
		labels = append(labels, labelAbsent)
	}
	if scenario.Over != "" {
		labels = append(labels, labelTransport+scenario.Over)
	}
	return labels
}

func (s *Scenario) official() string {
	calls := func(one Step) bool { return one["tool"] == scripted.AddNumbers }
	switch {
	case s.Official != "":
		return s.Official
	case slices.ContainsFunc(s.Steps, calls):
		return "tools_call"
	}
	return "initialize"
}

// leg is the one in which the client plays the scenario.
func (s *Scenario) leg(of Leg) Leg {
	if s.Speaks != "" {
		of.Revision = s.Speaks
	}
	return of
}

func (s *Scenario) at(revision string) bool {
	return (s.Since == "" || s.Since <= revision) && (s.Until == "" || revision <= s.Until)
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
func (e *Environment) tell(scenario *Scenario) {
	if e.scenarios == nil {
		e.scenarios = map[string]*Scenario{}
	}
	if known := e.scenarios[scenario.Name]; known != nil && known != scenario {
		panic(fmt.Sprintf("two scenarios are named %q", scenario.Name))
	}
	e.scenarios[scenario.Name] = scenario
}

// ScenarioIn returns the scenario in which a check with these labels looks; nil for none.
func (e *Environment) ScenarioIn(labels []string) *Scenario { return e.scenarios[ScenarioOf(labels)] }

// Scenarios are those in which the checks of the environment look and that can be
// played at its revision and over its transport, by name.
func (e *Environment) Scenarios() []*Scenario {
	var all []*Scenario
	for _, scenario := range e.scenarios {
		if scenario.at(e.Revision) && (scenario.Over == "" || scenario.Over == e.Transport) {
			all = append(all, scenario)
		}
	}
	slices.SortFunc(all, func(a, b *Scenario) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// Meeting is the scenario by which a client is met: to see that it can be started,
// and what it speaks.
var Meeting = &Scenario{
	Name: "meeting", Says: "The client connects, lists the tools, calls one and leaves.",
	Steps: Steps{
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToClose(),
	},
}
