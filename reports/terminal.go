package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the text for a terminal. A screen has some 40 lines: a failure
// should fit on half of one, and with -v on a few.
const (
	defaultWidth = 80
	leastWidth   = 60 // below it, nearly every line would be broken more than once

	fieldLines        = 6 // of wanted, found, ...
	fieldLinesVerbose = 16
	reasonsShown      = 8  // of skipped results
	causesShown       = 5  // of inconclusive results
	brokenShown       = 40 // in the list at the end
	leastText         = 20 // columns that are worth showing a sentence in
)

// labelWidth is the column at which the text of a failure begins.
const labelWidth = 8

// TerminalOptions choose how a run is shown as text.
type TerminalOptions struct {
	Width   int  // columns: 0 means 80, less than 60 means 60
	Color   bool // use the colours of ANSI terminals
	Verbose bool // every result, and more of each failure
	Quiet   bool // the conclusion alone
	Slowest int  // how many of the results that took longest are listed
}

// Terminal writes the run as text for people: the target, what has to be known
// first, a table of verdicts by page, every failure with the messages that show it,
// and at the end, where a log of a build is read first, what failed and warned in
// a line each, and the conclusion. Nothing that a target sent reaches w as a control
// sequence.
func (r *Run) Terminal(w io.Writer, o TerminalOptions) error {
	t := &terminal{
		sheet:   sheet{width: max(cmp.Or(o.Width, defaultWidth), leastWidth), color: o.Color},
		run:     presentable(r),
		verbose: o.Verbose,
	}
	if !o.Quiet {
		t.header()
		t.ended()
		t.notices()
		t.cells()
		t.failures(Failed)
		t.failures(Warned)
		t.known()
		t.inconclusive()
		t.skipped()
		t.errors()
		t.flaky()
		t.slowest(o.Slowest)
		t.broken()
		t.outdated()
		t.advice()
	}
	t.conclusion()
	_, err := io.WriteString(w, t.String())
	return err
}

// terminal lays out one run.
type terminal struct {
	shortHeads bool // of the columns of the table
	sheet
	run     *Run
	verbose bool
}

// header says what was looked at and how it was reached.
func (t *terminal) header() {
	t.block("", plainStyle, t.run.targetName(), bold, 2)
	t.block("", plainStyle, t.run.reached(), plainStyle, 3)
	if t.run.Requirements != "" {
		t.block("", plainStyle, "judged by the requirements "+oneLine(t.run.Requirements), plainStyle, 2)
	}
	for _, text := range t.run.Draft.says() {
		t.block("", plainStyle, text, plainStyle, 3)
	}
	for i := range t.run.Cells {
		cell := &t.run.Cells[i]
		// Said once for each transport.
		said := slices.ContainsFunc(
			t.run.Cells[:i],
			func(l Cell) bool { return l.Transport == cell.Transport && len(l.AlsoSpeaks) > 0 },
		)
		if len(cell.AlsoSpeaks) > 0 && !said {
			t.block("", plainStyle, "also speaks "+strings.Join(cell.AlsoSpeaks, ", ")+" over "+cell.Transport, dim, 2)
		}
	}
}

// ended tells of the cells that came to an early end.
func (t *terminal) ended() {
	for i := range t.run.Cells {
		cell := &t.run.Cells[i]
		if cell.Ended == nil {
			continue
		}
		t.gap()
		t.block(padRight("ENDED", labelWidth), boldRed, oneLine(cell.Ended.Reason), bold, fieldLines)
		d := detail{sheet: &t.sheet, indent: labelWidth, verbose: t.verbose}
		if len(t.run.Cells) > 1 {
			d.field("on", cell.Name(), fieldLines)
		}
		d.ended(cell.Ended)
	}
}

// notices are what has to be known before the results, each once.
func (t *terminal) notices() {
	var texts []string
	for i := range t.run.Cells {
		cell := &t.run.Cells[i]
		for _, notice := range cell.Notices {
			notice = oneLine(notice)
			if slices.Contains(texts, notice) {
				continue
			}
			if len(texts) == 0 {
				t.gap()
			}
			texts = append(texts, notice)
			t.block(padRight("NOTICE", labelWidth), boldYellow, notice, plainStyle, fieldLines)
		}
	}
}

