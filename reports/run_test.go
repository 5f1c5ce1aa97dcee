package reports

import (
	"strings"
	"testing"
	"time"
)

func TestSort(t *testing.T) {
	t.Parallel()
	cell := Cell{Pages: []string{"basic/lifecycle", "basic"}, Results: []Result{
		{Page: "zoo", ID: "a"}, {Page: "basic", ID: "b", Text: "2"}, {Page: "basic", ID: "b", Text: "1"},
		{Page: "apes", ID: "z"}, {Page: "basic", ID: "a"}, {Page: "basic/lifecycle", ID: "z"},
	}}
	run := Run{Cells: []Cell{cell}}
	run.Sort()
	var order []string
	for _, r := range run.Cells[0].Results {
		order = append(order, r.Page+" "+r.ID+r.Text)
	}
	got := strings.Join(order, ", ")
	if want := "basic/lifecycle z, basic a, basic b1, basic b2, apes z, zoo a"; got != want {
		t.Errorf("%s, wanted %s", got, want)
	}
}

// verdicts makes a run of one cell with these verdicts.
func verdicts(list ...Verdict) *Run {
	cell := Cell{Revision: "2025-11-25", Transport: "http", Spoken: true}
	for _, v := range list {
		cell.Results = append(cell.Results, Result{Verdict: v})
	}
	return &Run{Cells: []Cell{cell}}
}

