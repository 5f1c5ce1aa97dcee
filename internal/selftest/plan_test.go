package selftest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/reports"
)

// touchedBy is a cell on which faults met checks.
func touchedBy(met map[string][]string) *base {
	on := newBase(check.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.HTTP}, declared()[ofServers])
	on.take(done{
		Findings: []finding{
			{Check: pingAnswers, Verdict: reports.Passed, Seconds: 0.1},
			{Check: toolsLists, Verdict: reports.Passed, Seconds: 2},
			{Check: rulesValid, Kind: reports.KindRule, Verdict: reports.Passed},
		},
		Met: met,
	})
	return on
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		met     map[string][]string
		breaks  string
		toggled string
		checks  []string
		contact bool
		meets   bool
		touched int
	}{
		"what it met and what it breaks": {map[string][]string{toolsLists: {"a", "b"}}, "ping.answered", "", []string{pingAnswers, toolsLists}, false, true, 1},
		"what it met":                    {map[string][]string{pingAnswers: {"a"}}, "ping.answered", "", []string{pingAnswers}, false, true, 1},
		"no rule":                        {map[string][]string{pingAnswers: {"a"}}, "base.schema.results", "", []string{pingAnswers}, false, true, 1},
		"first contact":                  {map[string][]string{"": {"a"}}, "tools.list.answered", "", []string{toolsLists}, true, true, 0},
		"nothing":                        {map[string][]string{pingAnswers: {"b"}}, "ping.answered", "", []string{}, false, false, 0},
		"a switch":                       {nil, "ping.answered", "forgets-sessions", nil, true, true, 3},
	} {
		layer := layer{Fault: &fault.Fault{ID: "a", Breaks: []string{one.breaks}, Switch: one.toggled}}
		planned := planTrial(layer, touchedBy(one.met), declared()[ofServers])
		if !slices.Equal(planned.checks, one.checks) || (planned.checks == nil) != (one.checks == nil) {
			t.Errorf("%s: runs %q, wanted %q", name, planned.checks, one.checks)
		}
		if planned.meets() != one.meets || planned.touched != one.touched {
			t.Errorf("%s: meets %t, touches %d", name, planned.meets(), planned.touched)
		}
		job := planned.jobs(time.Second)[0]
		if job.Contact != one.contact || !slices.Equal(job.Inject, []string{"a"}) {
			t.Errorf("%s: %+v", name, job)
		}
	}
}

// What nothing met without the layer is looked for where it must show.
func TestSeek(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		met    map[string][]string
		breaks string
		checks []string
		meets  bool
	}{
		"a check of what it breaks": {nil, "ping.answered", []string{pingAnswers}, true},
		"a rule alone":              {nil, "base.schema.results", nil, true},
		"what met it":               {map[string][]string{toolsLists: {"a"}}, "tools.list.answered", []string{toolsLists}, true},
	} {
		layer := layer{kind: reports.KindFault, Fault: &fault.Fault{ID: "a", Breaks: []string{one.breaks}}}
		planned := planTrial(layer, touchedBy(one.met), declared()[ofServers])

		planned.seek(declared()[ofServers])

		if !slices.Equal(planned.checks, one.checks) || planned.meets() != one.meets {
			t.Errorf("%s: runs %q, meets %t", name, planned.checks, planned.meets())
		}
	}
	unreached := planTrial(layer{Fault: &fault.Fault{ID: "a"}}, &base{note: "the peer is reached over stdio alone"}, nil)
	unreached.seek(nil)
	if unreached.meets() {
		t.Error("what is not reached is tried")
	}
}

