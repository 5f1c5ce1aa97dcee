package runner

import (
	"slices"
	"testing"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
)

// A check that verifies more than a set has is judged by the set alone.
func TestSetNarrowsChecks(t *testing.T) {
	t.Parallel()
	const revision = "2025-11-25"
	all, requirements, err := All(protocol.ServerRole, []string{revision})
	if err != nil {
		t.Fatal(err)
	}
	narrowed := 0
	for _, check := range all[revision] {
		if len(check.Requirements) < 2 {
			continue
		}
		last := check.Requirements[len(check.Requirements)-1]
		set := &catalogue.Set{Revision: revision, Number: 1, Requirements: []catalogue.Frozen{
			{ID: last, Roles: []string{protocol.ServerRole}},
		}}
		kept, err := AllOf(protocol.ServerRole, []string{revision}, requirements.Only(set, protocol.ServerRole))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range kept[revision] {
			if !slices.Equal(one.Requirements, []string{last}) {
				t.Fatalf("%q verifies %q in a set of %s", one.Text, one.Requirements, last)
			}
		}
		if !slices.ContainsFunc(kept[revision], func(one Declared) bool { return one.Text == check.Text }) {
			t.Errorf("%q is left out of a set of %s", check.Text, last)
		}
		if narrowed++; narrowed == 3 { // each builds the tree of checks
			return
		}
	}
	t.Fatal("no three checks verify several requirements")
}

// A run with a set has the results of its requirements, rules included, and names it.
func TestRunWithSet(t *testing.T) {
	t.Parallel()
	roles := []string{protocol.ServerRole}
	set := &catalogue.Set{Revision: "2025-11-25", Number: 7, Requirements: []catalogue.Frozen{
		{ID: "ping.answered", Roles: roles}, {ID: "base.errors.members", Roles: roles},
	}}
	options := onReference(protocol.Stdio)
	options.Revisions, options.Requirements = contact.Revise{Listed: []string{set.Revision}}, set
	found := mustRun(t, options)
	if found.Requirements != "2025-11-25@7" || len(found.Legs) != 1 {
		t.Fatalf("is of %q, with %d legs", found.Requirements, len(found.Legs))
	}
	leg := found.Legs[0]
	kinds := map[string]bool{}
	for _, result := range leg.Results {
		kinds[result.Kind] = true
		for _, requirement := range result.Requirements {
			if !set.Holds(requirement.ID, protocol.ServerRole) {
				t.Errorf("%q is judged by %s", result.Text, requirement.ID)
			}
		}
	}
	if !kinds[reports.KindCheck] || !kinds[reports.KindRule] || leg.Declared != len(leg.Results) {
		t.Errorf("%d results of %d, of the kinds %v", len(leg.Results), leg.Declared, kinds)
	}
	if want := "Conforms to 2025-11-25@7"; found.Conclusion() != want {
		t.Errorf("concludes %q, wanted %q", found.Conclusion(), want)
	}
}