// Name is what the cell is called in the reports of its run: "2025-11-25 · http".
func (l *Cell) Name() string { return l.Revision + " · " + l.Transport }

// cells writes the table of verdicts by page, or with -v the list of results.
func (t *terminal) cells() {
	first := 0
	shown := t.run.Counts()
	for i := range t.run.Cells {
		cell := &t.run.Cells[i]
		first = max(first, columns.StringWidth(cell.Name()))
		for page := range cell.byPage() {
			first = max(first, 2+columns.StringWidth(page))
		}
	}
	var heads []Verdict
	for _, v := range Verdicts() {
		if v == Passed || v == Failed || shown.Of(v) > 0 {
			heads = append(heads, v)
		}
	}
	first += 2
	room := func(short bool) int {
		left := t.width - first
		for _, v := range heads {
			left -= 2 + len(headOf(v, short))
		}
		return left
	}
	t.shortHeads = room(false) < 0
	if room(t.shortHeads) < 0 {
		heads = nil // no table: words
	}

	for i := range t.run.Cells {
		cell := &t.run.Cells[i]
		t.gap()
		switch {
		case !cell.Spoken:
			t.block(cell.Name()+"  ", bold, cmp.Or(oneLine(cell.Note), "not spoken"), dim, fieldLines)
		case t.verbose:
			t.line(t.paint(bold, cell.Name()))
			t.cellNote(cell)
			t.list(cell)
		default:
			t.table(cell, first, heads)
			t.cellNote(cell)
		}
	}
}

func (t *terminal) cellNote(cell *Cell) {
	if cell.Note != "" {
		t.block("  ", plainStyle, oneLine(cell.Note), dim, fieldLines)
	}
	if len(cell.Results) == 0 {
		t.line("  ", t.paint(dim, "nothing was checked"))
	}
}

// headOf is the head of a column of verdicts, short where there is less room.
func headOf(v Verdict, short bool) string {
	if !short {
		return string(v)
	}
	return map[Verdict]string{Passed: "pass", Failed: "fail", Warned: "warn", Skipped: "skip", Inconclusive: "incon.", Known: "known"}[v]
}

// table writes a row of counts for each page: in columns by verdict, or in words
// if there are no heads because the columns would not fit.
func (t *terminal) table(cell *Cell, first int, heads []Verdict) {
	head := []string{t.paint(bold, padRight(cell.Name(), first))}
	for _, v := range heads {
		head = append(head, "  ", t.paint(dim, headOf(v, t.shortHeads)))
	}
	t.line(head...)
	for page, results := range cell.byPage() {
		counts := CountsOf(results)
		name := padRight("  "+page, first)
		if len(heads) == 0 {
			t.block(name+"  ", plainStyle, tally(counts), plainStyle, fieldLines)
			continue
		}
		row := []string{name}
		for _, v := range heads {
			number, how := "·", dim
			if n := counts.Of(v); n > 0 {
				number, how = strconv.Itoa(n), verdictStyle(v)
			}
			row = append(
				row,
				"  ",
				strings.Repeat(" ", max(0, len(headOf(v, t.shortHeads))-columns.StringWidth(number))),
				t.paint(how, number),
			)
		}
		t.line(row...)
	}
}

// list writes every result of a cell with its mark and reason.
func (t *terminal) list(cell *Cell) {
	for page, results := range cell.byPage() {
		t.gap()
		t.line("  ", t.paint(bold, page), "  ", t.paint(dim, tally(CountsOf(results))))
		var group string
		for i := range results {
			result := &results[i]
			indent := "    "
			if heading := oneLine(strings.Join(result.Group, " › ")); heading != group {
				group = heading
				if group != "" {
					t.block(indent, plainStyle, group, dim, 2)
				}
			}
			if group != "" {
				indent += "  "
			}
			t.block(
				indent+mark(result.Verdict)+" ",
				verdictStyle(result.Verdict),
				oneLine(result.Text),
				plainStyle,
				fieldLines,
			)
			if result.Known != nil {
				t.block(indent+"  ", plainStyle, oneLine(result.Known.Reason), dim, fieldLines)
			}
			if result.Reason != "" {
				t.block(indent+"  ", plainStyle, oneLine(result.Reason), dim, fieldLines)
			}
		}
	}
}

