package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the text for a terminal. A screen has some 40 lines: a failure
// should fit on half of one, and with -v on a few.
const (
	defaultWidth = 80
	leastWidth   = 60 // below it, nearly every line would be broken more than once

	fieldLines        = 6 // of wanted, found, ...
	fieldLinesVerbose = 16
	stepsShown        = 8 // of an exchange
	stepsShownVerbose = 30
	stepLines         = 3 // of a message; the one that is judged has twice as many
	stepLinesVerbose  = 6
	outputLines       = 6 // of the target's stderr
	reasonsShown      = 8 // of skipped results
	textsShown        = 3 // of the results that are inconclusive for one reason
	anyNumber         = 1 << 16
)

// labelWidth is the column at which the text of a failure begins.
const labelWidth = 8

// TerminalOptions choose how a run is shown as text.
type TerminalOptions struct {
	Width   int  // columns: 0 means 80, less than 60 means 60
	Color   bool // use the colours of ANSI terminals
	Verbose bool // every result, and more of each failure
	Quiet   bool // the conclusion alone
}

// Terminal writes the run as text for people: the target, a table of verdicts by
// page, every failure with the messages that show it, and the conclusion.
// Nothing that a target sent reaches w as a control sequence.
func (r *Run) Terminal(w io.Writer, o TerminalOptions) error {
	t := &terminal{
		sheet:   sheet{width: max(cmp.Or(o.Width, defaultWidth), leastWidth), color: o.Color},
		run:     presentable(r),
		verbose: o.Verbose,
	}
	if !o.Quiet {
		t.header()
		t.legs()
		t.failures(Failed)
		t.failures(Warned)
		t.inconclusive()
		t.skipped()
		t.errors()
	}
	t.conclusion()
	_, err := io.WriteString(w, t.String())
	return err
}

// terminal lays out one run.
type terminal struct {
	sheet
	run     *Run
	verbose bool
}

// header says what was looked at and how it was reached.
func (t *terminal) header() {
	target := t.run.Target
	name := strings.TrimSpace(cmp.Or(target.Name, "the target") + " " + target.Version)
	if target.Title != "" && target.Title != target.Name {
		name += " (" + target.Title + ")"
	}
	reached := target.Role
	switch {
	case target.URL != "":
		reached += " at " + target.URL
	case len(target.Command) > 0:
		reached += " started by " + strings.Join(target.Command, " ")
	}
	t.block("", plainStyle, oneLine(name), bold, 2)
	t.block("", plainStyle, oneLine(reached), plainStyle, 3)
	for i := range t.run.Legs {
		leg := &t.run.Legs[i]
		// Said once for each transport.
		said := slices.ContainsFunc(t.run.Legs[:i], func(l Leg) bool { return l.Transport == leg.Transport && len(l.AlsoSpeaks) > 0 })
		if len(leg.AlsoSpeaks) > 0 && !said {
			t.block("", plainStyle, "also speaks "+strings.Join(leg.AlsoSpeaks, ", ")+" over "+leg.Transport, dim, 2)
		}
	}
}

// Name is what the leg is called in the reports of its run: "2025-11-25 · http".
func (l *Leg) Name() string { return l.Revision + " · " + l.Transport }

// legs writes the table of verdicts by page, or with -v the list of results.
func (t *terminal) legs() {
	first := 0
	shown := t.run.Counts()
	for i := range t.run.Legs {
		leg := &t.run.Legs[i]
		first = max(first, columns.StringWidth(leg.Name()))
		for page := range leg.byPage() {
			first = max(first, 2+columns.StringWidth(page))
		}
	}
	var heads []Verdict
	for _, v := range Verdicts() {
		if v == Passed || v == Failed || shown.Of(v) > 0 {
			heads = append(heads, v)
		}
	}
	room := t.width
	for _, v := range heads {
		room -= 2 + len(v)
	}
	first += 2
	if first > room {
		heads = nil // no table: words
	}

	for i := range t.run.Legs {
		leg := &t.run.Legs[i]
		t.gap()
		switch {
		case !leg.Spoken:
			t.block(leg.Name()+"  ", bold, cmp.Or(oneLine(leg.Note), "not spoken"), dim, fieldLines)
		case t.verbose:
			t.line(t.paint(bold, leg.Name()))
			t.legNote(leg)
			t.list(leg)
		default:
			t.table(leg, first, heads)
			t.legNote(leg)
		}
	}
}

