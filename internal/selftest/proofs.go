package selftest

import (
	"maps"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/reports"
)

// proofs says of each check and rule that the filter matches which faults show
// that it finds what it is there to find.
func (d declarations) proofs(matches types.LabelFilter, trials []reports.Trial, peer bool) []reports.Proof {
	byCheck := map[string]*reports.Proof{}
	proven := map[string][]string{} // revisions, by check
	for _, revision := range d.revisions {
		for _, check := range d.checks[revision] {
			if matches != nil && !matches(check.Labels) {
				continue
			}
			name := runner.CheckName(check.Group, check.Text)
			if byCheck[name] == nil {
				byCheck[name] = d.unproven(check, name)
			}
			byCheck[name].Revisions = append(byCheck[name].Revisions, revision)
			byCheck[name].Page = d.page(check, revision)
		}
	}
	for _, trial := range trials {
		for _, effect := range trial.Effects {
			if proof := byCheck[effect.Check]; proof != nil && effect.Allowed == reports.ByBreaks {
				if !slices.Contains(proof.Faults, trial.ID) {
					proof.Faults = append(proof.Faults, trial.ID)
				}
				proven[effect.Check] = append(proven[effect.Check], trial.Revision)
				proof.Unbroken = slices.DeleteFunc(proof.Unbroken, func(id string) bool { return slices.Contains(trial.Breaks, id) })
			}
		}
	}
	proofs := make([]reports.Proof, 0, len(byCheck))
	for _, name := range slices.Sorted(maps.Keys(byCheck)) {
		proof := byCheck[name]
		if !peer {
			judgeProof(proof, proven[name], unprovable)
		}
		proofs = append(proofs, *proof)
	}
	return proofs
}

func (d declarations) unproven(check runner.Declared, name string) *reports.Proof {
	kind := reports.KindCheck
	if check.Rule {
		kind = reports.KindRule
	}
	return &reports.Proof{
		ID: check.Requirements[0], Kind: kind, Check: name,
		Requirements: check.Requirements, Unbroken: slices.Clone(check.Requirements),
	}
}

func (d declarations) page(check runner.Declared, revision string) string {
	requirement, _ := d.requirements.Get(check.Requirements[0])
	return requirement.Page(revision)
}

// judgeProof says what is wrong with a proof: each era in which the check stands needs
// a fault. What the reference cannot show is accepted, for as long as it cannot.
func judgeProof(proof *reports.Proof, proven []string, unprovable map[string]string) {
	reason, accepted := unprovable[proof.Check]
	var missing []string
	for _, revision := range slices.Backward(proof.Revisions) {
		if !inEraOf(revision, proven) && !inEraOf(revision, missing) {
			missing = append(missing, revision)
		}
	}
	switch {
	case len(missing) > 0 && accepted:
		proof.Accepted = reason
	case len(missing) > 0:
		proof.Problem = "no fault that breaks " + strings.Join(proof.Requirements, " or ") + " makes it fail at " + strings.Join(missing, " and ")
	case accepted:
		proof.Accepted = reason
		proof.Problem = "it is proven by " + proof.Faults[0] + ": take it out of the list of what cannot be"
	}
}

// inEraOf tells whether one of the revisions is of the era of another.
func inEraOf(revision string, revisions []string) bool {
	return slices.ContainsFunc(revisions, func(other string) bool { return scripted.Stateless(other) == scripted.Stateless(revision) })
}