// byPage yields the results of a cell page by page, in the order they have.
func (l *Cell) byPage() func(yield func(string, []Result) bool) {
	return func(yield func(string, []Result) bool) {
		for from := 0; from < len(l.Results); {
			to := from + 1
			for to < len(l.Results) && l.Results[to].Page == l.Results[from].Page {
				to++
			}
			if !yield(l.Results[from].Page, l.Results[from:to]) {
				return
			}
			from = to
		}
	}
}

func mark(v Verdict) string {
	switch v {
	case Passed:
		return "✓"
	case Failed:
		return "✗"
	case Known:
		return "~"
	case Warned:
		return "!"
	case Skipped:
		return "–"
	case Inconclusive:
		return "?"
	}
	return " "
}

func verdictStyle(v Verdict) style {
	switch v {
	case Passed:
		return green
	case Failed:
		return red
	case Known:
		return cyan
	case Warned:
		return yellow
	case Skipped:
		return dim
	case Inconclusive:
		return cyan
	}
	return plainStyle
}

// finding is a result with the cells on which the same was found.
type finding struct {
	*Result
	revision string
	cells    []string
}

// findings gathers the results of a verdict. The same mismatch on several cells
// has one cause and is shown once.
func (t *terminal) findings(v Verdict) []*finding {
	var all []*finding
	for i := range t.run.Cells {
		cell := &t.run.Cells[i]
	results:
		for j := range cell.Results {
			result := &cell.Results[j]
			if result.Verdict != v {
				continue
			}
			for _, known := range all {
				if known.ID == result.ID && known.Text == result.Text && slices.EqualFunc(known.Failures, result.Failures, Failure.alike) {
					known.cells = append(known.cells, cell.Name())
					continue results
				}
			}
			all = append(all, &finding{result, cell.Revision, []string{cell.Name()}})
		}
	}
	return all
}

// alike tells whether two mismatches on different cells are the same: the ids of requests, which
// are told, too, differ from one to the other.
func (f Failure) alike(other Failure) bool {
	f.About, other.About = "", ""
	return f == other
}

// failures writes every failed or warned result. A warning is shorter, unless it
// fails the run.
func (t *terminal) failures(v Verdict) {
	for _, f := range t.findings(v) {
		t.gap()
		t.headline(f, padRight(strings.ToUpper(string(v)), labelWidth), headStyle(v))
		d := detail{
			sheet:   &t.sheet,
			indent:  labelWidth,
			verbose: t.verbose,
			brief:   v == Warned && !t.run.Strict && !t.verbose,
		}
		if len(t.run.Cells) > 1 {
			d.on = strings.Join(f.cells, ", ")
		}
		d.write(f.Result, f.revision)
	}
}

// headline is the text of a result behind a word, with the requirement.
func (t *terminal) headline(f *finding, word string, how style) {
	text := oneLine(f.Text)
	requirement := ""
	if len(f.Requirements) > 0 {
		requirement = f.Requirements[0].ID + "  " + f.Requirements[0].PlainLevel()
	}
	budget := t.width - labelWidth - columns.StringWidth(text)
	if fits := budget - 2 - columns.StringWidth(requirement); fits >= 0 {
		t.line(t.paint(how, word), t.paint(bold, text), strings.Repeat(" ", 2+fits), t.paint(dim, requirement))
		return
	}
	t.block(word, how, text, bold, fieldLines)
	t.block(strings.Repeat(" ", labelWidth), plainStyle, requirement, dim, 2)
}

// headStyle is that of the word which a result begins with.
func headStyle(v Verdict) style {
	if v == Warned {
		return boldYellow
	}
	return boldRed
}

