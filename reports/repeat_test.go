package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runOf is a run of one cell whose results have these verdicts, by text.
func runOf(verdicts map[string]Verdict) *Run {
	run := conformingRun()
	cell := &run.Cells[0]
	run.Cells = run.Cells[:1]
	cell.Results = nil
	for text, v := range verdicts {
		result := passed(cell.Revision, "ping."+text, "basic/utilities/ping", text)
		result.Verdict = v
		switch v {
		case Failed, Warned:
			result.Failures = []Failure{{Wanted: "an answer", Found: "none"}}
		case Skipped, Inconclusive:
			result.Reason = "the reason of " + text
		}
		cell.Results = append(cell.Results, result)
	}
	run.Sort()
	return run
}

// Of several runs each result has the worst verdict, and tells of the others.
func TestRepeated(t *testing.T) {
	t.Parallel()
	runs := []*Run{
		runOf(map[string]Verdict{"always": Passed, "sometimes": Passed, "broken": Failed, "late": Inconclusive, "declared": Skipped}),
		runOf(map[string]Verdict{"always": Passed, "sometimes": Failed, "broken": Failed, "late": Passed, "declared": Passed}),
		runOf(map[string]Verdict{"always": Passed, "sometimes": Passed, "broken": Failed, "late": Passed, "declared": Passed}),
	}
	merged := Repeated(runs)
	got := map[string]string{}
	for i := range merged.Cells[0].Results {
		result := &merged.Cells[0].Results[i]
		got[result.Text] = string(result.Verdict) + "; " + result.flaky()
	}
	if diff := cmp.Diff(map[string]string{
		"always":    "passed; ",
		"broken":    "failed; ",
		"sometimes": "failed; failed in 1 of 3 runs, passed in 2",
		"late":      "inconclusive; inconclusive in 1 of 3 runs, passed in 2",
		"declared":  "passed; passed in 2 of 3 runs, skipped in 1",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if runs[0].Cells[0].Results[0].Flaky != nil || runs[0].Repeats != 0 {
		t.Error("the runs themselves have changed")
	}
	for name, written := range map[string]func(*bytes.Buffer) error{
		"JSON": func(w *bytes.Buffer) error {
			if err := merged.Write(w); err != nil {
				return err
			}
			_, err := Read(bytes.NewReader(w.Bytes()))
			return err
		},
		"terminal": func(w *bytes.Buffer) error { return merged.Terminal(w, TerminalOptions{Width: 120}) },
		"Markdown": func(w *bytes.Buffer) error { return merged.Markdown(w) },
		"JUnit":    func(w *bytes.Buffer) error { return merged.JUnit(w, JUnitOptions{}) },
		"HTML":     func(w *bytes.Buffer) error { return merged.HTML(w, HTMLOptions{}) },
	} {
		var out bytes.Buffer
		if err := written(&out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := "failed in 1 of 3 runs, passed in 2"
		switch name {
		case "JSON":
			want = `"flaky": [`
		case "HTML", "Markdown": // which list what is no failure, too
			want = "passed in 2 of 3 runs, skipped in 1"
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s does not tell that it is flaky:\n%s", name, out.String())
		}
	}
	if want := "(3 flaky in 3 runs)"; !strings.HasSuffix(merged.Conclusion(), want) {
		t.Errorf("concludes %q, wanted %q at its end", merged.Conclusion(), want)
	}
}

// What is told with its cause is flaky there, and there alone; it has not passed.
func TestRepeatedCause(t *testing.T) {
	t.Parallel()
	good := runOf(map[string]Verdict{"answered": Passed, "empty": Passed})
	bad := runOf(map[string]Verdict{"answered": Failed, "empty": Skipped})
	bad.Cells[0].Results[0].Follows = []string{"ping.empty"}
	for _, runs := range [][]*Run{{good, bad}, {bad, good}, {bad, good, bad}} {
		merged := Repeated(runs)
		cause, told := merged.Cells[0].Results[0], merged.Cells[0].Results[1]
		if cause.Verdict != Failed || len(cause.Flaky) != len(runs) || told.Verdict != Skipped || told.Flaky != nil {
			t.Errorf("the cause is %s %v, what is told with it %s %v", cause.Verdict, cause.Flaky, told.Verdict, told.Flaky)
		}
	}
}

// A run that broke off, or had errors, is told by its number.
func TestRepeatedErrors(t *testing.T) {
	t.Parallel()
	one, other := runOf(map[string]Verdict{"a": Passed}), runOf(map[string]Verdict{"a": Passed})
	other.Errors, other.Interrupted = []string{"no room"}, "interrupt"
	other.Cells[0].Transport = "sse"
	merged := Repeated([]*Run{one, other, other})
	if diff := cmp.Diff([]string{"run 2 of 3: no room", "run 3 of 3: no room"}, merged.Errors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if merged.Interrupted != "interrupt" || len(merged.Cells) != 2 || merged.Cells[1].Results[0].Flaky != nil {
		t.Errorf("is interrupted by %q, with %d cells", merged.Interrupted, len(merged.Cells))
	}
}