func (t *terminal) legNote(leg *Leg) {
	if leg.Note != "" {
		t.block("  ", plainStyle, oneLine(leg.Note), dim, fieldLines)
	}
	if len(leg.Results) == 0 {
		t.line("  ", t.paint(dim, "nothing was checked"))
	}
}

// table writes a row of counts for each page: in columns by verdict, or in words
// if there are no heads because the columns would not fit.
func (t *terminal) table(leg *Leg, first int, heads []Verdict) {
	head := []string{t.paint(bold, padRight(leg.Name(), first))}
	for _, v := range heads {
		head = append(head, "  ", t.paint(dim, string(v)))
	}
	t.line(head...)
	for page, results := range leg.byPage() {
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
			row = append(row, "  ", strings.Repeat(" ", max(0, len(v)-columns.StringWidth(number))), t.paint(how, number))
		}
		t.line(row...)
	}
}

// list writes every result of a leg with its mark and reason.
func (t *terminal) list(leg *Leg) {
	for page, results := range leg.byPage() {
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
			t.block(indent+mark(result.Verdict)+" ", verdictStyle(result.Verdict), oneLine(result.Text), plainStyle, fieldLines)
			if result.Reason != "" {
				t.block(indent+"  ", plainStyle, oneLine(result.Reason), dim, fieldLines)
			}
		}
	}
}

// byPage yields the results of a leg page by page, in the order they have.
func (l *Leg) byPage() func(yield func(string, []Result) bool) {
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
	case Warned:
		return yellow
	case Skipped:
		return dim
	case Inconclusive:
		return cyan
	}
	return plainStyle
}

// finding is a result with the legs on which the same was found.
type finding struct {
	*Result
	revision string
	legs     []string
}

// findings gathers the results of a verdict. The same mismatch on several legs
// has one cause and is shown once.
func (t *terminal) findings(v Verdict) []*finding {
	var all []*finding
	for i := range t.run.Legs {
		leg := &t.run.Legs[i]
	results:
		for j := range leg.Results {
			result := &leg.Results[j]
			if result.Verdict != v {
				continue
			}
			for _, known := range all {
				if known.ID == result.ID && known.Text == result.Text && slices.Equal(known.Failures, result.Failures) {
					known.legs = append(known.legs, leg.Name())
					continue results
				}
			}
			all = append(all, &finding{result, leg.Revision, []string{leg.Name()}})
		}
	}
	return all
}

// failures writes every failed or warned result. A warning is shorter, unless it
// fails the run.
func (t *terminal) failures(v Verdict) {
	legs := 0
	for i := range t.run.Legs {
		if t.run.Legs[i].Spoken {
			legs++
		}
	}
	how := boldRed
	if v == Warned {
		how = boldYellow
	}
	for _, f := range t.findings(v) {
		t.gap()
		word := padRight(strings.ToUpper(string(v)), labelWidth)
		text := oneLine(f.Text)
		requirement := ""
		if len(f.Requirements) > 0 {
			requirement = f.Requirements[0].ID + "  " + f.Requirements[0].Level
		}
		room := t.width - labelWidth - columns.StringWidth(text)
		if fits := room - 2 - columns.StringWidth(requirement); fits >= 0 {
			t.line(t.paint(how, word), t.paint(bold, text), strings.Repeat(" ", 2+fits), t.paint(dim, requirement))
		} else {
			t.block(word, how, text, bold, fieldLines)
			t.block(strings.Repeat(" ", labelWidth), plainStyle, requirement, dim, 2)
		}
		d := detail{sheet: &t.sheet, indent: labelWidth, verbose: t.verbose, brief: v == Warned && !t.run.Strict && !t.verbose}
		if legs > 1 {
			d.on = strings.Join(f.legs, ", ")
		}
		d.write(f.Result, f.revision)
	}
}

