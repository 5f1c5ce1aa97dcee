package selftest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/reports"
)

// runBases runs the legs without anything injected into them, and tells whether
// trials can be judged by them.
func (t *test) runBases(ctx context.Context) bool {
	watched := map[conform.Leg][]string{}
	for _, one := range t.layers {
		watched[one.leg] = append(watched[one.leg], one.ID)
	}
	var jobs []job
	for leg := range watched {
		t.bases[leg] = newBase(leg, t.checks[sideOf(leg)])
		if t.only != "" && t.only != leg.Transport {
			t.bases[leg].note = "the peer is reached over " + t.only + " alone"
			continue
		}
		parts := max(1, t.options.Workers/len(watched))
		jobs = append(jobs, t.bases[leg].jobs(watched[leg], parts, patience*t.options.Timeout)...)
	}
	var taking sync.Mutex
	t.pool.do(ctx, jobs, func(n int, part done) {
		taking.Lock()
		defer taking.Unlock()
		t.bases[jobs[n].Leg].take(part)
		for _, text := range part.Errors {
			t.report.Errors = append(t.report.Errors, "without a fault, "+jobs[n].Leg.Name()+": "+text)
		}
	})
	for _, leg := range t.legs() {
		t.report.Legs = append(t.report.Legs, t.describe(t.bases[leg]))
	}
	return len(t.report.Errors) == 0 && ctx.Err() == nil && (t.peer || t.report.Holds())
}

// legs that something is injected into, in a fixed order.
func (t *test) legs() []conform.Leg {
	var legs []conform.Leg
	for leg := range t.bases {
		legs = append(legs, leg)
	}
	slices.SortFunc(legs, func(a, b conform.Leg) int { return strings.Compare(a.Name(), b.Name()) })
	return legs
}

// describe tells how the target fares by itself. The reference leaves nothing
// open.
func (t *test) describe(b *base) reports.SelftestLeg {
	leg := reports.SelftestLeg{
		Role:      b.leg.Role,
		Revision:  b.leg.Revision,
		Transport: b.leg.Transport,
		Protected: b.leg.Protected,
		Note:      b.note,
	}
	for check, found := range b.found {
		switch {
		case found.Verdict == reports.Passed:
			leg.Passed++
		case found.red(), found.Verdict == reports.Inconclusive && !t.peer:
			leg.Red = append(leg.Red, reports.Effect{
				Check: check, Kind: found.Kind, Requirements: t.judgement.verified[sideOf(b.leg)][check],
				Verdict: found.Verdict, Reason: found.Reason, Failures: found.Failures, Exchange: found.Exchange,
			})
		}
	}
	slices.SortFunc(leg.Red, func(a, b reports.Effect) int { return strings.Compare(a.Check, b.Check) })
	return leg
}
