package selftest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
)

// proofs says of each check and rule that the filter matches which faults show
// that it finds what it is there to find.
func (d declarations) proofs(matches types.LabelFilter, trials []reports.Trial, peer bool) []reports.Proof {
	byCheck := map[checkOf]*reports.Proof{}
	proven := map[checkOf][]string{} // revisions, by check
	for _, here := range d.sides() {
		for _, check := range d.checks[here] {
			if matches != nil && !matches(check.Labels) {
				continue
			}
			one := checkOf{here.role, plan.CheckName(check.Group, check.Text)}
			if byCheck[one] == nil {
				byCheck[one] = d.unproven(check, one)
			}
			byCheck[one].Revisions = append(byCheck[one].Revisions, here.revision)
			byCheck[one].Page = d.page(check, here.revision)
		}
	}
	for _, trial := range trials {
		for _, effect := range trial.Effects {
			one := checkOf{trial.Role, effect.Check}
			if proof := byCheck[one]; proof != nil && effect.Allowed == reports.ByBreaks {
				if !slices.Contains(proof.Faults, trial.ID) {
					proof.Faults = append(proof.Faults, trial.ID)
				}
				proven[one] = append(proven[one], trial.Revision)
				proof.Unbroken = slices.DeleteFunc(
					proof.Unbroken,
					func(id string) bool { return slices.Contains(trial.Breaks, id) },
				)
			}
		}
	}
	proofs := make([]reports.Proof, 0, len(byCheck))
	inOrder := func(a, b checkOf) int {
		return cmp.Or(-strings.Compare(a.role, b.role), strings.Compare(a.name, b.name))
	}
	for _, one := range slices.SortedFunc(maps.Keys(byCheck), inOrder) {
		proof := byCheck[one]
		if !peer {
			judgeProof(proof, proven[one], unprovable)
		}
		proofs = append(proofs, *proof)
	}
	return proofs
}

// checkOf is a check or rule of a role. Rules of both have one name.
type checkOf struct{ role, name string }

func (d declarations) unproven(check plan.Declared, one checkOf) *reports.Proof {
	kind := reports.KindCheck
	if check.Rule {
		kind = reports.KindRule
	}
	return &reports.Proof{
		ID: check.Requirements[0], Kind: kind, Role: one.role, Check: one.name,
		Requirements: check.Requirements, Unbroken: slices.Clone(check.Requirements),
	}
}

func (d declarations) page(check plan.Declared, revision string) string {
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
		proof.Problem = "no fault that breaks " + strings.Join(
			proof.Requirements,
			" or ",
		) + " makes it fail at " + strings.Join(
			missing,
			" and ",
		)
	case accepted:
		proof.Accepted = reason
		proof.Problem = "it is proven by " + proof.Faults[0] + ": take it out of the list of what cannot be"
	}
}

// inEraOf tells whether one of the revisions is of the era of another.
func inEraOf(revision string, revisions []string) bool {
	return slices.ContainsFunc(revisions, func(other string) bool {
		return protocol.Has(other, protocol.Handshake) == protocol.Has(revision, protocol.Handshake)
	})
}
