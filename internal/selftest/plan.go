package selftest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/reports"
)

// base is a cell as it is when nothing is injected into the traffic.
type base struct {
	cell      check.Cell
	survey    *survey.Survey
	found     map[string]finding         // by check
	touched   map[string]map[string]bool // by fault: the checks that met it
	met       map[string]bool            // the faults that first contact met
	asked     questions
	scenarios map[string][]string // of a client: the checks that look at a scenario
	note      string              // why nothing can be run on it
}

func newBase(cell check.Cell, declared []plan.Declared) *base {
	b := &base{
		cell: cell, found: map[string]finding{}, touched: map[string]map[string]bool{}, met: map[string]bool{},
		asked: questions{}, scenarios: map[string][]string{},
	}
	for _, check := range declared {
		if check.Rule {
			continue
		}
		name := plan.CheckName(check.Group, check.Text)
		if check.Scenario != nil {
			b.scenarios[check.Scenario.Name] = append(b.scenarios[check.Scenario.Name], name)
		}
	}
	return b
}

// jobs are the parts of a run of a cell that watches for faults.
func (b *base) jobs(watched []string, parts int, reply time.Duration) []job {
	jobs := make([]job, parts)
	for part := range jobs {
		jobs[part] = job{Cell: b.cell, Watch: watched, Part: part, Parts: parts, Reply: reply}
	}
	return jobs
}

// take adds what one part found.
func (b *base) take(part done) {
	if b.survey == nil {
		b.survey, b.note = part.Survey, part.Note
	}
	merge(b.found, part.Findings)
	maps.Copy(b.asked, part.Asked)
	for turn, ids := range part.Met {
		for _, id := range ids {
			b.meet(id, turn)
		}
	}
}

// meet keeps where a layer was met: at first contact, by a check, or in a scenario, by
// all checks that look there.
func (b *base) meet(id, turn string) {
	if turn == "" {
		b.met[id] = true
		return
	}
	checks := []string{turn}
	if b.cell.Role == protocol.ClientRole {
		checks = b.scenarios[turn]
	}
	if b.touched[id] == nil {
		b.touched[id] = map[string]bool{}
	}
	for _, check := range checks {
		b.touched[id][check] = true
	}
}

// trial is a layer to be tried, in one or several jobs.
type trial struct {
	layer
	base    *base
	checks  []string // to run, sorted; nil for all
	whole   []string // checks before it was narrowed; nil when it was not
	sampled bool     // of the checks that do not concern what it breaks, few are run
	touched int
	parts   int
	tries   int               // that were begun
	members []trial           // of variations that are injected at once
	drifts  []reports.Problem // that it had without a wait when it was first tried
	// hopeless: the target has nothing of what it changes
	hopeless bool
	// unmet: nothing met it without the layer, and it is tried nevertheless
	unmet bool
}

// planTrial says what is run under a layer: the checks that met it in the run
// without, and those of what it breaks. A switch that does not say what shows it may
// concern any.
func planTrial(one layer, on *base, declared []plan.Declared) trial {
	t := trial{layer: one, base: on, touched: len(on.touched[one.ID]), parts: 1}
	if len(one.Scenarios) > 0 {
		t.inScenarios(declared)
		return t
	}
	if one.Switch != "" && len(one.AllChanges()) == 0 || one.kind == reports.KindSilence {
		t.touched = len(on.found)
		return t
	}
	t.checks = []string{}
	for check := range on.touched[one.ID] {
		t.checks = append(t.checks, check)
	}
	if len(t.checks) > 0 || on.met[one.ID] || one.Switch != "" {
		for _, check := range declared {
			name := plan.CheckName(check.Group, check.Text)
			if !check.Rule && !on.touched[one.ID][name] && verifies(check.Requirements, one.Breaks) {
				t.checks = append(t.checks, name)
			}
		}
	}
	slices.Sort(t.checks)
	return t
}

// inScenarios runs the checks that look at the scenarios of a fault, if it names any, and
// those of what it breaks.
func (t *trial) inScenarios(declared []plan.Declared) {
	for _, check := range declared {
		if !check.Rule &&
			(check.Scenario != nil && slices.Contains(t.Scenarios, check.Scenario.Name) || verifies(check.Requirements, t.Breaks)) {
			t.checks = append(t.checks, plan.CheckName(check.Group, check.Text))
		}
	}
	slices.Sort(t.checks)
}

// few is about how many of the checks that a fault touches and that have nothing to do with
// what it breaks are run where not all are: none of them may fail. Which they are differs
// from fault to fault, so that thousands of faults try every check many times.
const few = 12

// sample leaves out of the trial of a fault most of the checks that have nothing to do with
// what it breaks. Checks of one scenario stand and fall together.
func (t *trial) sample(declared []plan.Declared) {
	if t.kind != reports.KindFault {
		return
	}
	if t.checks == nil {
		t.checks = namesOf(declared)
	}
	broken := slices.Concat(t.Breaks, t.also)
	var kept []string
	others := map[string][]string{}
	for _, check := range declared {
		name := plan.CheckName(check.Group, check.Text)
		if _, meant := slices.BinarySearch(t.checks, name); check.Rule || !meant {
			continue
		}
		if verifies(check.Requirements, broken) {
			kept = append(kept, name)
			continue
		}
		group := name
		if check.Scenario != nil {
			group = check.Scenario.Name
		}
		others[group] = append(others[group], name)
	}
	for group, checks := range others {
		if t.drawn(group, len(others)) {
			kept = append(kept, checks...)
		}
	}
	if t.whole == nil {
		t.whole = t.checks
	}
	slices.Sort(kept)
	t.checks, t.sampled = kept, true
}

