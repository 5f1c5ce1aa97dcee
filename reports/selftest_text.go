package reports

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Terminal writes the selftest as text for people: how much is proven, page by
// page, then everything that is not as it should be, and the conclusion; with
// Verbose every fault and variation with what it made fail.
func (s *Selftest) Terminal(w io.Writer, o TerminalOptions) error {
	shown := mapStrings(reflect.ValueOf(s), Visible).Interface().(*Selftest)
	t := &selftestText{
		sheet:    sheet{width: max(cmp.Or(o.Width, defaultWidth), leastWidth), color: o.Color},
		selftest: shown, verbose: o.Verbose,
	}
	t.cells(o.Quiet)
	if !o.Quiet {
		if o.Verbose {
			t.trials()
		}
		t.pages()
		t.accepted()
		t.slowest()
	}
	t.unproven()
	t.wrong()
	t.drifted()
	t.errors()
	t.conclusion()
	_, err := io.WriteString(w, t.String())
	return err
}

// selftestText lays out one selftest.
type selftestText struct {
	sheet
	selftest *Selftest
	verbose  bool
}

// cells tells how the target fares by itself, or only where it does not fare well.
func (t *selftestText) cells(quiet bool) {
	for i := range t.selftest.Cells {
		cell := &t.selftest.Cells[i]
		if quiet && (len(cell.Red) == 0 || t.selftest.Peer()) {
			continue
		}
		text := fmt.Sprintf("%d passed", cell.Passed)
		if cell.Note != "" {
			text = cell.Note
		}
		t.block(
			cell.Role+" · "+cell.Revision+" · "+cell.Transport+protectedText(cell)+"  ",
			bold,
			"without a fault: "+text,
			plainStyle,
			fieldLines,
		)
		for _, one := range cell.Red {
			t.effect(one, "    ", t.verbose || !t.selftest.Peer())
		}
	}
}

// trials lists each with its effects.
func (t *selftestText) trials() {
	place := ""
	for i := range t.selftest.Trials {
		one := &t.selftest.Trials[i]
		if file, _, _ := strings.Cut(one.Place, ":"); file != place {
			place = file
			t.gap()
			t.line(t.paint(bold, place))
		}
		sign, how, word := mark(Passed), green, t.word(one)
		if len(one.Problems) > 0 {
			sign, how = mark(Failed), red
		}
		right := fmt.Sprintf("%s  %s", word, duration(one.Duration))
		t.line(
			"  ",
			t.paint(how, sign+" "),
			padRight(clip(one.ID, t.width-6-len(right)), t.width-5-len(right)),
			t.paint(dim, right),
		)
		skipped := 0
		for _, effect := range one.Effects {
			if effect.Verdict == Skipped || effect.Verdict == Passed {
				skipped++
				continue
			}
			t.effect(effect, "      ", false)
		}
		if skipped > 0 {
			t.line(t.paint(dim, "      "+mark(Skipped)+" "+plural(skipped, "check")+" skipped, or skipped no longer"))
		}
	}
}

// word says in one or two what became of a trial.
func (t *selftestText) word(one *Trial) string {
	switch {
	case len(one.Problems) > 0:
		return one.Problems[0].Kind
	case !one.Matched:
		return "not applicable"
	case one.Caught:
		return "caught"
	}
	return "no verdict changed"
}

// effect writes a check that failed, with what it wanted and found.
func (t *selftestText) effect(one Effect, indent string, detailed bool) {
	text := oneLine(one.Check)
	if one.Allowed == ByAlsoBreaks {
		text += "  (also broken)"
	}
	t.block(indent+mark(one.Verdict)+" ", verdictStyle(one.Verdict), text, plainStyle, fieldLines)
	if !detailed {
		return
	}
	inner := indent + "    "
	t.block(inner+padRight("of", labelWidth), dim, strings.Join(one.Requirements, ", "), plainStyle, fieldLines)
	if one.Reason != "" {
		t.block(inner+padRight("reason", labelWidth), dim, oneLine(one.Reason), plainStyle, fieldLines)
	}
	for _, failure := range one.Failures[:min(len(one.Failures), failuresShown)] {
		for _, part := range []struct{ name, text string }{{"wanted", failure.Wanted}, {"found", failure.Found}, {"where", failure.Where}} {
			if part.text != "" {
				t.block(inner+padRight(part.name, labelWidth), dim, part.text, plainStyle, fieldLines)
			}
		}
	}
	if more := len(one.Failures) - failuresShown; more > 0 {
		t.block(inner, plainStyle, fmt.Sprintf("… and %d more", more), dim, 1)
	}
}