// detail writes what stands below the text of a failed or warned result.
type detail struct {
	*sheet
	indent  int
	on      string // the legs it was found on, where that is not plain
	verbose bool
	brief   bool // without the exchange
	named   bool // with the name of the first requirement, which no headline tells
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
	limit := fieldLines
	if d.verbose {
		limit = fieldLinesVerbose
	}
	for _, f := range r.Failures {
		d.field("wanted", f.Wanted, limit)
		d.field("found", f.Found, limit)
		d.field("where", f.Where, limit)
		d.field("hint", f.Hint, limit)
	}
	for i, requirement := range r.Requirements {
		label := "and"
		if i == 0 {
			label = "breaks"
		}
		if i > 0 || d.named {
			d.field(label, requirement.ID+"  "+requirement.Level, limit)
		}
		if !d.brief {
			d.field("says", requirement.Says, limit)
		}
		if requirement.At != "" {
			d.copied("at", revision+" "+requirement.At)
		}
		if d.verbose || requirement.At == "" {
			d.copied("link", requirement.Link)
		}
	}
	d.field("on", d.on, limit)
	if r.Occurrences > 1 {
		seen := plural(r.Occurrences, "time")
		if r.Connections > 0 {
			seen += " in " + plural(r.Connections, "connection")
		}
		d.field("seen", seen, limit)
	}
	if !d.brief {
		d.exchange(r.Exchange)
		limit := outputLines
		if d.verbose {
			limit = fieldLinesVerbose
		}
		// The last lines of stderr tell most.
		output := strings.Split(strings.TrimRight(r.Output, "\n"), "\n")
		d.field("stderr", strings.Join(output[max(0, len(output)-limit):], "\n"), limit)
	}
	d.copied("again", r.Again)
}

// exchange draws the messages as a sequence: → from client to server, ← back.
// The one that is judged stands behind a mark.
func (d *detail) exchange(steps []Step) {
	if len(steps) == 0 {
		return
	}
	limit, lines := stepsShown, stepLines
	if d.verbose {
		limit, lines = stepsShownVerbose, stepLinesVerbose
	}
	label := padRight("wire", labelWidth)
	before := -1
	lead := func() string {
		l := strings.Repeat(" ", d.indent) + label
		label = strings.Repeat(" ", labelWidth)
		return l
	}
	for _, i := range shownSteps(steps, limit) {
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
		if step.Deliberate {
			text = "(illegal on purpose) " + text
		}
		// The mark, the arrow, and with -v the time.
		gutter, how, most := "  ", plainStyle, lines
		if step.Marked {
			gutter, how, most = "▸ ", bold, 2*lines
		}
		gutter += arrow(step) + " "
		if d.verbose {
			gutter = fmt.Sprintf("%8.3f s ", float64(step.At)) + gutter
		}
		d.block(lead()+gutter, dim, text, how, most)
	}
	if left := len(steps) - 1 - before; left > 0 {
		d.line(lead(), d.paint(dim, "  … "+plural(left, "step")+" left out …"))
	}
}

func arrow(s *Step) string {
	switch {
	case s.From == Client && s.To == Server:
		return "→"
	case s.From == Server && s.To == Client:
		return "←"
	}
	return "·"
}

