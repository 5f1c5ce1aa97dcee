package selftest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/reports"
)

// runTrials injects everything, and again with more patience what
// may have gone wrong for the lack of it.
func (t *test) runTrials(ctx context.Context) {
	planned := t.planTrials()
	if t.options.Progress != nil {
		t.options.Progress.Cell(progressName, reports.Plan{Checks: len(planned), Told: len(planned)})
	}
	trials := t.gather(planned)
	order(trials, t.options.Timeout)
	split(trials, t.options.Workers, t.options.Timeout)
	var wrong []trial
	var results []reports.Trial // of those
	t.try(ctx, trials, func(one trial, found outcome) (again []trial) {
		if len(one.members) > 0 {
			apart := t.tellAll(one, found)
			for i := range apart {
				apart[i].split(1, t.options.Workers, t.options.Timeout)
			}
			return apart
		}
		result := t.judge(one, found)
		doubt, drifts := doubtful(result, found, t.options.Timeout.Seconds())
		switch {
		case doubt && one.tries == 1:
			one.widen()
			one.seek(t.checks[sideOf(one.cell)])
			one.drifts = drifts
			one.split(1, t.options.Workers, patience*t.options.Timeout)
			return []trial{one}
		case doubt:
			wrong, results = append(wrong, one), append(results, one.repeated(result))
		default:
			t.tell(one.repeated(result))
		}
		return nil
	})
	if len(wrong) > fewMissed { // the machine is not the reason
		wrong = nil
		for _, one := range results {
			t.tell(one)
		}
	}
	split(wrong, t.options.Workers, patience*t.options.Timeout)
	t.try(ctx, wrong, func(one trial, found outcome) []trial { // with nothing else at work
		t.tell(one.repeated(t.judge(one, found)))
		return nil
	})
	t.conclude()
	t.tryMissed(ctx, planned)
}

// repeated is the result of a trial that may have been tried before, with what has drifted.
func (t *trial) repeated(result reports.Trial) reports.Trial {
	result.Repeated = t.tries > 1
	result.Drifted = slices.DeleteFunc(t.drifts, func(before reports.Problem) bool {
		return slices.ContainsFunc(result.Problems, func(now reports.Problem) bool { return now.Kind == before.Kind })
	})
	return result
}

// fewMissed is how many faults are tried once more at most: a machine that was slow once
// or twice explains no more.
const fewMissed = 20

// tryMissed injects once more, with more patience, the faults that were caught while a
// check that should have seen them was not: what it waits for may have come too late for
// it. What it sees now is its proof.
func (t *test) tryMissed(ctx context.Context, planned []trial) {
	missed := t.missed(planned)
	if ctx.Err() != nil || len(missed) > fewMissed {
		return
	}
	for i := range missed {
		missed[i].tries++
		missed[i].widen()
	}
	split(missed, t.options.Workers, patience*t.options.Timeout)
	t.try(ctx, missed, func(one trial, found outcome) []trial {
		if result := t.judge(one, found); len(result.Problems) == 0 {
			t.tellAgain(result)
		}
		return nil
	})
	if len(missed) > 0 {
		t.conclude()
	}
}

// missed are the trials, tried once so far, of what a check is there to find that nothing
// has proven.
func (t *test) missed(planned []trial) []trial {
	if t.peer || t.report.Shard != nil {
		return nil
	}
	unproven := map[string][]string{} // requirements, by role
	for _, proof := range t.report.Proofs {
		if proof.Problem != "" && proof.Accepted == "" {
			unproven[proof.Role] = append(unproven[proof.Role], proof.Requirements...)
		}
	}
	triedOnce := func(one trial) bool {
		return slices.ContainsFunc(t.report.Trials, func(result reports.Trial) bool {
			return result.ID == one.ID && result.Revision == one.cell.Revision && !result.Repeated &&
				len(result.Problems) == 0
		})
	}
	return slices.DeleteFunc(slices.Clone(planned), func(one trial) bool {
		return one.kind != reports.KindFault || !verifies(one.Breaks, unproven[one.cell.Role]) || !triedOnce(one)
	})
}

