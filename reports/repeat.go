package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Repeated makes one run of several that did the same, one after the other: each result
// has the worst verdict that it had, and tells of the others if they differ.
func Repeated(runs []*Run) *Run {
	if len(runs) == 1 {
		return runs[0]
	}
	merged := *runs[0]
	merged.Repeats, merged.Cells, merged.Errors, merged.Duration = len(runs), nil, nil, 0
	for i, run := range runs {
		for _, failure := range run.Errors {
			merged.Errors = append(merged.Errors, fmt.Sprintf("run %d of %d: %s", i+1, len(runs), failure))
		}
		merged.Duration += run.Duration
		merged.Interrupted = cmp.Or(merged.Interrupted, run.Interrupted)
		for j := range run.Cells {
			if cell := merged.cell(&run.Cells[j]); cell != nil {
				cell.repeat(&run.Cells[j])
				continue
			}
			cell := run.Cells[j]
			cell.Results = slices.Clone(cell.Results)
			for k := range cell.Results {
				cell.Results[k].Flaky = []Verdict{cell.Results[k].Verdict}
			}
			merged.Cells = append(merged.Cells, cell)
		}
	}
	for i := range merged.Cells {
		merged.Cells[i].steady()
	}
	merged.Sort()
	return &merged
}

// repeat adds what another run has found on the same cell.
func (l *Cell) repeat(again *Cell) {
	for _, notice := range again.Notices {
		if !slices.Contains(l.Notices, notice) {
			l.Notices = append(slices.Clip(l.Notices), notice)
		}
	}
	l.Spoken = l.Spoken || again.Spoken
	l.Note = cmp.Or(l.Note, again.Note)
	l.Ended = cmp.Or(l.Ended, again.Ended)
	l.Duration += again.Duration
	for i := range again.Results {
		other := again.Results[i]
		at := slices.IndexFunc(l.Results, func(one Result) bool { return one.same(&other) })
		if at < 0 {
			other.Flaky = []Verdict{other.Verdict}
			l.Results = append(l.Results, other)
			continue
		}
		verdicts := append(slices.Clip(l.Results[at].Flaky), other.Verdict)
		if badnessOf(again, &other) > badnessOf(l, &l.Results[at]) {
			l.Results[at] = other
		}
		l.Results[at].Flaky = verdicts
	}
}

// same tells whether two results are of the same check or rule.
func (r *Result) same(as *Result) bool {
	return r.Kind == as.Kind && r.ID == as.ID && r.Text == as.Text && slices.Equal(r.Group, as.Group)
}

// badnessOf orders what was found: the worse, the higher.
func badnessOf(cell *Cell, result *Result) int {
	if cell.ToldElsewhere(result) {
		return slices.Index(badness, Warned) // it is broken, too
	}
	return slices.Index(badness, result.Verdict)
}

var badness = []Verdict{Skipped, Passed, Inconclusive, Warned, Failed}

// steady forgets the verdicts of results that always had the same. What is told with its
// cause is flaky there.
func (l *Cell) steady() {
	for i := range l.Results {
		result := &l.Results[i]
		differs := slices.ContainsFunc(result.Flaky, func(v Verdict) bool { return v != result.Flaky[0] })
		if !differs || l.ToldElsewhere(result) {
			result.Flaky = nil
		}
	}
}

// flaky says how often a result had which verdict: "failed in 2 of 5 runs, passed in 3".
// It is "" for one that always had the same.
func (r *Result) flaky() string {
	if len(r.Flaky) == 0 {
		return ""
	}
	counts := Counts{}
	for _, v := range r.Flaky {
		counts.Add(v)
	}
	var words []string
	for _, v := range slices.Backward(badness) {
		switch n := counts.Of(v); {
		case n > 0 && len(words) == 0:
			words = append(words, fmt.Sprintf("%s in %d of %d runs", v, n, len(r.Flaky)))
		case n > 0:
			words = append(words, fmt.Sprintf("%s in %d", v, n))
		}
	}
	return strings.Join(words, ", ")
}

// flakyFindings are the results that differed from run to run, each with its cell.
func (r *Run) flakyFindings() []*finding {
	var all []*finding
	for i := range r.Cells {
		cell := &r.Cells[i]
		for j := range cell.Results {
			if result := &cell.Results[j]; len(result.Flaky) > 0 {
				all = append(all, &finding{Result: result, revision: cell.Revision, cells: []string{cell.Name()}})
			}
		}
	}
	return all
}
