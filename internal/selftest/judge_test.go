package selftest

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// ofServers is the side of the tests.
var ofServers = side{protocol.ServerRole, "2025-11-25"}

// declared are two checks and a rule of three requirements.
func declared() map[side][]plan.Declared {
	return map[side][]plan.Declared{ofServers: {
		{Group: []string{"Ping"}, Text: "answers", Requirements: []string{"ping.answered"}},
		{Group: []string{"Tools"}, Text: "lists", Requirements: []string{"tools.list.answered"}},
		{Group: []string{"Rules"}, Text: "valid", Rule: true, Requirements: []string{"base.schema.results"}},
	}}
}

const (
	pingAnswers = "Ping · answers"
	toolsLists  = "Tools · lists"
	rulesValid  = "Rules · valid"
)

// verdicts makes what was found, by check.
func verdicts(ping, tools, rules reports.Verdict) map[string]finding {
	return map[string]finding{
		pingAnswers: {Check: pingAnswers, Kind: reports.KindCheck, Verdict: ping},
		toolsLists:  {Check: toolsLists, Kind: reports.KindCheck, Verdict: tools},
		rulesValid:  {Check: rulesValid, Kind: reports.KindRule, Verdict: rules},
	}
}

func trialOf(kind string, one *fault.Fault, before map[string]finding) trial {
	on := newBase(check.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.HTTP}, declared()[ofServers])
	on.found = before
	return trial{layer: layer{Fault: one, kind: kind, cell: on.cell, also: alsoBrokenBy(one)}, base: on}
}

func kindsOf(result reports.Trial) string {
	var kinds []string
	for _, one := range result.Problems {
		kinds = append(kinds, one.Kind)
	}
	return strings.Join(kinds, ", ")
}

func TestJudgeFaults(t *testing.T) {
	t.Parallel()
	const passed, failed, warned, skipped, open = reports.Passed, reports.Failed, reports.Warned, reports.Skipped, reports.Inconclusive
	well := verdicts(passed, passed, passed)
	also := map[string]string{"base.schema.results": "it is no object"}
	for name, one := range map[string]struct {
		also   map[string]string
		may    map[string]string
		found  map[string]finding
		missed bool // it matched nothing
		wrong  string
	}{
		"caught":                         {found: verdicts(failed, passed, passed)},
		"caught by a warning":            {found: verdicts(warned, passed, passed)},
		"others conclude nothing":        {found: verdicts(failed, open, skipped)},
		"others did not run":             {found: map[string]finding{pingAnswers: {Verdict: failed}}},
		"not caught":                     {found: well, wrong: reports.NotCaught},
		"not caught, only inconclusive":  {found: verdicts(open, passed, passed), wrong: reports.NotCaught},
		"another fails, too":             {found: verdicts(failed, failed, passed), wrong: reports.Accused},
		"another fails instead":          {found: verdicts(passed, passed, failed), wrong: reports.NotCaught + ", " + reports.Accused},
		"also broken":                    {also: also, found: verdicts(failed, passed, failed)},
		"also broken, and never is":      {also: also, found: verdicts(failed, passed, passed), wrong: reports.Stale},
		"broken by chance":               {may: also, found: verdicts(failed, passed, failed)},
		"kept by chance":                 {may: also, found: verdicts(failed, passed, passed)},
		"something else beside chance":   {may: also, found: verdicts(failed, warned, failed), wrong: reports.Accused},
		"something else":                 {also: also, found: verdicts(failed, warned, failed), wrong: reports.Accused},
		"only what is also broken fails": {also: also, found: verdicts(passed, passed, failed), wrong: reports.NotCaught},
		"nothing matched":                {found: verdicts(failed, passed, passed), missed: true, wrong: reports.Unmatched},
		"nothing matched and none fails": {also: also, found: nil, missed: true, wrong: reports.Unmatched},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := trialOf(reports.KindFault, &fault.Fault{ID: "a", Breaks: []string{"ping.answered"}, AlsoBreaks: one.also, MayBreak: one.may}, well)
			result := newJudgement(declared(), false).judge(trial, outcome{found: one.found, matched: map[string]bool{"a": !one.missed}})
			if found := kindsOf(result); found != one.wrong {
				t.Errorf("wanted %q, found %q: %+v", one.wrong, found, result.Problems)
			}
		})
	}
}