// tellAgain adds what a fault made fail at its second trial.
func (t *test) tellAgain(result reports.Trial) {
	for i := range t.report.Trials {
		before := &t.report.Trials[i]
		if before.ID != result.ID || before.Revision != result.Revision {
			continue
		}
		for _, effect := range result.Effects {
			if !slices.ContainsFunc(
				before.Effects,
				func(one reports.Effect) bool { return one.Check == effect.Check },
			) {
				before.Effects = append(before.Effects, effect)
				before.Repeated = true
			}
		}
	}
}

// planTrials says what is run. What is injected into the cells of several eras and meets
// nothing on one of them is not for that one. What meets something in the newest is
// run there as a whole, and in another for what is only there, and for what it breaks.
func (t *test) planTrials() []trial {
	newest := map[string]string{} // by layer: the cell's revision
	trials := make([]trial, len(t.layers))
	for i, one := range t.layers {
		trials[i] = planTrial(one, t.bases[one.cell], t.checks[sideOf(one.cell)])
		trials[i].hopeless = t.peer && one.Switch != ""
		if trials[i].meets() {
			newest[one.ID] = max(newest[one.ID], one.cell.Revision)
		}
	}
	var planned []trial
	reported := map[string]bool{}
	for _, one := range trials {
		whole := newest[one.ID]
		superfluous := one.shared && !one.meets() && (whole != "" || reported[one.ID])
		reported[one.ID] = true
		if one.kind == reports.KindSilence {
			planned = append(planned, one)
			continue
		}
		if superfluous ||
			one.cell.Revision < whole && !one.narrow(t.checks[side{one.cell.Role, whole}], t.checks[sideOf(one.cell)]) {
			continue
		}
		planned = append(planned, one)
	}
	if !t.options.All && len(planned) > several {
		for i := range planned {
			planned[i].sample(t.checks[sideOf(planned[i].cell)])
		}
	}
	return planned
}

// several trials are enough for a sample of what each touches.
const several = 100

// forRules is how many of the checks that another trial runs are run nevertheless, for
// rules to see what is broken.
const forRules = 4

// narrow leaves out of a trial the checks that another trial of the layer runs, save
// those of what it breaks. It tells whether anything is left to run. What is not seen
// then is tried again as a whole.
func (t *trial) narrow(elsewhere, declared []plan.Declared) bool {
	if t.checks == nil { // a switch that says nothing of what shows it
		t.checks = namesOf(declared)
	}
	broken := slices.Concat(t.Breaks, t.also)
	run := map[string]bool{}
	for _, check := range elsewhere {
		run[plan.CheckName(check.Group, check.Text)] = !verifies(check.Requirements, broken)
	}
	byRule := slices.ContainsFunc(
		declared,
		func(check plan.Declared) bool { return check.Rule && verifies(check.Requirements, broken) },
	)
	var narrowed, others []string
	for _, check := range t.checks {
		if run[check] {
			others = append(others, check)
		} else {
			narrowed = append(narrowed, check)
		}
	}
	if byRule {
		slices.SortStableFunc(
			others,
			func(a, b string) int { return cmp.Compare(t.base.found[a].Seconds, t.base.found[b].Seconds) },
		)
		narrowed = append(narrowed, others[:min(forRules, len(others))]...)
	}
	slices.Sort(narrowed)
	t.whole, t.checks = t.checks, narrowed
	return len(t.checks) > 0 || t.kind == reports.KindFault
}

// widen undoes narrow.
func (t *trial) widen() {
	if t.whole != nil {
		t.checks, t.whole, t.sampled = t.whole, nil, false
	}
}

// seek has a trial that nothing met run the checks of what it breaks, or all where only
// rules judge that: on a busy machine a run without the layer may miss what it changes.
func (t *trial) seek(declared []plan.Declared) {
	if t.meets() || t.kind == reports.KindSilence {
		return
	}
	t.unmet, t.checks = true, nil
	t.inScenarios(declared)
}