// What another era has tried is tried in this one for what is broken, and for what is
// only here; rules get something to see.
func TestNarrow(t *testing.T) {
	t.Parallel()
	const onlyHere = "Sessions · end"
	here := append(slices.Clone(declared()[ofServers]), plan.Declared{Group: []string{"Sessions"}, Text: "end", Requirements: []string{"sessions.end"}})
	for name, one := range map[string]struct {
		kind, breaks string
		checks       []string
		left         bool
	}{
		"what it breaks":       {reports.KindFault, "ping.answered", []string{pingAnswers, onlyHere}, true},
		"a rule":               {reports.KindFault, "base.schema.results", []string{pingAnswers, onlyHere, toolsLists}, true},
		"a variation":          {reports.KindVariation, "", []string{onlyHere}, true},
		"nothing that is ours": {reports.KindFault, "other", []string{onlyHere}, true},
	} {
		on := touchedBy(map[string][]string{pingAnswers: {"a"}, toolsLists: {"a"}, onlyHere: {"a"}})
		planned := planTrial(layer{Fault: &fault.Fault{ID: "a", Breaks: []string{one.breaks}}, kind: one.kind}, on, here)
		left := planned.narrow(declared()[ofServers], here)
		if left != one.left || !slices.Equal(planned.checks, one.checks) {
			t.Errorf("%s: %t, runs %q, wanted %q", name, left, planned.checks, one.checks)
		}
		if planned.widen(); len(planned.checks) != 3 || planned.whole != nil {
			t.Errorf("%s: runs %q again", name, planned.checks)
		}
	}
	empty := planTrial(layer{Fault: &fault.Fault{ID: "a"}, kind: reports.KindVariation}, touchedBy(map[string][]string{pingAnswers: {"a"}}), here)
	if empty.narrow(declared()[ofServers], here) {
		t.Errorf("a variation without checks of its own runs %q", empty.checks)
	}
}

// Of the checks that have nothing to do with what a fault breaks few are run, others for each
// fault; of scenarios of a client all checks or none. What is tried again is tried as a whole.
func TestSample(t *testing.T) {
	t.Parallel()
	const many = 10 * few
	var here []plan.Declared
	touched, scenarios := map[string][]string{}, map[string]*scenario.Scenario{}
	for i := range many {
		one := plan.Declared{Group: []string{"Others"}, Text: strconv.Itoa(i), Requirements: []string{"others"}}
		if i%2 == 1 {
			name := strconv.Itoa(i / 4)
			scenarios[name] = cmp.Or(scenarios[name], &scenario.Scenario{Name: name})
			one.Scenario = scenarios[name]
		}
		here = append(here, one)
		touched[plan.CheckName(one.Group, one.Text)] = []string{"a", "b"}
	}
	here = append(here, plan.Declared{Text: "answers", Requirements: []string{"ping.answered"}})
	touched["answers"] = []string{"a", "b"}
	on := touchedBy(touched)
	sampled := func(id string) []string {
		planned := planTrial(layer{Fault: &fault.Fault{ID: id, Breaks: []string{"ping.answered"}}, kind: reports.KindFault}, on, here)
		planned.sample(here)
		checks := planned.checks
		if planned.widen(); len(planned.checks) != many+1 {
			t.Errorf("%s: %d checks are run again", id, len(planned.checks))
		}
		return checks
	}
	a, b := sampled("a"), sampled("b")
	for _, checks := range [][]string{a, b} {
		if !slices.Contains(checks, "answers") || len(checks) < 2 || len(checks) > 4*few {
			t.Errorf("%d checks are run: %q", len(checks), checks)
		}
		for at := 1; at+2 < many; at += 4 {
			one, other := plan.CheckName([]string{"Others"}, strconv.Itoa(at)), plan.CheckName([]string{"Others"}, strconv.Itoa(at+2))
			if slices.Contains(checks, one) != slices.Contains(checks, other) {
				t.Errorf("%s and %s look at one scenario", one, other)
			}
		}
	}
	if slices.Equal(a, b) {
		t.Errorf("each fault tries %q", a)
	}
	variation := planTrial(layer{Fault: &fault.Fault{ID: "a"}, kind: reports.KindVariation}, on, here)
	if variation.sample(here); len(variation.checks) != many+1 {
		t.Errorf("%d checks of a variation are run", len(variation.checks))
	}
}

// A switch that says what shows it is tried where that passes.
func TestPlanASwitchThatShows(t *testing.T) {
	t.Parallel()
	shown := &fault.Fault{ID: "a", Breaks: []string{"ping.answered"}, Switch: "forgets-sessions", Change: fault.Change{When: &fault.Match{}}}
	planned := planTrial(layer{Fault: shown}, touchedBy(map[string][]string{toolsLists: {"a"}}), declared()[ofServers])
	if !slices.Equal(planned.checks, []string{pingAnswers, toolsLists}) || !planned.meets() || !planned.jobs(time.Second)[0].Contact {
		t.Errorf("runs %q", planned.checks)
	}
}