func TestJudgeVariations(t *testing.T) {
	t.Parallel()
	const passed, failed, warned, skipped, open = reports.Passed, reports.Failed, reports.Warned, reports.Skipped, reports.Inconclusive
	before := verdicts(passed, skipped, passed)
	for name, one := range map[string]struct {
		found    map[string]finding
		silences bool
		missed   bool
		wrong    string
	}{
		"nothing changes":             {found: before},
		"a check fails":               {found: verdicts(failed, skipped, passed), wrong: reports.Changed},
		"a check warns":               {found: verdicts(warned, skipped, passed), wrong: reports.Changed},
		"a check concludes nothing":   {found: verdicts(open, skipped, passed), wrong: reports.Changed},
		"it took away what is needed": {found: verdicts(open, skipped, passed), silences: true},
		"it took away, nobody knows": {
			found: map[string]finding{
				pingAnswers: {Check: pingAnswers, Kind: reports.KindCheck, Verdict: open, Unexplained: true},
			},
			silences: true, wrong: reports.Changed,
		},
		"it took away nothing":        {found: before, silences: true, wrong: reports.Stale},
		"it took away and broke":      {found: verdicts(open, skipped, failed), silences: true, wrong: reports.Changed},
		"a rule fails":                {found: verdicts(passed, skipped, failed), wrong: reports.Changed},
		"a check is skipped":          {found: verdicts(skipped, skipped, passed)},
		"a check is no longer":        {found: verdicts(passed, passed, passed)},
		"a rule has nothing to judge": {found: verdicts(passed, skipped, skipped)},
		"nothing matched":             {found: before, missed: true, wrong: reports.Unmatched},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := trialOf(reports.KindVariation, &fault.Fault{ID: "a", Silences: one.silences}, before)
			result := newJudgement(declared(), false).judge(trial, outcome{found: one.found, matched: map[string]bool{"a": !one.missed}})
			if found := kindsOf(result); found != one.wrong {
				t.Errorf("wanted %q, found %q: %+v", one.wrong, found, result.Problems)
			}
		})
	}
}

// What a peer fails by itself, lacks, or is not reached by is not held against a
// fault.
func TestJudgePeers(t *testing.T) {
	t.Parallel()
	judgement := newJudgement(declared(), true)
	one := &fault.Fault{ID: "a", Breaks: []string{"ping.answered"}, AlsoBreaks: map[string]string{"base.schema.results": "x"}}
	before := verdicts(reports.Passed, reports.Warned, reports.Passed)
	result := judgement.judge(trialOf(reports.KindFault, one, before), outcome{found: verdicts(reports.Failed, reports.Warned, reports.Passed), matched: map[string]bool{"a": true}})
	if !result.Caught || len(result.Problems) > 0 || len(result.Effects) != 1 {
		t.Errorf("caught %t, problems %v, effects %v", result.Caught, result.Problems, result.Effects)
	}
	if result = judgement.judge(trialOf(reports.KindFault, one, before), outcome{}); result.Matched || len(result.Problems) > 0 {
		t.Errorf("not applicable: %+v", result)
	}
	switched := &fault.Fault{ID: "a", Breaks: one.Breaks, Switch: "forgets-sessions"}
	if result = judgement.judge(trialOf(reports.KindFault, switched, before), outcome{}); result.Matched || len(result.Problems) > 0 {
		t.Errorf("a switch that it does not have: %+v", result)
	}
}

func TestJudgeCrashes(t *testing.T) {
	t.Parallel()
	trial := trialOf(reports.KindFault, &fault.Fault{ID: "a", Breaks: []string{"ping.answered"}}, verdicts(reports.Passed, reports.Passed, reports.Passed))
	var found outcome
	found.take(done{Findings: []finding{{Check: pingAnswers, Verdict: reports.Failed}}, Matched: []string{"a"}})
	found.take(done{Errors: []string{"the worker exited with status 2"}})
	one := newJudgement(declared(), false).judge(trial, found)
	if kindsOf(one) != reports.Crashed || one.Problems[0].Says != "the worker exited with status 2" {
		t.Errorf("found %+v", one.Problems)
	}
}

