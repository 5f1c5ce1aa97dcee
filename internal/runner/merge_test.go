package runner

import (
	"slices"
	"testing"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

func TestNothingPassesWithoutEvidence(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		done worker.Checked
		want reports.Verdict
	}{
		{worker.Checked{State: types.SpecStatePassed, Evidence: true, Outcome: check.Outcome{Observed: 1}}, reports.Passed},
		{worker.Checked{State: types.SpecStatePassed, Evidence: true}, reports.Inconclusive},
		{worker.Checked{State: types.SpecStatePassed, Outcome: check.Outcome{Observed: 1}}, reports.Inconclusive},
		{worker.Checked{State: types.SpecStatePassed}, reports.Inconclusive},
		{worker.Checked{State: types.SpecStatePassed, Evidence: true, Outcome: check.Outcome{Observed: 1}, Panic: "boom"}, reports.Inconclusive},
		{worker.Checked{Outcome: check.Outcome{Ending: check.Skipped, Reason: "not declared"}}, reports.Skipped},
		{worker.Checked{Outcome: check.Outcome{Ending: check.Inconclusion, Reason: "unprovoked"}}, reports.Inconclusive},
	} {
		if verdict, _, _ := (&collector{}).verdict(&cellState{}, test.done); verdict != test.want {
			t.Errorf("%+v: %s, not %s", test.done, verdict, test.want)
		}
	}
}

// A run may be interrupted when it has met the target and planned nothing yet.
func TestMergeBeforeThePlan(t *testing.T) {
	r := &collector{report: &reports.Run{}, cells: []*cellState{{report: reports.Cell{Revision: "2025-11-25", Spoken: true}}}}

	r.merge()

	if cells := r.report.Cells; len(cells) != 1 || cells[0].Revision != "2025-11-25" || len(cells[0].Results) != 0 {
		t.Errorf("%+v", cells)
	}
}

// What rules find in a connection counts in the cell of the revision that it negotiated,
// and nowhere when the run has none.
func TestFindingsCountWhereTheyBelong(t *testing.T) {
	t.Parallel()
	cell := func(revision string) check.Cell {
		return check.Cell{Role: protocol.ServerRole, Revision: revision, Transport: protocol.HTTP}
	}
	r := &collector{}
	for planned, revision := range []string{"2025-06-18", "2025-11-25"} {
		r.cells = append(r.cells, &cellState{
			planned: planned, findings: map[string]*found{},
			report: reports.Cell{Role: protocol.ServerRole, Revision: revision, Transport: protocol.HTTP},
		})
	}
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2025-11-25", "2024-11-05"} {
		r.closed(0, scope.Connection{Cell: cell(revision), Findings: []rules.Finding{{Rule: "7", Observed: 1}}})
	}
	for planned, wanted := range []int{1, 2} {
		if one := r.state(planned).findings["7"]; one == nil || one.saw != wanted {
			t.Errorf("cell %d has %+v", planned, one)
		}
	}
}

// A result names those of its requirements that stand for the transport.
func TestRequirementsOfTheTransport(t *testing.T) {
	t.Parallel()
	known, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{catalogue: known}
	for transport, wanted := range map[string][]string{
		protocol.HTTP:  {"patterns.responses.none", "transports.http.post.body"},
		protocol.Stdio: {"patterns.responses.none", "transports.stdio.no-responses"},
	} {
		cell := &cellState{report: reports.Cell{Revision: "2026-07-28", Transport: transport, Role: protocol.ClientRole}}
		var named []string
		for _, one := range c.requirements(cell, []string{
			"patterns.responses.none", "transports.stdio.no-responses", "transports.http.post.body",
		}) {
			named = append(named, one.ID)
		}
		if !slices.Equal(named, wanted) {
			t.Errorf("over %s: %q, wanted %q", transport, named, wanted)
		}
	}
}