// Variations are injected at once, but for those that say otherwise. When a verdict
// changes each is tried by itself.
func TestVariationsAtOnce(t *testing.T) {
	t.Parallel()
	const count = 2*atOnce + 1
	met := map[string][]string{pingAnswers: {"silences", "alone", "fault"}}
	var trials []trial
	for i := range count {
		met[pingAnswers] = append(met[pingAnswers], string(rune('a'+i)))
	}
	met[toolsLists] = []string{"a"}
	on := touchedBy(met)
	plan := func(kind string, one *fault.Fault) {
		trials = append(trials, planTrial(layer{Fault: one, kind: kind, cell: on.cell}, on, declared()[ofServers]))
	}
	plan(reports.KindVariation, &fault.Fault{ID: "silences", Silences: true})
	plan(reports.KindVariation, &fault.Fault{ID: "alone", Alone: true})
	plan(reports.KindFault, &fault.Fault{ID: "fault"})
	for i := range count {
		plan(reports.KindVariation, &fault.Fault{ID: string(rune('a' + i))})
	}
	tester := &test{bases: map[check.Cell]*base{on.cell: on}, judgement: newJudgement(declared(), false), report: &reports.Selftest{}}
	tester.checks = declared()

	gathered := tester.gather(trials)

	var injects []string
	for _, one := range gathered {
		injects = append(injects, strings.Join(one.injects(), " "))
	}
	if want := []string{"silences", "alone", "fault", "a d g j m p", "b e h k n q", "c f i l o"}; !slices.Equal(injects, want) {
		t.Fatalf("injected are %q, wanted %q", injects, want)
	}
	first := gathered[3]
	if !slices.Equal(first.checks, []string{pingAnswers, toolsLists}) || !first.meets() || len(first.jobs(time.Second)[0].Inject) != 6 {
		t.Errorf("runs %q", first.checks)
	}
	all := map[string]bool{"a": true, "d": true, "g": true, "j": true, "m": true, "p": true}
	well := verdicts(reports.Passed, reports.Passed, reports.Passed)
	if apart := tester.tellAll(first, outcome{found: well, matched: all, seconds: 6}); apart != nil || len(tester.report.Trials) != 6 || tester.report.Trials[0].Duration != 1 {
		t.Errorf("apart are %d, told %+v", len(apart), tester.report.Trials)
	}
	red := verdicts(reports.Failed, reports.Passed, reports.Passed)
	if apart := tester.tellAll(first, outcome{found: red, matched: all}); len(apart) != 6 || len(tester.report.Trials) != 6 {
		t.Errorf("what fails is not tried one by one: %d", len(apart))
	}
	delete(all, "d")
	if apart := tester.tellAll(first, outcome{found: well, matched: all}); len(apart) != 6 {
		t.Errorf("what nothing met is not tried one by one: %d", len(apart))
	}
}

// The long ones begin first, and what takes very long is done in parts, each check
// in one of them.
func TestOrderAndParts(t *testing.T) {
	t.Parallel()
	on := touchedBy(map[string][]string{pingAnswers: {"quick", "waits"}, toolsLists: {"slow"}})
	for i := range 100 {
		check := string(rune('A'+i%26)) + string(rune('a'+i/26))
		on.found[check] = finding{Check: check, Seconds: 0.5}
	}
	var trials []trial
	for id, one := range map[string]*fault.Fault{
		"quick": {},
		"waits": {Change: fault.Change{When: &fault.Match{}, Do: []fault.Action{{Drop: true}}}},
		"slow":  {},
		"all":   {Switch: "forgets-sessions"},
	} {
		one.ID = id
		trials = append(trials, planTrial(layer{Fault: one}, on, nil))
	}
	order(trials, time.Second)
	var ids []string
	for _, one := range trials {
		ids = append(ids, one.ID)
	}
	if want := []string{"all", "slow", "waits", "quick"}; !slices.Equal(ids, want) {
		t.Errorf("the order is %q, wanted %q", ids, want)
	}
	split(trials, 4, time.Second)
	if trials[0].parts != 4 || trials[1].parts != 1 || trials[3].parts != 1 {
		t.Errorf("parts: %d, %d, %d", trials[0].parts, trials[1].parts, trials[3].parts)
	}
	count := map[string]int{}
	for _, part := range trials[0].jobs(time.Second) {
		for check := range on.found {
			if part.wants()(named(check), func(survey.Question) bool { return false }) {
				count[check]++
			}
		}
	}
	for check := range on.found {
		if count[check] != 1 {
			t.Errorf("%q is in %d parts", check, count[check])
		}
	}
}