// broken lists what failed and what warned, in a line each.
func (t *terminal) broken() {
	type line struct {
		verdict  Verdict
		id, text string
	}
	var all []line
	first := 0
	for _, v := range []Verdict{Failed, Warned} {
		for _, f := range t.findings(v) {
			if one := (line{v, f.ID, f.Text}); !slices.Contains(all, one) {
				first = max(first, columns.StringWidth(f.ID))
				all = append(all, one)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	t.gap()
	for i, one := range all {
		if i == brokenShown && len(all) > brokenShown+1 {
			t.line(
				strings.Repeat(" ", labelWidth),
				t.paint(dim, fmt.Sprintf("and %d more, all of them above", len(all)-i)),
			)
			break
		}
		row := []string{
			t.paint(headStyle(one.verdict), padRight(strings.ToUpper(string(one.verdict)), labelWidth)),
			padRight(one.id, first),
		}
		if budget := t.width - labelWidth - max(first, columns.StringWidth(one.id)) - 2; budget >= leastText {
			row = append(row, "  ", t.paint(dim, clip(oneLine(one.text), budget)))
		}
		t.line(row...)
	}
}

// reason is what several results share: why they have no verdict on the target.
type reason struct {
	why        string
	unprovoked bool           // nothing provokes what is to be seen: all kinds of provocations are one cause
	hints      map[string]int // what to do, with how many results
	count      int
	results    []*Result      // without repetitions on other cells
	kinds      map[string]int // of provocations that are missing, with how many results
}

// reasons groups the results of a verdict by reason, the most frequent first.
func (t *terminal) reasons(v Verdict) []*reason {
	var all []*reason
	for i := range t.run.Cells {
		for j := range t.run.Cells[i].Results {
			result := &t.run.Cells[i].Results[j]
			if result.Verdict != v {
				continue
			}
			why := cmp.Or(oneLine(result.Reason), "no reason given")
			unprovoked := result.Provocation != "" && !t.verbose
			if unprovoked {
				why = "no known tool triggers these"
			}
			at := slices.IndexFunc(all, func(r *reason) bool { return r.why == why && r.unprovoked == unprovoked })
			if at < 0 {
				at = len(all)
				all = append(all, &reason{
					why: why, unprovoked: unprovoked, hints: map[string]int{}, kinds: map[string]int{},
				})
			}
			all[at].count++
			all[at].hints[oneLine(result.Hint)]++
			if result.Provocation != "" {
				all[at].kinds[result.Provocation]++
			}
			if !slices.ContainsFunc(
				all[at].results,
				func(r *Result) bool { return r.ID == result.ID && r.Text == result.Text },
			) {
				all[at].results = append(all[at].results, result)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *reason) int { return b.count - a.count })
	return all
}

// describe is why, and what to do about it.
func (r *reason) describe() (why, hint string) {
	if !r.unprovoked {
		return r.why, frequent(r.hints)[0]
	}
	kinds := frequent(r.kinds)
	example := kinds[0]
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s %d", kind, r.kinds[kind])
	}
	return r.why + ": " + strings.Join(kinds, ", "),
		fmt.Sprintf(
			"for each of these kinds, name a tool in mcpconform.yaml, as in `provocations: {%s: {tool: NAME}}`, or say that there is none, as in `never: [%s]`",
			example,
			example,
		)
}

// frequent sorts what was counted, the most frequent first.
func frequent(counted map[string]int) []string {
	return slices.SortedFunc(
		maps.Keys(counted),
		func(a, b string) int { return cmp.Or(counted[b]-counted[a], cmp.Compare(a, b)) },
	)
}

// inconclusive lists why something could not be tested, and what would help; with
// -v also what.
func (t *terminal) inconclusive() {
	all := t.reasons(Inconclusive)
	if len(all) == 0 {
		return
	}
	t.gap()
	t.line(t.paint(boldCyan, "INCONCLUSIVE"), "  could not be tested")
	t.gap()
	digits := len(strconv.Itoa(all[0].count))
	indent := strings.Repeat(" ", digits+4)
	for i, r := range all {
		if !t.verbose && i == causesShown && len(all) > causesShown+1 {
			left := 0
			for _, other := range all[i:] {
				left += other.count
			}
			t.line(fmt.Sprintf("  %*d  ", digits, left), t.paint(dim, fmt.Sprintf("for %d other reasons", len(all)-i)))
			break
		}
		why, hint := r.describe()
		t.block(fmt.Sprintf("  %*d  ", digits, r.count), cyan, why, plainStyle, fieldLines)
		if hint != "" {
			t.block(indent, plainStyle, hint, dim, fieldLines)
		}
		if !t.verbose {
			continue
		}
		for _, result := range r.results {
			t.block(indent+"? ", dim, oneLine(result.Text), dim, fieldLines)
		}
		t.gap()
	}
	if !t.verbose {
		t.line(indent, t.paint(dim, "-v lists them"))
	}
}

// skipped counts what does not apply, by reason.
func (t *terminal) skipped() {
	all := t.reasons(Skipped)
	if len(all) == 0 {
		return
	}
	t.gap()
	t.line(t.paint(bold, "SKIPPED"), "  not applicable, or already reported")
	t.gap()
	digits := len(strconv.Itoa(all[0].count))
	for i, r := range all {
		if !t.verbose && i == reasonsShown && len(all) > reasonsShown+1 {
			t.line(
				strings.Repeat(" ", digits+4),
				t.paint(dim, fmt.Sprintf("and %d more reasons, -v lists them", len(all)-reasonsShown)),
			)
			break
		}
		t.block(fmt.Sprintf("  %*d  ", digits, r.count), dim, r.why, plainStyle, fieldLines)
	}
}

// errors lists the failures of the harness itself.
func (t *terminal) errors() {
	if len(t.run.Errors) > 0 {
		t.gap()
	}
	for _, text := range t.run.Errors {
		t.block(padRight("ERROR", labelWidth), boldRed, text, plainStyle, fieldLinesVerbose)
	}
}

// flaky lists what had another verdict in another run.
func (t *terminal) flaky() {
	all := t.run.flakyFindings()
	if len(all) == 0 {
		return
	}
	t.gap()
	t.line(t.paint(boldYellow, "FLAKY"), "  had different verdicts in different runs")
	t.gap()
	for _, one := range all {
		t.block("  ", plainStyle, oneLine(one.Text), plainStyle, fieldLines)
		t.block("    ", plainStyle, one.flaky()+"  "+oneLine(one.ID)+"  "+one.cells[0], dim, 2)
	}
}

// slowest lists the results that took longest.
func (t *terminal) slowest(most int) {
	type timed struct {
		*Result
		cell string
	}
	var all []timed
	for i := range t.run.Cells {
		cell := &t.run.Cells[i]
		for j := range cell.Results {
			if result := &cell.Results[j]; result.Duration > 0 {
				all = append(all, timed{result, cell.Name()})
			}
		}
	}
	if most == 0 || len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(b.Duration, a.Duration) })
	t.gap()
	t.line(t.paint(bold, "SLOWEST"), "  slowest checks")
	t.gap()
	for _, one := range all[:min(most, len(all))] {
		lead := fmt.Sprintf("  %8.3f s  ", float64(one.Duration))
		t.block(lead, cyan, oneLine(one.Text), plainStyle, fieldLines)
		t.block(strings.Repeat(" ", len(lead)), plainStyle, oneLine(one.ID)+"  "+one.cell, dim, 2)
	}
}

// conclusion is the last line: what the run says of the target, in one sentence.
func (t *terminal) conclusion() {
	t.gap()
	sentence := t.run.Conclusion()
	how := boldRed
	if t.run.Conforms(t.run.Strict) {
		how = boldGreen
	}
	c := t.run.Counts()
	counts := c.String() + " in " + duration(t.run.Duration)
	if columns.StringWidth(sentence)+2+len(counts) <= t.width {
		t.line(t.paint(how, sentence+":"), " ", counts)
		return
	}
	t.block("", plainStyle, sentence+":", how, fieldLines)
	t.block("  ", plainStyle, counts, plainStyle, fieldLines)
}