// What a slow machine or chance may have caused is tried again, what a fault does to many
// checks is not.
func TestDoubtful(t *testing.T) {
	t.Parallel()
	accused := reports.Problem{Kind: reports.Accused}
	for name, one := range map[string]struct {
		problems []reports.Problem
		seconds  float64
		want     bool
		drifts   int
	}{
		"all is well":                 {nil, 2, false, 0},
		"accused after a wait":        {[]reports.Problem{accused}, 2, true, 0},
		"accused at once":             {[]reports.Problem{accused}, 0.5, true, 1},
		"not caught":                  {[]reports.Problem{{Kind: reports.NotCaught}}, 0.5, true, 0},
		"nothing came so far":         {[]reports.Problem{{Kind: reports.Unmatched}}, 0.5, true, 0},
		"what is also broken is kept": {[]reports.Problem{{Kind: reports.Stale}}, 0.5, true, 0},
		"not caught and accused":      {[]reports.Problem{{Kind: reports.NotCaught}, accused}, 0.5, true, 1},
		"changed after a wait":        {[]reports.Problem{{Kind: reports.Changed}}, 2, true, 0},
		"many are accused by it":      {slices.Repeat([]reports.Problem{accused}, fewAccused+1), 2, false, 0},
	} {
		found := outcome{found: map[string]finding{pingAnswers: {Seconds: one.seconds}}}
		got, drifts := doubtful(reports.Trial{Problems: one.problems}, found, 1)
		if got != one.want || len(drifts) != one.drifts {
			t.Errorf("%s: doubtful %t, %d may have drifted", name, got, len(drifts))
		}
	}
	if got, _ := doubtful(reports.Trial{Problems: []reports.Problem{{Kind: reports.Unmatched}}}, outcome{}, 1); !got {
		t.Error("what nothing matched in the run without it is not tried again")
	}
}

func TestMissedTellsWhatBecameOfTheChecks(t *testing.T) {
	t.Parallel()
	trial := trialOf(reports.KindFault, &fault.Fault{ID: "a", Breaks: []string{"ping.answered", "tools.list.answered"}}, verdicts(reports.Passed, reports.Passed, reports.Passed))
	found := map[string]finding{pingAnswers: {Check: pingAnswers, Verdict: reports.Inconclusive, Reason: "no session"}}
	one := newJudgement(declared(), false).judge(trial, outcome{found: found, matched: map[string]bool{"a": true}})
	const want = `"Ping · answers" is inconclusive: no session; "Tools · lists" did not run`
	if len(one.Problems) != 1 || one.Problems[0].Says != want {
		t.Errorf("wanted %q, found %+v", want, one.Problems)
	}
}

// A check that saw nothing of what another caught has a second chance, and one that has
// failed needs none.
func TestWhatWasMissedIsTriedAgain(t *testing.T) {
	t.Parallel()
	one := trialOf(
		reports.KindFault,
		&fault.Fault{ID: "a", Breaks: []string{"ping.answered", "tools.list.answered", "base.schema.results"}},
		verdicts(reports.Passed, reports.Passed, reports.Passed),
	)
	requirements, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	here := &test{judgement: newJudgement(declared(), false), report: &reports.Selftest{}}
	here.declarations = declarations{
		requirements: requirements, checks: declared(),
		roles: []string{ofServers.role}, revisions: []string{ofServers.revision},
	}
	tried := func(ping, tools, rules reports.Verdict) reports.Trial {
		return here.judge(one, outcome{found: verdicts(ping, tools, rules), matched: map[string]bool{"a": true}})
	}

	here.tell(tried(reports.Failed, reports.Passed, reports.Failed))
	here.conclude()

	if got := here.missed([]trial{one}); len(got) != 1 {
		t.Fatalf("%d trials again, wanted the one of the check that is not proven", len(got))
	}
	here.tellAgain(tried(reports.Passed, reports.Failed, reports.Passed))
	here.conclude()
	if got := here.missed([]trial{one}); len(got) != 0 {
		t.Errorf("%d trials again of what is proven", len(got))
	}
	if got := here.report.Trials; len(got) != 1 || len(got[0].Effects) != 3 || !got[0].Repeated {
		t.Errorf("found %+v, wanted one trial with what both showed", got)
	}
}