func TestConformsAndConclusion(t *testing.T) {
	t.Parallel()
	change := func(run *Run, change func(*Run)) *Run {
		change(run)
		return run
	}
	partly := func(change func(*Run), list ...Verdict) *Run {
		run := verdicts(list...)
		run.Cells[0].Declared = 345
		change(run)
		return run
	}
	older := func(list ...Verdict) Cell {
		cell := verdicts(list...).Cells[0]
		cell.Revision = "2025-06-18"
		return cell
	}
	unspoken := Cell{Revision: "2025-06-18", Transport: "http"}
	asked := unspoken
	asked.Results = []Result{{Verdict: Failed}}
	add := func(cells ...Cell) func(*Run) { return func(run *Run) { run.Cells = append(run.Cells, cells...) } }
	interrupt := func(run *Run) { run.Interrupted = "interrupt" }
	err := func(run *Run) { run.Errors = []string{"worker died"} }
	filtered := func(run *Run) { run.Filter = "server/tools" }
	scenarios := func(played int) func(*Run) {
		return func(run *Run) { run.Cells[0].Scenarios = &Scenarios{played, 45} }
	}
	ended := func(run *Run) { run.Cells[0].Ended = &Ended{Reason: "it is gone"} }
	const strictly = "Does not conform to 2025-11-25 (strict)"
	for name, c := range map[string]struct {
		run              *Run
		conforms, strict bool
		says, saysStrict string
	}{
		"passed":       {verdicts(Passed, Skipped), true, true, "Conforms to 2025-11-25", "Conforms to 2025-11-25 (strict)"},
		"failed":       {verdicts(Passed, Failed), false, false, "Does not conform to 2025-11-25", strictly},
		"known":        {verdicts(Passed, Known, Known), true, true, "Conforms to 2025-11-25 except for 2 known deviations", "Conforms to 2025-11-25 except for 2 known deviations (strict)"},
		"known alone":  {verdicts(Known), true, true, "Conforms to 2025-11-25 except for 1 known deviation", "Conforms to 2025-11-25 except for 1 known deviation (strict)"},
		"known beside": {verdicts(Known, Failed), false, false, "Does not conform to 2025-11-25", strictly},
		"outdated": {
			change(verdicts(Passed), func(run *Run) { run.Baseline = &Baseline{Outdated: []Outdated{{Why: EntryStale}}} }), false, false,
			"Conforms to 2025-11-25; the baseline has 1 entry to correct", "Conforms to 2025-11-25; the baseline has 1 entry to correct (strict)",
		},
		"warned":        {verdicts(Passed, Warned), true, false, "Conforms to 2025-11-25", strictly},
		"inconclusive":  {verdicts(Passed, Inconclusive), true, false, "Conforms to 2025-11-25 as far as could be tested", strictly},
		"nothing shown": {verdicts(Skipped, Inconclusive), false, false, "Nothing could be judged at 2025-11-25", strictly},
		"only skipped":  {verdicts(Skipped), true, true, "Nothing could be judged at 2025-11-25", "Nothing could be judged at 2025-11-25 (strict)"},
		"no results":    {verdicts(), false, false, "Nothing could be judged at 2025-11-25", "Nothing could be judged at 2025-11-25 (strict)"},
		"no cells":      {&Run{}, false, false, "Nothing was checked", "Nothing was checked (strict)"},
		"unspoken":      {&Run{Cells: []Cell{unspoken}}, false, false, "Does not speak 2025-06-18", "Does not speak 2025-06-18 (strict)"},
		"one unspoken":  {change(verdicts(Passed), add(unspoken)), true, true, "Conforms to 2025-11-25", "Conforms to 2025-11-25 (strict)"},
		"one unspoken that was asked for": {
			change(verdicts(Passed), add(asked)), false, false,
			"Conforms to 2025-11-25; does not speak 2025-06-18", "Conforms to 2025-11-25; does not speak 2025-06-18 (strict)",
		},
		"interrupted": {
			partly(interrupt, Passed, Warned, Skipped), false, false,
			"No failure found in 2 of 345 checks and rules at 2025-11-25 (interrupt)", "Does not conform to 2025-11-25 (strict, interrupt)",
		},
		"interrupted at once": {partly(interrupt), false, false, "Nothing could be judged at 2025-11-25 (interrupt)", "Nothing could be judged at 2025-11-25 (strict, interrupt)"},
		"interrupted after a failure": {
			partly(interrupt, Passed, Failed), false, false,
			"Does not conform to 2025-11-25 (interrupt)", "Does not conform to 2025-11-25 (strict, interrupt)",
		},
		"filtered": {
			partly(filtered, Passed, Passed, Skipped, Inconclusive), true, false,
			"No failure found in 2 of 345 checks and rules at 2025-11-25 (--filter server/tools)", "Does not conform to 2025-11-25 (strict, --filter server/tools)",
		},
		"filtered, and nobody counted": {
			change(verdicts(Passed), filtered), true, true,
			"No failure found in 1 check or rule at 2025-11-25 (--filter server/tools)", "No failure found in 1 check or rule at 2025-11-25 (strict, --filter server/tools)",
		},
		"filtered, one cell bad": {
			partly(func(run *Run) { filtered(run); add(older(Failed))(run) }, Passed), false, false,
			"Does not conform to 2025-06-18; no failure found in 1 of 345 checks and rules at 2025-11-25 (--filter server/tools)",
			"Does not conform to 2025-06-18; no failure found in 1 of 345 checks and rules at 2025-11-25 (strict, --filter server/tools)",
		},
		"some scenarios": {
			partly(scenarios(1), Passed, Inconclusive), true, false,
			"No failure found in 1 of 345 checks and rules at 2025-11-25 (1 of 45 scenarios played)", "Does not conform to 2025-11-25 (strict, 1 of 45 scenarios played)",
		},
		"all scenarios": {partly(scenarios(45), Passed), true, true, "Conforms to 2025-11-25", "Conforms to 2025-11-25 (strict)"},
		"ended": {
			partly(ended, Passed, Inconclusive), false, false,
			"No failure found in 1 of 345 checks and rules at 2025-11-25 (2025-11-25 · http ended early)",
			"Does not conform to 2025-11-25 (strict, 2025-11-25 · http ended early)",
		},
		"erred": {
			change(verdicts(Passed, Failed), err), false, false,
			"Does not conform to 2025-11-25 (1 error of the harness)", "Does not conform to 2025-11-25 (strict, 1 error of the harness)",
		},
		"mixed": {
			change(verdicts(Passed), add(older(Failed))), false, false,
			"Conforms to 2025-11-25, but not to 2025-06-18", "Conforms to 2025-11-25, but not to 2025-06-18 (strict)",
		},
		"one cell bad": {change(verdicts(Passed), add(verdicts(Failed).Cells...)), false, false, "Does not conform to 2025-11-25", strictly},
	} {
		if got := c.run.Conforms(false); got != c.conforms {
			t.Errorf("%s: conforms %v", name, got)
		}
		if got := c.run.Conforms(true); got != c.strict {
			t.Errorf("%s: conforms strictly %v", name, got)
		}
		if got := c.run.Conclusion(); got != c.says {
			t.Errorf("%s: %s, wanted %s", name, got, c.says)
		}
		c.run.Strict = true
		if got := c.run.Conclusion(); got != c.saysStrict {
			t.Errorf("%s: %s, wanted %s", name, got, c.saysStrict)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	c := verdicts(Passed, Passed, Failed, Known, Warned, Skipped, Inconclusive, Inconclusive).Counts()
	if want := (Counts{Passed: 2, Failed: 1, Known: 1, Warned: 1, Skipped: 1, Inconclusive: 2}); c != want {
		t.Errorf("%+v, wanted %+v", c, want)
	}
	if c.Total() != 8 || c.Fails(false) != 1 || c.Fails(true) != 4 {
		t.Errorf("total %d, fails %d, strictly %d", c.Total(), c.Fails(false), c.Fails(true))
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]Seconds{
		0: 0, -time.Second: 0, 1499 * time.Nanosecond: 0.000001, 1234567 * time.Microsecond: 1.234567, time.Hour: 3600,
	} {
		got := SecondsOf(d)
		if got != want {
			t.Errorf("%v: %v, wanted %v", d, got, want)
		}
		if back := got.Duration(); d > 0 && back != d.Round(time.Microsecond) {
			t.Errorf("%v: back %v", d, back)
		}
	}
	for s, want := range map[Seconds]string{0.04: "0.0 s", 0.84: "0.8 s", 12.4: "12 s", 125.2: "2 min 5 s"} {
		if got := duration(s); got != want {
			t.Errorf("%v: %s, wanted %s", float64(s), got, want)
		}
	}
}

// What rests on no sentence of the specification fails no run, however strict.
func TestWhatRestsOnNoSentence(t *testing.T) {
	t.Parallel()
	for _, verdict := range []Verdict{Warned, Inconclusive} {
		run := verdicts(Passed, verdict)
		result := &run.Cells[0].Results[1]
		result.Requirements = []Requirement{{ID: "a", Level: Should, RestsOn: "an example"}}
		if !run.Conforms(true) || result.Fails(true) {
			t.Errorf("%s: it fails a strict run", verdict)
		}
		for _, warnings := range JUnitWarnings() {
			run.Strict = true
			var xml strings.Builder
			if err := run.JUnit(&xml, JUnitOptions{Warnings: warnings}); err != nil || strings.Contains(xml.String(), "<failure") {
				t.Errorf("%s, %s: %v\n%s", verdict, warnings, err, xml.String())
			}
		}
		result.Requirements = append(result.Requirements, Requirement{ID: "b", Level: Should})
		if run.Conforms(true) || !result.Fails(true) {
			t.Errorf("%s: a sentence stands behind it, too", verdict)
		}
	}
}
