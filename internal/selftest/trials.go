package selftest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/reports"
)

// runTrials lays everything over the wire, and again with more patience what
// may have gone wrong for the lack of it.
func (t *test) runTrials(ctx context.Context) {
	trials := t.planTrials()
	order(trials, t.options.Timeout)
	split(trials, t.options.Workers, t.options.Timeout)
	if t.options.Progress != nil {
		t.options.Progress.Leg(progressName, len(trials))
	}
	var again []trial
	t.try(ctx, trials, t.options.Timeout, func(one trial, found outcome) {
		if said := t.judge(one, found); doubtful(said, found, t.options.Timeout.Seconds()) {
			again = append(again, one)
		} else {
			t.tell(said)
		}
	})
	split(again, t.options.Workers, patience*t.options.Timeout)
	t.try(ctx, again, patience*t.options.Timeout, func(one trial, found outcome) {
		said := t.judge(one, found)
		said.Repeated = true
		t.tell(said)
	})
}

// planTrials says what is run. What is laid over several legs and meets nothing on
// one of them is not for that one.
func (t *test) planTrials() []trial {
	met := map[string]bool{}
	trials := make([]trial, len(t.layers))
	for i, one := range t.layers {
		trials[i] = planTrial(one, t.bases[one.leg], t.checks[one.leg.Revision])
		trials[i].hopeless = t.peer && one.Switch != ""
		met[one.ID] = met[one.ID] || trials[i].meets()
	}
	told := map[string]bool{}
	return slices.DeleteFunc(trials, func(one trial) bool {
		superfluous := one.shared && !one.meets() && (met[one.ID] || told[one.ID])
		told[one.ID] = true
		return superfluous
	})
}

// progressName is what stands in the progress.
const progressName = "selftest"

// tell keeps what became of a trial.
func (t *test) tell(said reports.Trial) {
	t.report.Trials = append(t.report.Trials, said)
	if t.options.Progress == nil {
		return
	}
	verdict := reports.Passed
	if len(said.Problems) > 0 {
		verdict = reports.Failed
	}
	t.options.Progress.Done(progressName, said.ID, verdict)
}

// try runs trials and tells, one at a time, what they found.
func (t *test) try(ctx context.Context, trials []trial, reply time.Duration, tell func(trial, outcome)) {
	var jobs []job
	var of []int // trial of a job
	outcomes := make([]outcome, len(trials))
	left := make([]int, len(trials))
	for i, one := range trials {
		if !one.meets() {
			tell(one, outcome{})
			continue
		}
		for _, part := range one.jobs(reply) {
			jobs, of = append(jobs, part), append(of, i)
			left[i]++
		}
	}
	var taking sync.Mutex
	t.crew.do(ctx, jobs, func(n int, part done) {
		taking.Lock()
		defer taking.Unlock()
		i := of[n]
		outcomes[i].take(part)
		if left[i]--; left[i] == 0 {
			tell(trials[i], outcomes[i])
		}
	})
}

// conclude says what is proven.
func (t *test) conclude() {
	place := map[string]int{} // as they are written
	for i, one := range t.layers {
		place[one.ID] = i
	}
	slices.SortFunc(t.report.Trials, func(a, b reports.Trial) int {
		return cmp.Or(place[a.ID]-place[b.ID], -strings.Compare(a.Revision, b.Revision))
	})
	t.report.Proofs = t.proofs(t.matches, t.report.Trials, t.peer)
}
