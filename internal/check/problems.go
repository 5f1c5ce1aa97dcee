package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// A Problem is one thing that is wrong with a declaration, and where that is.
type Problem struct {
	Place Place
	Of    string // "check" or "rule", with its text
	Wrong string
}

func (p Problem) String() string { return fmt.Sprintf("%s: the %s %s", p.Place, p.Of, p.Wrong) }

// Problems returns all that is wrong with the checks of a role, by place. Broken are the
// requirements that faults break: a check is proven by one.
func Problems(
	role string, declared []*Declaration, requirements *catalogue.Catalogue, broken map[string]bool,
) []Problem {
	p := problems{
		roles: []string{role}, requirements: requirements, broken: broken,
		names: map[string]Place{}, scenarios: map[string]*scenario.Scenario{},
	}
	for _, one := range declared {
		p.check(one)
	}
	return p.sorted()
}

// ProblemsOfRules returns all that is wrong with rules, by place.
func ProblemsOfRules(all []rules.Rule, requirements *catalogue.Catalogue, broken map[string]bool) []Problem {
	p := problems{requirements: requirements, broken: broken, names: map[string]Place{}}
	for _, rule := range all {
		p.rule(rule)
	}
	return p.sorted()
}

type problems struct {
	roles        []string // for which the declarations are
	requirements *catalogue.Catalogue
	broken       map[string]bool  // requirements, by faults
	names        map[string]Place // of checks, and ids of rules
	scenarios    map[string]*scenario.Scenario
	found        []Problem
}

func (p *problems) sorted() []Problem {
	slices.SortStableFunc(p.found, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Line, b.Place.Line))
	})
	return p.found
}

func (p *problems) check(declared *Declaration) {
	wrong := func(format string, values ...any) {
		p.found = append(p.found, Problem{
			Place: declared.Place, Of: fmt.Sprintf("check %q", declared.Text), Wrong: fmt.Sprintf(format, values...),
		})
	}
	for _, mistake := range declared.mistakes {
		wrong("is declared wrong: %s", mistake)
	}
	if declared.Body == nil && declared.mistakes != nil {
		return
	}
	if other, taken := p.names[declared.Name()]; taken {
		wrong("has the name of the one at %s", other)
	}
	p.names[declared.Name()] = declared.Place
	if declared.Body == nil {
		wrong("has no body")
	}
	for _, kind := range declared.Provocations {
		if !provoke.IsKind(kind) {
			wrong("needs the provocation %q, which is unknown%s", kind, nearest.Hint(kind, provoke.Kinds()))
		}
	}
	for _, transport := range declared.Transports {
		if !slices.Contains(protocol.Transports(), transport) {
			wrong(
				"needs the transport %q, which is unknown%s",
				transport,
				nearest.Hint(transport, protocol.Transports()),
			)
		}
	}
	if one := declared.Scenario; one != nil {
		if known := p.scenarios[one.Name]; known != nil && known != one {
			wrong("looks in a second scenario that is named %q", one.Name)
		}
		if p.scenarios[one.Name] == nil {
			p.steps(one, wrong)
		}
		p.scenarios[one.Name] = one
		if !slices.Contains(p.roles, protocol.ClientRole) {
			wrong("looks in the scenario %q, which is for clients", one.Name)
		}
	}
	p.verifies(declared.Requirements, declared.Has, wrong)
}

// steps makes sure that the ids of steps tell them apart, and that those that are refused
// are there.
func (p *problems) steps(one *scenario.Scenario, wrong func(string, ...any)) {
	ids := one.Steps.IDs()
	for i, id := range ids {
		switch {
		case slices.Contains(ids[:i], id):
			wrong("looks in the scenario %q, two steps of which have the id %q", one.Name, id)
		case id != scenario.Hyphenated(id):
			wrong("looks in the scenario %q, with the step id %q, which is not in words with hyphens", one.Name, id)
		}
	}
	for _, id := range one.Refused {
		if !slices.Contains(ids, id) {
			wrong(
				"looks in the scenario %q, which refuses the step %q, which it has not%s",
				one.Name,
				id,
				nearest.Hint(id, ids),
			)
		}
	}
}

func (p *problems) rule(rule rules.Rule) {
	place := placeOf(rule.Verifies.File, rule.Verifies.Line)
	wrong := func(format string, values ...any) {
		p.found = append(p.found, Problem{
			Place: place, Of: fmt.Sprintf("rule %q", rule.Text), Wrong: fmt.Sprintf(format, values...),
		})
	}
	if other, taken := p.names[rule.ID()]; taken {
		wrong("has the id %s of the one at %s: give one of them a Name", rule.ID(), other)
	}
	p.names[rule.ID()] = place
	p.roles = slices.DeleteFunc(protocol.Roles(), func(role string) bool { return !rule.For(role) })
	p.verifies(rule.Verifies.IDs, func(string) bool { return true }, wrong)
}

// verifies makes sure that requirements are known and can be verified together: a check that
// is broken has one verdict, so that a MUST and a SHOULD cannot share one.
func (p *problems) verifies(ids []string, at func(revision string) bool, wrong func(string, ...any)) {
	if len(ids) == 0 {
		wrong("verifies nothing")
		return
	}
	var known []*catalogue.Requirement
	for i, id := range ids {
		requirement, is := p.requirements.Get(id)
		switch {
		case !is:
			meant := ""
			if near := p.requirements.Nearest(id); near != "" {
				meant = fmt.Sprintf(", did you mean %q?", near)
			}
			wrong("verifies %q, which no requirements.yaml has%s", id, meant)
		case slices.Contains(ids[:i], id):
			wrong("verifies %s twice", id)
		default:
			known = append(known, requirement)
		}
	}
	stands := len(known) < len(ids)
	for _, revision := range slices.Backward(protocol.Released()) {
		if !at(revision) {
			continue
		}
		for _, role := range p.roles {
			standing := slices.DeleteFunc(slices.Clone(known), func(one *catalogue.Requirement) bool {
				return !one.Applies(revision, "", role)
			})
			stands = stands || len(standing) > 0
			if complaint := oneSeverity(standing, revision); complaint != "" {
				wrong("%s", complaint)
				return
			}
		}
	}
	if len(known) == len(ids) && !slices.ContainsFunc(ids, func(id string) bool { return p.broken[id] }) {
		wrong("verifies %s, which no fault breaks: add one to fixtures/faults", strings.Join(ids, " and "))
	}
	if !stands {
		wrong("verifies %s, which oblige no %s at any of its revisions",
			strings.Join(ids, " and "), strings.Join(p.roles, " or "))
	}
}

// oneSeverity says why requirements have no verdict in common at a revision; "" when they do.
func oneSeverity(standing []*catalogue.Requirement, revision string) string {
	var failing, warning string
	for _, requirement := range standing {
		switch level := requirement.Level(revision); {
		case level.Failing():
			failing = requirement.ID
		case level.Warning():
			warning = requirement.ID
		default:
			return fmt.Sprintf(
				"verifies %s, which is a %s at %s: nothing can break it",
				requirement.ID,
				level,
				revision,
			)
		}
	}
	if failing != "" && warning != "" {
		return fmt.Sprintf("verifies %s and %s, which differ in level at %s", failing, warning, revision)
	}
	return ""
}