func TestFewTrialsAreDoneByAllWorkers(t *testing.T) {
	t.Parallel()
	trials := []trial{planTrial(layer{Fault: &fault.Fault{ID: "a"}}, touchedBy(map[string][]string{toolsLists: {"a"}}), nil)}
	split(trials, 4, time.Second)
	if trials[0].parts != 4 {
		t.Errorf("%d parts", trials[0].parts)
	}
	quick := []trial{planTrial(layer{Fault: &fault.Fault{ID: "a"}}, touchedBy(map[string][]string{pingAnswers: {"a"}}), nil)}
	split(quick, 4, time.Second)
	if quick[0].parts != 1 {
		t.Errorf("%d parts of what is over at once", quick[0].parts)
	}
}

// When the survey is another, the checks that want to know what has changed are
// run, too.
func TestWants(t *testing.T) {
	t.Parallel()
	asKnown := func(survey.Question) bool { return false }
	otherTools := func(question survey.Question) bool { return question == survey.AllTools }
	some := job{Checks: []string{pingAnswers}, Asked: questions{toolsLists: {survey.WhyNoBarrier, survey.AllTools}, rulesValid: {survey.WhyNoBarrier}}}.wants()
	for check, want := range map[string][2]bool{pingAnswers: {true, true}, toolsLists: {false, true}, rulesValid: {false, false}} {
		if found := [2]bool{some(named(check), asKnown), some(named(check), otherTools)}; found != want {
			t.Errorf("%s: runs %v, wanted %v", check, found, want)
		}
	}
	all := job{}.wants()
	if !all(named(pingAnswers), asKnown) || !all(named(toolsLists), otherTools) {
		t.Error("without a choice all run")
	}
	protected, guarded := job{Cell: check.Cell{Protected: true}}.wants(), named(pingAnswers)
	guarded.Guarded = true
	if protected(named(pingAnswers), asKnown) || !protected(guarded, asKnown) {
		t.Error("on a protected cell the checks of authorization run, and no others")
	}
}

// named declares a check whose name is its text.
func named(name string) *check.Declaration { return &check.Declaration{Text: name} }

func TestMerge(t *testing.T) {
	t.Parallel()
	rule := func(verdict reports.Verdict, failures ...string) []finding {
		one := finding{Check: rulesValid, Kind: reports.KindRule, Verdict: verdict}
		for _, found := range failures {
			one.Failures = append(one.Failures, reports.Failure{Found: found})
		}
		return []finding{one}
	}
	for name, one := range map[string]struct {
		parts    [][]finding
		want     reports.Verdict
		failures int
	}{
		"seen by one":     {[][]finding{rule(reports.Skipped), rule(reports.Passed)}, reports.Passed, 0},
		"seen by neither": {[][]finding{rule(reports.Skipped), rule(reports.Skipped)}, reports.Skipped, 0},
		"broken in one":   {[][]finding{rule(reports.Failed, "x"), rule(reports.Passed)}, reports.Failed, 1},
		"broken later":    {[][]finding{rule(reports.Passed), rule(reports.Failed, "x")}, reports.Failed, 1},
		"broken in both":  {[][]finding{rule(reports.Warned, "x"), rule(reports.Warned, "y")}, reports.Warned, 2},
	} {
		all := map[string]finding{}
		for _, part := range one.parts {
			merge(all, part)
		}
		if found := all[rulesValid]; found.Verdict != one.want || len(found.Failures) != one.failures {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
