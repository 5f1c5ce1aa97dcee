package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// detail writes what stands below the text of a failed or warned result.
type detail struct {
	*sheet
	indent  int
	on      string // the cells it was found on, where that is not plain
	verbose bool
	brief   bool   // less of the exchange
	named   bool   // with the name of the first requirement, which no headline tells
	label   string // of the exchange, before its first step
}

// room is how much of a result is shown.
type budget struct {
	field  int // lines of wanted, found, ...
	steps  int // of the exchange
	step   int // lines of a message; the one that is judged has twice as many
	output int // lines of the target's standard error
}

func (d *detail) budget() budget {
	switch {
	case d.verbose:
		return budget{field: fieldLinesVerbose, steps: 30, step: 6, output: fieldLinesVerbose}
	case d.brief:
		return budget{field: fieldLines, steps: 3, step: 3}
	}
	return budget{field: fieldLines, steps: 8, step: 3, output: 6}
}

func (d *detail) field(label, text string, limit int) {
	if text == "" {
		return
	}
	d.block(strings.Repeat(" ", d.indent)+padRight(label, labelWidth), dim, text, plainStyle, limit)
}

// copied writes a field that is meant to be copied: it is never broken.
func (d *detail) copied(label, text string) {
	if text == "" {
		return
	}
	text = strings.ReplaceAll(text, "\n", `\n`)
	d.line(strings.Repeat(" ", d.indent), d.paint(dim, padRight(label, labelWidth)), text)
}

func (d *detail) write(r *Result, revision string) {
	budget := d.budget()
	for _, f := range r.Failures {
		d.field("about", f.About, budget.field)
		d.field("wanted", f.Wanted, budget.field)
		d.found(f.Found, budget.field)
		d.field("where", f.Where, budget.field)
		d.field("hint", f.Hint, budget.field)
	}
	for i := range r.Requirements {
		d.requirement(&r.Requirements[i], i == 0, revision)
	}
	if len(r.Follows) > 0 {
		d.field("also", "breaks "+strings.Join(r.Follows, ", "), budget.field)
	}
	d.field("on", d.on, budget.field)
	d.field("flaky", r.flaky(), budget.field)
	if r.Occurrences > 1 {
		seen := plural(r.Occurrences, "time")
		if r.Connections > 0 {
			seen += " in " + plural(r.Connections, "connection")
		}
		d.field("seen", seen, budget.field)
	}
	d.exchange(r.Exchange, pointers(r.Failures))
	d.output(r.Output, budget.output)
	d.copied("file", r.Transcript)
	d.copied("rerun", r.Rerun)
}

func (d *detail) requirement(requirement *Requirement, first bool, revision string) {
	limit := d.budget().field
	label := "and"
	if first {
		label = "breaks"
	}
	if !first || d.named {
		d.field(label, requirement.ID+"  "+requirement.PlainLevel(), limit)
	}
	d.field("says", requirement.Says, limit)
	if requirement.RestsOn != "" {
		d.field("rests", "on "+requirement.RestsOn+", so it never fails a run", limit)
	}
	if requirement.At != "" {
		d.copied("at", cmp.Or(requirement.Revision, revision)+" "+requirement.At)
	}
	if d.verbose || requirement.At == "" {
		d.copied("link", requirement.Link)
	}
}

// output shows the end of the target's standard error: the last lines tell most.
func (d *detail) output(text string, limit int) {
	if limit == 0 || text == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	d.field("stderr", strings.Join(lines[max(0, len(lines)-limit):], "\n"), limit)
}

// ended shows why a cell came to an early end.
func (d *detail) ended(e *Ended) {
	budget := d.budget()
	d.field("after", e.After, budget.field)
	d.field("exit", e.Exit, budget.field)
	d.output(e.Output, max(budget.output, 1))
	d.field("hint", e.Hint, budget.field)
}

// pointers are the places in messages that failures are about.
func pointers(failures []Failure) []string {
	var all []string
	for _, f := range failures {
		if strings.HasPrefix(f.Where, "/") {
			all = append(all, f.Where)
		}
	}
	return all
}

