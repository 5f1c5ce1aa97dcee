package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmtext "github.com/yuin/goldmark/text"
)

// What counts as worse, mended, or otherwise changed: of each pair of verdicts.
func TestCompareVerdicts(t *testing.T) {
	t.Parallel()
	const regressed, mended, other, same = "regressed", "mended", "other", ""
	for _, one := range []struct {
		was, is      Verdict
		want, strict string
	}{
		{Passed, Failed, regressed, regressed}, {Skipped, Failed, regressed, regressed}, {Inconclusive, Failed, regressed, regressed},
		{Warned, Failed, regressed, regressed}, {Passed, Warned, regressed, regressed}, {Skipped, Warned, regressed, regressed},
		{Failed, Passed, mended, mended}, {Warned, Passed, mended, mended}, {Failed, Warned, mended, mended},
		{Passed, Inconclusive, other, regressed}, {Skipped, Inconclusive, other, regressed}, {Failed, Inconclusive, other, other},
		{Failed, Skipped, other, other}, {Passed, Skipped, other, other}, {Inconclusive, Passed, other, other},
		{Known, Failed, other, other}, {Failed, Known, other, other}, {Known, Passed, mended, mended}, {Passed, Known, regressed, regressed},
		{Passed, Passed, same, same}, {Failed, Failed, same, same}, {Known, Known, same, same},
	} {
		for _, strict := range []bool{false, true} {
			before, after := verdicts(one.was), verdicts(one.is)
			for _, run := range []*Run{before, after} {
				if result := &run.Cells[0].Results[0]; result.Verdict == Known {
					result.Known = &Excuse{Was: Failed, At: "b:1"}
				}
			}
			before.Strict, after.Strict = strict, strict
			d := Compare(before, after)
			got := same
			for name, list := range map[string][]Change{regressed: d.Regressed, mended: d.Mended, other: d.Other} {
				if len(list) > 0 {
					got = strings.TrimSpace(got + " " + name)
				}
			}
			want := one.want
			if strict {
				want = one.strict
			}
			if got != want || d.Worse() != (want == regressed) || len(d.Added)+len(d.Gone) > 0 {
				t.Errorf("%s → %s, strict %v: %q, want %q", one.was, one.is, strict, got, want)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	check := func(id string, verdict Verdict) Result {
		result := passed("2025-11-25", id, "basic", "does "+id)
		result.Verdict = verdict
		return result
	}
	run := func(results ...Result) *Run {
		return &Run{Cells: []Cell{{Role: "server", Revision: "2025-11-25", Transport: "http", Spoken: true, Results: results}}}
	}
	change := func(run *Run, change func(*Run)) *Run { change(run); return run }
	follows := check("b", Failed)
	follows.Follows = []string{"a"}
	another := func(run *Run) {
		cell := run.Cells[0]
		cell.Revision = "2025-06-18"
		run.Cells = append(run.Cells, cell)
	}
	for name, one := range map[string]struct {
		before, after *Run
		want          string // the conclusion, without what is 0
		says          string // in the text
	}{
		"new and gone":         {run(check("a", Passed), check("b", Failed)), run(check("b", Failed), check("c", Failed)), "1 new, 1 gone", "does c"},
		"filtered":             {run(check("a", Passed), check("b", Passed)), change(run(check("b", Failed)), func(run *Run) { run.Filter = "b" }), "1 regression", "the new run: --filter b"},
		"told with its cause":  {run(check("a", Failed), check("b", Passed)), run(check("a", Skipped), follows), "1 regression", "does b"},
		"was told with others": {run(check("a", Skipped), follows), run(check("a", Failed), check("b", Failed)), "", ""},
		"on two cells":         {change(run(check("a", Passed)), another), change(run(check("a", Failed)), another), "1 regression", "2025-11-25 · http, 2025-06-18 · http"},
		"another cell":         {run(check("a", Passed)), change(run(check("a", Passed)), another), "", "only the new run has 2025-06-18 · http"},
		"a cell less":          {change(run(check("a", Passed)), another), run(check("a", Passed)), "", "only the old run has 2025-06-18 · http"},
		"twice the same check": {run(check("a", Passed), check("a", Passed)), run(check("a", Passed)), "1 gone", "GONE"},
		"no longer spoken": {run(), change(run(), func(run *Run) {
			run.Cells[0].Spoken, run.Cells[0].Note = false, "refused"
		}), "1 regression", "refused"},
		"ended early": {run(), change(run(), func(run *Run) {
			run.Cells[0].Ended = &Ended{Reason: "it is gone"}
		}), "1 regression", "it is gone"},
		"another version": {change(run(), func(run *Run) { run.Tool.Version = "1" }), change(run(), func(run *Run) { run.Tool.Version = "2" }), "", "mcpconform 1 then, 2 now"},
	} {
		d := Compare(one.before, one.after)
		var counts []string
		for count := range strings.SplitSeq(d.Conclusion(), ", ") {
			if !strings.HasPrefix(count, "0 ") {
				counts = append(counts, count)
			}
		}
		if got := strings.Join(counts, ", "); got != one.want {
			t.Errorf("%s: %q, want %q", name, got, one.want)
		}
		var out bytes.Buffer
		if err := d.Terminal(&out, TerminalOptions{Width: 120}); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), one.says) {
			t.Errorf("%s: does not say %q:\n%s", name, one.says, &out)
		}
	}
}

// hostileRun has texts everywhere that try to be more than text.
func hostileRun() *Run {
	run := sampleRun()
	const evil = "\x1b[2J`x``` </pre></details><script>alert(1)</script><img src=x onerror=alert(1)> [a](javascript:alert(1)) | @octocat #1 ![i](https://evil.example/i.png) https://evil.example/ \u202e ::error::x\n## heading\n```\n~~~\n- [ ] task\r\n::set-output name=a::b"
	run.Target.Name, run.Target.Title, run.Target.Version = evil, evil, evil
	for i := range run.Cells {
		cell := &run.Cells[i]
		cell.Notices = append(cell.Notices, evil)
		cell.Target = Identity{evil, evil, evil}
		for j := range cell.Results {
			result := &cell.Results[j]
			result.Output, result.Hint, result.Rerun, result.Transcript = evil, evil, evil, evil
			if result.Reason != "" {
				result.Reason = evil
			}
			for k := range result.Failures {
				result.Failures[k] = Failure{Wanted: evil, Found: evil, Where: evil, Method: evil, About: evil, Hint: evil}
			}
			for k := range result.Exchange {
				result.Exchange[k].Text = evil
			}
			if result.Known != nil {
				result.Known.Reason, result.Known.Issue = evil, "javascript:alert(1)"
			}
		}
	}
	run.Interrupted, run.Errors = evil, []string{evil}
	run.Baseline.Outdated[0].Says = evil
	return run
}

// judgeMarkdown finds what a viewer would make of hostile texts.
func judgeMarkdown(t *testing.T, source []byte) {
	t.Helper()
	if Visible(string(source)) != string(source) {
		t.Error("writes what is not visible")
	}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(gmtext.NewReader(source))
	var wrong []string
	_ = ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.CodeSpan, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			if !strings.HasPrefix(string(node.Destination), specificationHost) {
				wrong = append(wrong, "link to "+string(node.Destination))
			}
		case *ast.AutoLink:
			wrong = append(wrong, "link to "+string(node.URL(source)))
		case *ast.Image:
			wrong = append(wrong, "image "+string(node.Destination))
		case *ast.Text:
			if words := string(node.Segment.Value(source)); strings.Contains(words, "@octocat") || strings.Contains(words, "alert(1)") {
				wrong = append(wrong, "text "+words)
			}
		case *ast.RawHTML, *ast.HTMLBlock:
			words := string(node.Lines().Value(source))
			for _, own := range []string{"<details>", "</details>", "<summary>", "</summary>"} {
				words = strings.ReplaceAll(words, own, "")
			}
			if strings.ContainsAny(words, "<>") {
				wrong = append(wrong, "HTML "+words)
			}
		}
		return ast.WalkContinue, nil
	})
	if len(wrong) > 0 {
		t.Errorf("%d: %s", len(wrong), strings.Join(slices.Compact(wrong), "\n"))
	}
}

func TestDiffMarkdownIsText(t *testing.T) {
	t.Parallel()
	good := hostileRun()
	for i := range good.Cells {
		for j := range good.Cells[i].Results {
			good.Cells[i].Results[j].Verdict = Passed
		}
	}
	d := Compare(good, hostileRun())
	var out bytes.Buffer
	if err := d.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	judgeMarkdown(t, out.Bytes())
	for _, want := range []string{"### Regressions", "passed → failed", "wanted: ````", fmt.Sprintf("❌ %d regressions", len(d.Regressed))} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("does not say %q:\n%s", want, &out)
		}
	}
}