// atOnce is how many variations are injected into traffic at once.
const atOnce = 8

// gather puts variations of a cell together, those that stand far from one another,
// which concern different things: what changes no verdict together changes none
// alone.
func (t *test) gather(trials []trial) []trial {
	var gathered []trial
	byCell := map[check.Cell][]trial{}
	for _, one := range trials {
		if one.kind != reports.KindVariation || one.Alone || one.Silences || !one.meets() || one.Switch != "" {
			gathered = append(gathered, one)
		} else {
			byCell[one.cell] = append(byCell[one.cell], one)
		}
	}
	for _, cell := range t.cells() {
		some := byCell[cell]
		count := (len(some) + atOnce - 1) / atOnce
		for first := range count {
			var members []trial
			for at := first; at < len(some); at += count {
				members = append(members, some[at])
			}
			gathered = append(gathered, together(members))
		}
	}
	return gathered
}

// together is the trial of several variations at once.
func together(members []trial) trial {
	if len(members) == 1 {
		return members[0]
	}
	all := trial{layer: members[0].layer, base: members[0].base, parts: 1, members: members}
	all.Fault = &fault.Fault{}
	for _, member := range members {
		all.Changes = append(all.Changes, member.AllChanges()...)
		all.checks = append(all.checks, member.checks...)
		all.touched += member.touched
	}
	slices.Sort(all.checks)
	all.checks = slices.Compact(all.checks)
	return all
}

// tellAll keeps what became of variations that were injected at once. When anything is
// not as without them it returns them all, to be tried one by one.
func (t *test) tellAll(together trial, found outcome) (apart []trial) {
	var said []reports.Trial
	for _, member := range together.members {
		one := t.judge(member, found)
		one.Duration /= reports.Seconds(len(together.members))
		if len(one.Effects)+len(one.Problems) > 0 {
			return together.members
		}
		said = append(said, one)
	}
	for _, one := range said {
		t.tell(one)
	}
	return nil
}

// progressName is what stands in the progress.
const progressName = "selftest"

// tell keeps what became of a trial.
func (t *test) tell(one reports.Trial) {
	t.report.Trials = append(t.report.Trials, one)
	if t.options.Progress == nil {
		return
	}
	verdict := reports.Passed
	if len(one.Problems) > 0 {
		verdict = reports.Failed
	}
	t.options.Progress.Done(progressName, one.ID, verdict)
}

// try runs trials and tells, one at a time, what they found. Those that it returns are tried
// next: once more with more patience, or for the first time.
func (t *test) try(ctx context.Context, trials []trial, tell func(trial, outcome) (again []trial)) {
	var tasks func([]trial) []task
	tasks = func(trials []trial) (all []task) {
		for _, one := range trials {
			reply := t.options.Timeout
			if one.tries > 0 {
				reply *= patience
			}
			one.tries++
			if !one.meets() {
				all = append(all, tasks(tell(one, outcome{}))...)
				continue
			}
			parts := one.jobs(reply)
			found, left := &outcome{}, len(parts)
			for _, part := range parts {
				all = append(all, task{part, func(part done) []task {
					found.take(part)
					if left--; left > 0 {
						return nil
					}
					return tasks(tell(one, *found))
				}})
			}
		}
		return all
	}
	t.pool.do(ctx, tasks(trials))
}

// conclude says what is proven by the trials, which it puts into the order in which they are
// written.
func (t *test) conclude() {
	place := map[string]int{}
	for i, one := range t.layers {
		place[one.ID] = i
	}
	slices.SortFunc(t.report.Trials, func(a, b reports.Trial) int {
		return cmp.Or(place[a.ID]-place[b.ID], -strings.Compare(a.Revision, b.Revision))
	})
	t.report.Proofs = []reports.Proof{}
	if t.report.Shard == nil {
		t.report.Proofs = t.proofs(t.matches, t.report.Trials, t.peer)
	}
}
