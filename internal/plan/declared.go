// Package plan knows which checks and rules there are at a revision for a role, and which of
// them a filter or a profile chooses. It starts nothing.
package plan

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/suites"
)

// Declared is a check or a rule, as it is written.
type Declared struct {
	Role         string             // of All
	Check        *check.Declaration // nil for a rule
	Group        []string
	Text         string
	Rule         bool
	Labels       []string // those of All are without a transport
	Transports   []string // of All: over which it applies
	Requirements []string
	Scenario     *scenario.Scenario // in which a check of a client looks; nil for none
	Cell         int                // of those that the run is on
}

// CheckName names a check or rule among all of a cell.
func CheckName(group []string, text string) string {
	return strings.Join(append(slices.Clone(group), text), " · ")
}

// DeclarationError says what is wrong with the checks and rules as they are written: a mistake
// of the harness, not of its user.
type DeclarationError struct{ Problems []check.Problem }

func (e *DeclarationError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Sound looks through the checks of all roles and the rules, before any runs. Broken are the
// requirements that faults break. The error is a *DeclarationError.
func Sound(broken map[string]bool) error {
	requirements, err := suites.Catalogue()
	if err != nil {
		return err
	}
	all := check.ProblemsOfRules(suites.Rules(), requirements, broken)
	for _, role := range protocol.Roles() {
		all = append(all, check.Problems(role, suites.Checks(role), requirements, broken)...)
	}
	if len(all) > 0 {
		return &DeclarationError{all}
	}
	return nil
}

// At returns the checks that are part of a run on some cells.
func At(environments []*session.Environment) []Declared {
	var all []Declared
	for index, environment := range environments {
		checks := suites.Checks(environment.Role)
		environment.Know(checks)
		for _, one := range checks {
			if !environment.Applies(one) {
				continue
			}
			all = append(all, Declared{
				Check: one, Group: one.Group, Text: one.Text, Scenario: one.Scenario, Cell: index,
				Labels: environment.Labels(one), Requirements: environment.Applicable(one.Requirements),
			})
		}
	}
	return all
}

// RulesAt returns the rules that judge what is seen on a cell.
func RulesAt(environment *session.Environment) []Declared {
	var all []Declared
	for _, rule := range environment.Rules {
		if environment.AppliesRule(rule) {
			all = append(all, Declared{
				Group: []string{"Rules"}, Text: rule.Text, Rule: true,
				Labels: environment.RuleLabels(rule), Requirements: environment.Applicable(rule.Verifies.IDs),
			})
		}
	}
	return all
}

// declarations are those that All has read, by role and revision: a process has no others.
var declarations sync.Map // of func() ([]Declared, error)

// All returns every check and rule for a role at some revisions, over any transport, by
// revision. They are read once, and must not be changed.
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
	environments := make([]*session.Environment, len(revisions))
	for i, revision := range revisions {
		environments[i] = &session.Environment{Offer: offer.Offer{Scope: &scope.Scope{
			Cell:   check.Cell{Role: role, Revision: revision}, // over any transport
			Survey: &survey.Survey{}, Catalogue: requirements, Rules: suites.Rules(),
		}}}
	}
	all := map[string][]Declared{}
	add := func(at int, one Declared, transports []string) {
		one.Role = role
		one.Transports = environments[at].TransportsOf(one.Requirements, transports)
		one.Labels = slices.DeleteFunc(
			one.Labels,
			func(label string) bool { return label == environments[at].Transport },
		)
		all[revisions[at]] = append(all[revisions[at]], one)
	}
	for _, one := range At(environments) {
		add(one.Cell, one, one.Check.Transports)
	}
	for i, environment := range environments {
		for _, one := range RulesAt(environment) {
			add(i, one, nil)
		}
	}
	return all, nil
}
