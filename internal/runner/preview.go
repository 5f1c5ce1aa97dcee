package runner

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/suites"
)

// Declared is a check or a rule, as it is written.
type Declared struct {
	Role         string // of All
	Group        []string
	Text         string
	Rule         bool
	Labels       []string // those of All are without a transport
	Transports   []string // of All: over which it applies
	Requirements []string
	Scenario     *scenario.Scenario // in which a check of a client looks; nil for none
	leg          int
}

// previewing is held while a tree is built: Ginkgo has one for the whole process.
var previewing sync.Mutex

// preview builds the tree of checks without running it and makes sure that the
// declarations hold: each check stands under a name of its own, verifies
// something, and requirements of one severity only.
func preview(environments []*conform.Environment) ([]Declared, error) {
	previewing.Lock()
	defer previewing.Unlock()
	stage := &stage{environments: environments}
	stage.declare()
	suite, reporter := quiet()
	var declared []Declared
	names := map[string]bool{}
	for _, spec := range ginkgo.PreviewSpecs("mcpconform", suite, reporter).SpecReports {
		if spec.LeafNodeType != types.NodeTypeIt {
			continue
		}
		index := stage.legOf(spec)
		environment := environments[index]
		text := texts(spec)
		check := Declared{
			Group:  text[:len(text)-1],
			Text:   text[len(text)-1],
			Labels: spec.Labels(),
			Requirements: environment.Requirements(
				spec.Labels(),
			),
			Scenario: environment.ScenarioIn(spec.Labels()),
			leg:      index,
		}
		name := key(environment.Name(), spec)
		switch {
		case names[name]:
			return nil, fmt.Errorf("two checks are named %q", strings.Join(text, " · "))
		case len(check.Requirements) == 0:
			return nil, fmt.Errorf("the check %q verifies nothing", strings.Join(text, " · "))
		}
		if err := oneSeverity(environment.Catalogue, check.Requirements, environment.Revision); err != nil {
			return nil, fmt.Errorf("the check %q %w", strings.Join(text, " · "), err)
		}
		names[name] = true
		declared = append(declared, check)
	}
	for _, environment := range environments {
		if err := rules.Declared(environment.Rules); err != nil {
			return nil, err
		}
		for _, rule := range environment.Rules {
			if err := ruleHolds(environment, rule); err != nil {
				return nil, err
			}
		}
	}
	return declared, nil
}

func ruleHolds(environment *conform.Environment, rule rules.Rule) error {
	for _, id := range rule.Requirements {
		if _, known := environment.Catalogue.Get(id); !known {
			return fmt.Errorf("the rule %q verifies %q, which no requirements.yaml has", rule.Text, id)
		}
	}
	if err := oneSeverity(environment.Catalogue, rule.Requirements, environment.Revision); err != nil {
		return fmt.Errorf("the rule %q %w", rule.Text, err)
	}
	return nil
}

// oneSeverity makes sure that a broken check has one verdict: a MUST and a
// SHOULD cannot share one.
func oneSeverity(requirements *catalogue.Catalogue, ids []string, revision string) error {
	var failing, warning string
	for _, id := range ids {
		requirement, _ := requirements.Get(id)
		if !requirement.StandsAt(revision) {
			continue
		}
		switch level := requirement.Level(revision); {
		case level.Failing():
			failing = id
		case level.Warning():
			warning = id
		default:
			return fmt.Errorf("verifies %s, which is a %s at %s: nothing can break it", id, level, revision)
		}
	}
	if failing != "" && warning != "" {
		return fmt.Errorf("verifies %s and %s, which differ in level at %s", failing, warning, revision)
	}
	return nil
}

// declarations are those that All has read, by role and revision: a process has no others.
var declarations sync.Map // of func() ([]Declared, error)

// All returns every check and rule for a role at some revisions, over any
// transport, by revision. Nobody changes them: they are read once.
func All(role string, revisions []string) (map[string][]Declared, *catalogue.Catalogue, error) {
	requirements, err := suites.Catalogue()
	if err != nil {
		return nil, nil, err
	}
	all := map[string][]Declared{}
	for _, revision := range revisions {
		read, _ := declarations.LoadOrStore(role+" "+revision, sync.OnceValues(func() ([]Declared, error) {
			of, err := AllOf(role, []string{revision}, requirements)
			return of[revision], err
		}))
		if all[revision], err = read.(func() ([]Declared, error))(); err != nil {
			return nil, nil, err
		}
	}
	return all, requirements, nil
}

// AllOf returns those of All that verify something of a catalogue.
func AllOf(role string, revisions []string, requirements *catalogue.Catalogue) (map[string][]Declared, error) {
	environments := make([]*conform.Environment, len(revisions))
	for i, revision := range revisions {
		environments[i] = &conform.Environment{
			Leg:    conform.Leg{Role: role, Revision: revision, Transport: protocol.HTTP},
			Survey: &survey.Survey{}, Catalogue: requirements, Rules: suites.Rules(),
		}
	}
	declared, err := preview(environments)
	if err != nil {
		return nil, err
	}
	all := map[string][]Declared{}
	add := func(at int, one Declared) {
		if conform.Stands(one.Labels) {
			one.Role = role
			one.Transports = environments[at].TransportsOf(one.Labels)
			one.Labels = slices.DeleteFunc(
				one.Labels,
				func(label string) bool { return label == environments[at].Transport },
			)
			all[revisions[at]] = append(all[revisions[at]], one)
		}
	}
	for _, check := range declared {
		add(check.leg, check)
	}
	for i, environment := range environments {
		for _, rule := range environment.Rules {
			add(i, Declared{
				Group: []string{"Rules"}, Text: rule.Text, Rule: true,
				Labels: environment.RuleLabels(rule), Requirements: environment.Standing(rule.Requirements),
			})
		}
	}
	return all, nil
}