// fitJSON shortens the JSON in a text that takes more lines than there are, behind an
// indent, around what is to be kept. It reports whether it then fits.
func (d *detail) fitJSON(text string, indent, lines int, keep ...string) (short string, fits bool) {
	fit := func(short string) bool {
		return len(short) <= d.width*lines*maxRuneBytes && len(wrap(short, max(d.width-indent, leastBlock))) <= lines
	}
	short, _ = excerpt.JSON(text, fit, keep...)
	return short, fit(short)
}

// found shows what the target did: a value of JSON is shortened as one where that
// helps.
func (d *detail) found(text string, limit int) {
	if short, fits := d.fitJSON(text, d.indent+labelWidth, limit); fits {
		text = short
	}
	d.field("found", text, limit)
}

// exchange draws the messages as a sequence: → from client to server, ← back.
// The one that is judged stands behind a mark; the members at the pointers are never left
// out of it.
func (d *detail) exchange(steps []Step, pointers []string) {
	if len(steps) > 0 {
		d.label = padRight("wire", labelWidth)
		d.steps(steps, pointers, d.budget())
	}
}

// steps draws those for which there is room, behind the label.
func (d *detail) steps(steps []Step, pointers []string, budget budget) {
	before := -1
	lead := func() string {
		l := strings.Repeat(" ", d.indent) + d.label
		d.label = strings.Repeat(" ", len(d.label))
		return l
	}
	for _, i := range shownSteps(steps, budget.steps) {
		if left := i - before - 1; left > 0 {
			d.line(d.paint(dim, lead()), d.paint(dim, "  … "+plural(left, "step")+" left out …"))
		}
		before = i
		step := &steps[i]
		text := step.Text
		switch step.Kind {
		case StepMessage, StepRequest, StepResponse, StepNote:
		default:
			text = strings.TrimRight(step.Kind+": "+text, ": ")
		}
		// The mark, the arrow, and with -v the time.
		gutter, how, most := "  ", plainStyle, budget.step
		var keep []string
		if step.Marked {
			gutter, how, most, keep = "▸ ", bold, 2*budget.step, pointers
		}
		gutter += arrow(step) + " "
		if d.verbose {
			gutter = fmt.Sprintf("%8.3f s ", float64(step.At)) + gutter
		}
		front := lead() + gutter
		text, _ = d.fitJSON(text, columns.StringWidth(front), most, keep...)
		d.block(front, dim, text, how, most)
	}
	if left := len(steps) - 1 - before; left > 0 {
		d.line(lead(), d.paint(dim, "  … "+plural(left, "step")+" left out …"))
	}
}

func arrow(s *Step) string {
	switch {
	case s.From == string(protocol.Client) && s.To != "":
		return "→"
	case s.To == string(protocol.Client):
		return "←"
	}
	return "·"
}

// shownSteps chooses at most limit steps: what is judged first, then what was
// illegal on purpose, what stands beside the judged, how it began and ended, and
// what led there.
func shownSteps(steps []Step, limit int) []int {
	if limit == 0 {
		return nil
	}
	chosen := make(map[int]bool)
	choose := func(i int) {
		if i >= 0 && i < len(steps) && len(chosen) < limit {
			chosen[i] = true
		}
	}
	judged := len(steps) - 1
	for i, step := range slices.Backward(steps) {
		if step.Marked {
			choose(i)
			judged = i
		}
	}
	for i := range steps {
		if steps[i].Deliberate {
			choose(i)
		}
	}
	choose(judged - 1)
	choose(judged + 1)
	choose(0)
	choose(len(steps) - 1)
	for i := judged; i >= 0; i-- {
		choose(i)
	}
	for i := judged; i < len(steps); i++ {
		choose(i)
	}
	order := make([]int, 0, len(chosen))
	for i := range steps {
		// To leave out one step takes as much room as to show it.
		alone := (i == 0 || chosen[i-1]) && (i == len(steps)-1 || chosen[i+1])
		if chosen[i] || alone {
			order = append(order, i)
		}
	}
	return order
}
