package runner

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
)

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
	if found.Requirements != "2025-11-25@7" || len(found.Cells) != 1 {
		t.Fatalf("is of %q, with %d cells", found.Requirements, len(found.Cells))
	}
	cell := found.Cells[0]
	kinds := map[string]bool{}
	for _, result := range cell.Results {
		kinds[result.Kind] = true
		for _, requirement := range result.Requirements {
			if !set.Holds(requirement.ID, protocol.ServerRole) {
				t.Errorf("%q is judged by %s", result.Text, requirement.ID)
			}
		}
	}
	if !kinds[reports.KindCheck] || !kinds[reports.KindRule] || cell.Declared != len(cell.Results) {
		t.Errorf("%d results of %d, of the kinds %v", len(cell.Results), cell.Declared, kinds)
	}
	if want := "Conforms to 2025-11-25@7"; found.Conclusion() != want {
		t.Errorf("concludes %q, wanted %q", found.Conclusion(), want)
	}
}