// shownSteps chooses at most limit steps: what is judged first, then what was
// illegal on purpose, what stands beside the judged, how it began and ended, and
// what led there.
func shownSteps(steps []Step, limit int) []int {
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

// reason is what several results share: why they have no verdict on the target.
type reason struct {
	why, hint string
	count     int
	results   []*Result // without repetitions on other legs
}

// reasons groups the results of a verdict by reason, the most frequent first.
func (t *terminal) reasons(v Verdict) []*reason {
	var all []*reason
	for i := range t.run.Legs {
		for j := range t.run.Legs[i].Results {
			result := &t.run.Legs[i].Results[j]
			if result.Verdict != v {
				continue
			}
			why, hint := cmp.Or(oneLine(result.Reason), "no reason is given"), oneLine(result.Hint)
			at := slices.IndexFunc(all, func(r *reason) bool { return r.why == why && r.hint == hint })
			if at < 0 {
				at = len(all)
				all = append(all, &reason{why: why, hint: hint})
			}
			all[at].count++
			if !slices.ContainsFunc(all[at].results, func(r *Result) bool { return r.ID == result.ID && r.Text == result.Text }) {
				all[at].results = append(all[at].results, result)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *reason) int { return b.count - a.count })
	return all
}

// inconclusive lists what could not be seen, and what would show it.
func (t *terminal) inconclusive() {
	all := t.reasons(Inconclusive)
	if len(all) == 0 {
		return
	}
	t.gap()
	t.line(t.paint(boldCyan, "INCONCLUSIVE"), "  the target gave no way to see these")
	limit := textsShown
	if t.verbose {
		limit = anyNumber
	}
	digits := len(strconv.Itoa(all[0].count))
	indent := strings.Repeat(" ", digits+4)
	for _, r := range all {
		t.gap()
		t.block(fmt.Sprintf("  %*d  ", digits, r.count), cyan, r.why, plainStyle, fieldLines)
		if r.hint != "" {
			t.block(indent, plainStyle, r.hint, plainStyle, fieldLines)
		}
		for i, result := range r.results {
			// "and 1 more" would take the line of the one.
			if i == limit && len(r.results) > limit+1 {
				t.line(indent, t.paint(dim, fmt.Sprintf("? and %d more, -v lists them", len(r.results)-limit)))
				break
			}
			t.block(indent+"? ", dim, oneLine(result.Text), dim, fieldLines)
		}
	}
}

// skipped counts what does not apply, by reason.
func (t *terminal) skipped() {
	all := t.reasons(Skipped)
	if len(all) == 0 {
		return
	}
	t.gap()
	t.line(t.paint(bold, "SKIPPED"), "  these do not apply")
	t.gap()
	digits := len(strconv.Itoa(all[0].count))
	for i, r := range all {
		if !t.verbose && i == reasonsShown && len(all) > reasonsShown+1 {
			t.line(strings.Repeat(" ", digits+4), t.paint(dim, fmt.Sprintf("and %d more reasons, -v lists them", len(all)-reasonsShown)))
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

// conclusion is the last line: what the run says of the target, in one sentence.
func (t *terminal) conclusion() {
	t.gap()
	sentence := t.run.Conclusion()
	how := boldRed
	if t.run.Conforms(t.run.Strict) {
		how = boldGreen
	}
	c := t.run.Counts()
	counts := fmt.Sprintf("%d passed, %d failed, %d warned, %d skipped, %d inconclusive in %s",
		c.Passed, c.Failed, c.Warned, c.Skipped, c.Inconclusive, duration(t.run.Duration))
	if columns.StringWidth(sentence)+2+len(counts) <= t.width {
		t.line(t.paint(how, sentence+":"), " ", counts)
		return
	}
	t.block("", plainStyle, sentence+":", how, fieldLines)
	t.block("  ", plainStyle, counts, plainStyle, fieldLines)
}

// Conclusion says in one sentence, without its full stop, what the run found:
// "Conforms to 2025-11-25".
func (r *Run) Conclusion() string {
	var good, bad, unseen, unspoken []string
	add := func(to *[]string, revision string) {
		if !slices.Contains(*to, revision) {
			*to = append(*to, revision)
		}
	}
	for i := range r.Legs {
		leg := &r.Legs[i]
		switch c := leg.Counts(); {
		case c.Fails(r.Strict) > 0:
			add(&bad, leg.Revision)
		case !leg.Spoken:
			add(&unspoken, leg.Revision)
		case c.Passed+c.Warned > 0:
			add(&good, leg.Revision)
		default:
			add(&unseen, leg.Revision)
		}
	}
	good = slices.DeleteFunc(good, func(revision string) bool { return slices.Contains(bad, revision) })

	var early []string // why the run did not reach its end
	if r.Interrupted != "" {
		early = append(early, oneLine(r.Interrupted))
	}
	if len(r.Errors) > 0 {
		early = append(early, plural(len(r.Errors), "error")+" of the harness")
	}
	var sentence string
	switch {
	case len(bad) == 0 && len(early) > 0:
		sentence = "Not judged to the end"
	case len(bad) > 0 && len(good) > 0:
		sentence = "Conforms to " + series(good) + ", but not to " + series(bad)
	case len(bad) > 0:
		sentence = "Does not conform to " + series(bad)
	case len(good) > 0:
		sentence = "Conforms to " + series(good)
	case len(unseen) > 0:
		sentence = "Nothing could be judged at " + series(unseen)
	case len(unspoken) > 0:
		sentence = "Nothing was checked, the target does not speak " + series(unspoken)
	default:
		sentence = "Nothing was checked"
	}
	if r.Strict {
		early = append([]string{"strict"}, early...)
	}
	if len(early) > 0 {
		sentence += " (" + strings.Join(early, ", ") + ")"
	}
	return sentence
}

// series writes a list as prose: "a", "a and b", "a, b and c".
func series(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// duration writes a length of time as precisely as people care.
func duration(s Seconds) string {
	switch d := s.Duration(); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	default:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
}
