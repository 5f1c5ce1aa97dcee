package selftest

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/reports"
)

// runBases runs the cells without anything injected into them, and tells whether
// trials can be judged by them.
func (t *test) runBases(ctx context.Context) bool {
	watched := map[check.Cell][]string{}
	for _, one := range t.layers {
		watched[one.cell] = append(watched[one.cell], one.ID)
	}
	parts := max(1, t.options.Workers/max(1, len(watched)))
	begin := func(cell check.Cell) []job {
		t.bases[cell] = newBase(cell, t.checks[sideOf(cell)])
		return t.bases[cell].jobs(watched[cell], parts, patience*t.options.Timeout)
	}
	var jobs, again []job
	for cell := range watched {
		begun := begin(cell)
		if t.only != "" && t.only != cell.Transport {
			t.bases[cell].note = "the peer is reached over " + t.only + " alone"
			continue
		}
		jobs = append(jobs, begun...)
	}
	t.watch(ctx, jobs)
	for cell, base := range t.bases { // a machine that was slow for a while is no reason to stop
		if len(t.describe(base).Red) > 0 && !t.peer {
			again = append(again, begin(cell)...)
		}
	}
	t.watch(ctx, again)
	for _, cell := range t.cells() {
		t.report.Cells = append(t.report.Cells, t.describe(t.bases[cell]))
	}
	return len(t.report.Errors) == 0 && ctx.Err() == nil && (t.peer || t.report.Holds())
}

// watch runs cells without anything injected into them.
func (t *test) watch(ctx context.Context, jobs []job) {
	tasks := make([]task, len(jobs))
	for i, one := range jobs {
		tasks[i] = task{one, func(part done) []task {
			t.bases[one.Cell].take(part)
			for _, text := range part.Errors {
				t.report.Errors = append(t.report.Errors, "without a fault, "+one.Cell.Name()+": "+text)
			}
			return nil
		}}
	}
	t.pool.do(ctx, tasks)
}

// cells that something is injected into, in a fixed order.
func (t *test) cells() []check.Cell {
	var cells []check.Cell
	for cell := range t.bases {
		cells = append(cells, cell)
	}
	slices.SortFunc(cells, func(a, b check.Cell) int { return strings.Compare(a.Name(), b.Name()) })
	return cells
}

// describe tells how the target fares by itself. The reference leaves nothing
// open.
func (t *test) describe(b *base) reports.SelftestCell {
	cell := reports.SelftestCell{
		Role:      b.cell.Role,
		Revision:  b.cell.Revision,
		Transport: b.cell.Transport,
		Protected: b.cell.Protected,
		Note:      b.note,
	}
	for check, found := range b.found {
		switch {
		case found.Verdict == reports.Passed:
			cell.Passed++
		case found.red(), found.Verdict == reports.Inconclusive && !t.peer:
			cell.Red = append(cell.Red, reports.Effect{
				Check: check, Kind: found.Kind, Requirements: t.judgement.verified[sideOf(b.cell)][check],
				Verdict: found.Verdict, Reason: found.Reason, Failures: found.Failures, Exchange: found.Exchange,
			})
		}
	}
	slices.SortFunc(cell.Red, func(a, b reports.Effect) int { return strings.Compare(a.Check, b.Check) })
	return cell
}