// effectsShown is how many of the checks that nothing allows to fail are told in
// detail.
const effectsShown = 4

// failuresShown is how many mismatches of one check are told.
const failuresShown = 3

// pages counts what is proven, for each role.
func (t *selftestText) pages() {
	for _, role := range protocol.Roles() {
		t.pagesOf(role)
	}
}

func (t *selftestText) pagesOf(role string) {
	type row struct{ checks, proven int }
	rows := map[string]*row{}
	faults := map[string]map[string]bool{}
	for i := range t.selftest.Proofs {
		one := &t.selftest.Proofs[i]
		if cmp.Or(one.Role, protocol.ServerRole) != role {
			continue
		}
		if rows[one.Page] == nil {
			rows[one.Page], faults[one.Page] = &row{}, map[string]bool{}
		}
		rows[one.Page].checks++
		if len(one.Faults) > 0 {
			rows[one.Page].proven++
		}
		for _, id := range one.Faults {
			faults[one.Page][id] = true
		}
	}
	if len(rows) == 0 {
		return
	}
	t.gap()
	const first, column = 34, 10
	cell := func(text string) string { return strings.Repeat(" ", max(1, column-columns.StringWidth(text))) + text }
	t.line(t.paint(dim, padRight("  "+role, first)), t.paint(dim, cell("checks")+cell("proven")+cell("faults")))
	for _, page := range t.selftest.Pages {
		one := rows[page]
		if one == nil {
			continue
		}
		how := green
		if one.proven < one.checks {
			how = yellow
		}
		t.line(padRight("  "+page, first), cell(strconv.Itoa(one.checks)),
			t.paint(how, cell(strconv.Itoa(one.proven))), cell(strconv.Itoa(len(faults[page]))))
	}
}

// heading begins a section with a word for it, and what that means.
func (t *selftestText) heading(how style, word, says string) {
	t.gap()
	t.line(t.paint(how, word), "  "+says)
}

// accepted tells what cannot be proven.
func (t *selftestText) accepted() {
	first := true
	for _, one := range t.selftest.Proofs {
		if one.Accepted == "" || one.Problem != "" {
			continue
		}
		if first {
			t.heading(bold, "NOT PROVABLE", "on the reference")
			first = false
		}
		t.block("  – ", dim, one.Check, plainStyle, fieldLines)
		t.block("    ", dim, one.Accepted, dim, fieldLines)
	}
}

// slowShown is how many of the slowest are told.
const slowShown = 5

func (t *selftestText) slowest() {
	if len(t.selftest.Trials) <= 2*slowShown {
		return
	}
	all := slices.SortedStableFunc(
		slices.Values(t.selftest.Trials),
		func(a, b Trial) int { return cmp.Compare(b.Duration, a.Duration) },
	)
	words := make([]string, slowShown)
	for i, one := range all[:slowShown] {
		words[i] = one.ID + " " + duration(one.Duration)
	}
	t.gap()
	t.block("slowest  ", dim, strings.Join(words, ", "), dim, fieldLines)
}

// unproven tells what no fault has made fail.
func (t *selftestText) unproven() {
	all := t.selftest.Unproven()
	if len(all) == 0 {
		return
	}
	t.heading(boldRed, "UNPROVEN", "no fault that breaks what it verifies makes it fail")
	for _, role := range protocol.Roles() {
		t.unprovenOf(role, all)
	}
}

func (t *selftestText) unprovenOf(role string, all []Proof) {
	for _, page := range t.selftest.Pages {
		first := true
		for _, one := range all {
			if one.Page != page || cmp.Or(one.Role, protocol.ServerRole) != role {
				continue
			}
			if first {
				t.line("  ", t.paint(bold, role+" · "+page))
				first = false
			}
			t.block(
				"    "+padRight(one.Kind, labelWidth-2),
				dim,
				one.Check+"  ("+strings.Join(one.Requirements, ", ")+")",
				plainStyle,
				fieldLines,
			)
			if one.Accepted != "" {
				t.block(strings.Repeat(" ", 4+labelWidth-2), dim, one.Problem, dim, fieldLines)
			}
		}
	}
}