// drawn tells whether one of so many is among the few for this fault.
func (t *trial) drawn(one string, of int) bool {
	return partOf(t.ID+" "+one, max(1, of/few)) == 0
}

// asked are the questions to the survey, by check, whose other answers make it worth a run.
func (t *trial) asked() questions {
	if !t.sampled {
		return t.base.asked
	}
	some := questions{}
	for check, asked := range t.base.asked {
		if t.drawn(check, len(t.base.asked)) {
			some[check] = asked
		}
	}
	return some
}

// namesOf are the names of all checks, sorted.
func namesOf(declared []plan.Declared) []string {
	var names []string
	for _, check := range declared {
		if !check.Rule {
			names = append(names, plan.CheckName(check.Group, check.Text))
		}
	}
	slices.Sort(names)
	return names
}

// meets tells whether there is anything to try.
func (t trial) meets() bool {
	return !t.hopeless && t.base.note == "" && (t.Switch != "" || t.contact() || t.touched > 0 || t.unmet)
}

// injects are the ids of what is injected into the traffic.
func (t trial) injects() []string {
	if len(t.members) == 0 {
		return []string{t.ID}
	}
	var ids []string
	for _, member := range t.members {
		ids = append(ids, member.ID)
	}
	return ids
}

// contact tells whether first contact met it.
func (t trial) contact() bool {
	return slices.ContainsFunc(t.injects(), func(id string) bool { return t.base.met[id] })
}

func verifies(requirements, ids []string) bool {
	return slices.ContainsFunc(requirements, func(id string) bool { return slices.Contains(ids, id) })
}

// jobs are the parts of the trial.
func (t trial) jobs(reply time.Duration) []job {
	jobs := make([]job, t.parts)
	if t.kind == reports.KindSilence {
		reply = min(reply, silentReply)
	}
	for part := range jobs {
		jobs[part] = job{
			Cell:   t.cell,
			Inject: t.injects(),
			Known:  t.base.survey,
			Checks: t.checks,
			Contact: t.kind != reports.KindSilence &&
				(t.Switch != "" || t.contact() || t.unmet),
			Part:  part,
			Parts: t.parts,
			Reply: reply,
		}
		if t.checks == nil { // a switch
			continue
		}
		if jobs[part].Contact { // others may want to know what is otherwise
			jobs[part].Asked = t.asked()
		}
	}
	return jobs
}

// silentReply is how long replies may take that are not to come.
const silentReply = 100 * time.Millisecond

// cost guesses how long a trial takes, for the long ones to begin first: checks
// take their time, and wait when answers do not come.
func (t trial) cost(reply time.Duration) time.Duration {
	var cost time.Duration
	add := func(found finding) { cost += time.Duration(found.Seconds * float64(time.Second)) }
	if t.checks == nil {
		for _, found := range t.base.found {
			add(found)
		}
	}
	for _, check := range t.checks {
		add(t.base.found[check])
	}
	if t.delays() {
		cost += time.Duration(max(t.touched, len(t.checks))) * reply / likely
	}
	return cost
}

// likely is one in how many of the checks that could have to wait does.
const likely = 3

// delays tells whether a layer may keep something from arriving.
func (t trial) delays() bool {
	return t.Switch != "" || slices.ContainsFunc(t.AllChanges(), func(change fault.Change) bool {
		return slices.ContainsFunc(change.Do, func(do fault.Action) bool {
			return do.Drop || do.Delay > 0 || do.Hold != nil || do.Hang || do.KeepOpen || do.Cut || do.Close ||
				do.Exit != nil ||
				do.Ignore
		})
	})
}

// order sorts trials by what they cost, the dearest first.
func order(trials []trial, reply time.Duration) {
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(b.cost(reply), a.cost(reply)) })
}

const (
	// longJob is what a trial may take before it is done in parts: the longest
	// must not be what all wait for in the end.
	longJob = 8 * time.Second
	// shortJob is what a part takes at least: each has a target to start.
	shortJob = 300 * time.Millisecond
)

// split makes parts of long trials, and of all where there are more workers than
// trials.
func split(trials []trial, workers int, reply time.Duration) {
	for i := range trials {
		trials[i].split(workers/len(trials), workers, reply)
	}
}

// split makes at least so many parts of a trial, unless they are too short.
func (t *trial) split(least, most int, reply time.Duration) {
	cost := t.cost(reply)
	t.parts = max(1, min(max(int(cost/longJob)+1, least), most, int(cost/shortJob)))
}

// merge adds findings of one part to those of others: a rule has found what it
// found in any.
func merge(all map[string]finding, part []finding) {
	for _, one := range part {
		known, there := all[one.Check]
		switch {
		case !there, !known.red() && (one.red() || known.Verdict == reports.Skipped):
			all[one.Check] = one
		case known.red() && one.red():
			known.Failures = append(slices.Clone(known.Failures), one.Failures...)
			all[one.Check] = known
		}
	}
}