// wrong tells each trial that is not as it should be.
func (t *selftestText) wrong() {
	for _, one := range t.selftest.Wrong() {
		t.gap()
		word := strings.ToUpper(one.Problems[0].Kind) + "  "
		t.block(word, boldRed, one.ID, bold, 1)
		indent := strings.Repeat(" ", labelWidth)
		field := func(label, text string) {
			t.block(indent+padRight(label, labelWidth), dim, text, plainStyle, fieldLinesVerbose)
		}
		field("says", one.Says)
		field("at", one.Place)
		if len(one.Breaks) > 0 {
			field("breaks", strings.Join(one.Breaks, ", "))
		}
		field(
			"on",
			fmt.Sprintf(
				"%s · %s · %s, where it touches %s; %d ran",
				cmp.Or(one.Role, protocol.ServerRole),
				one.Revision,
				one.Transport,
				plural(one.Touched, "check"),
				one.Ran,
			),
		)
		for _, problem := range one.Problems {
			if problem.Kind == Accused || problem.Kind == Changed {
				continue // shown below, with what it found
			}
			field("wrong", problem.Kind+": "+problem.Says)
		}
		detailed := 0
		for _, effect := range one.Effects {
			wrong := effect.Allowed == "" && (effect.Red() || effect.Verdict == Inconclusive)
			if wrong {
				detailed++
			}
			t.effect(effect, indent, wrong && (t.verbose || detailed <= effectsShown))
			if wrong && t.verbose {
				wire := detail{sheet: &t.sheet, indent: 2*labelWidth - 4, verbose: true}
				wire.exchange(effect.Exchange, pointers(effect.Failures))
			}
		}
		field("rerun", one.Rerun)
	}
}

// drifted tells each trial that was wrong once, and not when it was tried again.
func (t *selftestText) drifted() {
	first := true
	for _, one := range t.selftest.Trials {
		if len(one.Drifted) == 0 {
			continue
		}
		if first {
			t.heading(boldYellow, "DRIFTED", "wrong at first, right when tried again")
			first = false
		}
		t.block("  ", dim, one.ID, plainStyle, fieldLines)
		for _, problem := range one.Drifted {
			t.block("    ", dim, problem.Kind+": "+problem.Says, dim, fieldLinesVerbose)
		}
	}
}

func (t *selftestText) errors() {
	for _, text := range t.selftest.Errors {
		t.gap()
		t.block("ERROR  ", boldRed, text, plainStyle, fieldLinesVerbose)
	}
}

func (t *selftestText) conclusion() {
	var faults, caught, variations, silences, inapplicable, repeated int
	for _, one := range t.selftest.Trials {
		if one.Repeated {
			repeated++
		}
		switch {
		case !one.Matched && len(one.Problems) == 0:
			inapplicable++
		case one.Kind == KindVariation:
			variations++
		case one.Kind == KindSilence:
			silences++
		default:
			faults++
			if one.Caught {
				caught++
			}
		}
	}
	proven := 0
	for _, one := range t.selftest.Proofs {
		if len(one.Faults) > 0 {
			proven++
		}
	}
	t.gap()
	if t.selftest.Interrupted != "" {
		t.block("Ended early: ", boldYellow, t.selftest.Interrupted, plainStyle, fieldLines)
	}
	if !t.selftest.Peer() &&
		slices.ContainsFunc(t.selftest.Cells, func(cell SelftestCell) bool { return len(cell.Red) > 0 }) {
		t.block(
			"Not proven: ",
			boldRed,
			"checks that must pass without a fault do not: fix them first",
			plainStyle,
			fieldLines,
		)
		return
	}
	word, how := "Proven", boldGreen
	checks := fmt.Sprintf("%d of %s proven", proven, plural(len(t.selftest.Proofs), "check"))
	if !t.selftest.Holds() {
		word, how = "Not proven", boldRed
	}
	if t.selftest.Shard != nil {
		word, checks = "Shard "+t.selftest.Shard.String(), "nothing proven yet"
	}
	text := fmt.Sprintf("%d of %s caught, %s, %s, %d wrong", caught, plural(faults, "fault"),
		plural(variations, "variation"), checks, len(t.selftest.Wrong()))
	if silences > 0 {
		text += ", " + plural(silences, "silence")
	}
	if repeated > 0 {
		text += fmt.Sprintf(", %d tried twice", repeated)
	}
	if inapplicable > 0 {
		text += fmt.Sprintf(", %d not applicable", inapplicable)
	}
	t.block(word+": ", how, text+" in "+duration(t.selftest.Duration), plainStyle, fieldLines)
}

func protectedText(cell *SelftestCell) string {
	if cell.Protected {
		return " · with authorization"
	}
	return ""
}
