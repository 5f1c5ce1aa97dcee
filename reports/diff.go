package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Diff is what has changed for a target from one run to another.
type Diff struct {
	Old, New  *Run
	Regressed []Change // fails now, and did not
	Mended    []Change // failed, and does no longer
	Added     []Change // checks and rules that the old run did not have
	Gone      []Change // that the new run does not have
	Other     []Change // any other change of verdict
	Notes     []string // a line each: what limits the comparison
}

// Change is what has become of one check or rule.
type Change struct {
	*Result          // as the new run has it; that of the old run where it is gone
	Was, Is  Verdict // "" where there was, or is, none
	Cells    []string
	revision string
}

// Compare finds what has changed. A deviation that a baseline names is broken like
// others: the target is compared, not the list. What is told with its cause is compared
// there alone.
func Compare(before, after *Run) *Diff {
	d := &Diff{Old: presentable(before), New: presentable(after)}
	d.limits()
	whole := before.Filter == after.Filter && before.Profile == after.Profile &&
		before.Requirements == after.Requirements && before.Draft.String() == after.Draft.String() && before.Shard == nil && after.Shard == nil
	for i := range d.New.Cells {
		cell := &d.New.Cells[i]
		if older := d.Old.cell(cell); older != nil {
			d.compare(older, cell, whole)
			continue
		}
		d.Notes = append(d.Notes, "only the new run has "+cell.Name())
	}
	for i := range d.Old.Cells {
		if cell := &d.Old.Cells[i]; d.New.cell(cell) == nil {
			d.Notes = append(d.Notes, "only the old run has "+cell.Name())
		}
	}
	return d
}

// Worse tells whether anything fails that did not.
func (d *Diff) Worse() bool { return len(d.Regressed) > 0 }

// cell finds the part of a run that has the role, revision and transport of another.
func (r *Run) cell(like *Cell) *Cell {
	for i := range r.Cells {
		if cell := &r.Cells[i]; cell.Role == like.Role && cell.Revision == like.Revision &&
			cell.Transport == like.Transport {
			return cell
		}
	}
	return nil
}

// limits notes what keeps the runs from being compared in full.
func (d *Diff) limits() {
	for _, one := range []struct {
		name string
		run  *Run
	}{{"old", d.Old}, {"new", d.New}} {
		if limits := one.run.limits(); len(limits) > 0 {
			d.Notes = append(d.Notes, "the "+one.name+" run: "+strings.Join(limits, ", "))
		}
	}
	if before, after := d.Old.Tool.Version, d.New.Tool.Version; before != after {
		d.Notes = append(d.Notes, "mcpconform "+before+" then, "+after+" now")
	}
}

func (d *Diff) compare(before, after *Cell, whole bool) {
	d.ends(before, after)
	type key struct{ kind, id, group, text string }
	keyOf := func(r *Result) key { return key{r.Kind, r.ID, strings.Join(r.Group, "\n"), r.Text} }
	older := map[key][]*Result{}
	for i := range before.Results {
		result := &before.Results[i]
		older[keyOf(result)] = append(older[keyOf(result)], result)
	}
	for i := range after.Results {
		result := &after.Results[i]
		same := older[keyOf(result)]
		if len(same) == 0 {
			if whole {
				d.add(&d.Added, Change{Result: result, Is: result.Verdict}, after)
			}
			continue
		}
		older[keyOf(result)] = same[1:]
		if !before.ToldElsewhere(same[0]) && !after.ToldElsewhere(result) {
			d.verdicts(same[0], result, after)
		}
	}
	for i := range before.Results {
		result := &before.Results[i]
		if left := older[keyOf(result)]; whole && slices.Contains(left, result) {
			d.add(&d.Gone, Change{Result: result, Was: result.Verdict}, before)
		}
	}
}

// ends compares cells as a whole.
func (d *Diff) ends(before, after *Cell) {
	whole := func(text string) *Result {
		return &Result{ID: after.Revision, Text: text, Failures: []Failure{{Found: cmp.Or(after.Note, text)}}}
	}
	switch {
	case before.Spoken && !after.Spoken:
		d.add(
			&d.Regressed,
			Change{Result: whole("speaks " + after.Revision + " over " + after.Transport), Was: Passed, Is: Failed},
			after,
		)
	case before.Ended == nil && after.Ended != nil:
		result := whole("runs until the last check")
		result.Failures[0].Found = after.Ended.Reason
		d.add(&d.Regressed, Change{Result: result, Was: Passed, Is: Failed}, after)
	}
}

// verdicts compares what two runs found of the same check or rule.
func (d *Diff) verdicts(before, after *Result, cell *Cell) {
	change := Change{Result: after, Was: before.Verdict, Is: after.Verdict}
	was, is := change.Was, change.Is
	if before.Known != nil {
		was = before.Known.Was
	}
	if after.Known != nil {
		is = after.Known.Was
	}
	broken := func(v Verdict) bool { return v == Failed || v == Warned }
	switch {
	case change.Was == change.Is:
	case is == Failed && was != Failed,
		is == Warned && !broken(was),
		after.Fails(d.New.Strict) && !before.Fails(d.New.Strict) && !broken(was):
		d.add(&d.Regressed, change, cell)
	case is == Passed && broken(was), is == Warned && was == Failed:
		d.add(&d.Mended, change, cell)
	default:
		d.add(&d.Other, change, cell)
	}
}

// add puts a change to those of a kind: the same on several cells is one.
func (d *Diff) add(to *[]Change, change Change, cell *Cell) {
	for i := range *to {
		known := &(*to)[i]
		if known.ID == change.ID && known.Text == change.Text && known.Was == change.Was && known.Is == change.Is &&
			slices.Equal(known.Failures, change.Failures) {
			if !slices.Contains(known.Cells, cell.Name()) {
				known.Cells = append(known.Cells, cell.Name())
			}
			return
		}
	}
	change.Cells, change.revision = []string{cell.Name()}, cell.Revision
	*to = append(*to, change)
}

// ToldElsewhere tells whether a result is skipped because another one tells of it: what
// it is about is broken.
func (l *Cell) ToldElsewhere(result *Result) bool {
	return result.Verdict == Skipped && slices.ContainsFunc(l.Results, func(one Result) bool {
		broken := one.Verdict == Failed || one.Verdict == Warned || one.Verdict == Known
		return slices.Contains(one.Follows, result.ID) || broken && one.ID == result.ID
	})
}

// String writes a change of verdict: "passed → failed".
func (c *Change) String() string {
	switch {
	case c.Was == "":
		return string(c.Is)
	case c.Is == "":
		return string(c.Was)
	}
	return string(c.Was) + " → " + string(c.Is)
}

// place is the requirement, the change, and where it showed.
func (c *Change) place() string {
	words := []string{oneLine(c.ID), c.level(), c.String() + " at " + oneLine(strings.Join(c.Cells, ", "))}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), "  ")
}

// level is that of the first requirement.
func (c *Change) level() string {
	if len(c.Requirements) == 0 {
		return ""
	}
	return c.Requirements[0].PlainLevel()
}

// Conclusion counts the changes in one line.
func (d *Diff) Conclusion() string {
	return fmt.Sprintf("%s, %d fixed, %d new, %d gone, %d otherwise changed",
		plural(len(d.Regressed), "regression"), len(d.Mended), len(d.Added), len(d.Gone), len(d.Other))
}

const (
	// changesShown bounds each list of changes in text for people.
	changesShown = 40
	// changeWidth is the column at which the text of a change begins.
	changeWidth = 11
)

// Terminal writes the changes as text for people, what is worse with its evidence.
func (d *Diff) Terminal(w io.Writer, o TerminalOptions) error {
	t := &terminal{
		sheet:   sheet{width: max(cmp.Or(o.Width, defaultWidth), leastWidth), color: o.Color},
		run:     d.New,
		verbose: o.Verbose,
	}
	if !o.Quiet {
		for _, one := range []struct {
			word string
			run  *Run
		}{{"OLD", d.Old}, {"NEW", d.New}} {
			t.block(padRight(one.word, changeWidth), dim, one.run.title(), plainStyle, 2)
		}
		for _, note := range d.Notes {
			t.block(padRight("NOTE", changeWidth), boldYellow, oneLine(note), plainStyle, fieldLines)
		}
		t.changes("REGRESSED", boldRed, d.Regressed)
		t.changes("MENDED", boldGreen, d.Mended)
		t.changes("NEW", bold, d.Added)
		t.changes("GONE", bold, d.Gone)
		t.changes("CHANGED", boldCyan, d.Other)
	}
	t.gap()
	how := boldGreen
	if d.Worse() {
		how = boldRed
	}
	t.block("", plainStyle, d.Conclusion(), how, fieldLines)
	_, err := io.WriteString(w, t.String())
	return err
}

// title says in one line what a run looked at, and when.
func (r *Run) title() string {
	name := strings.TrimSpace(cmp.Or(r.Target.Name, "the target") + " " + r.Target.Version)
	return oneLine(fmt.Sprintf("%s, %s: %s", name, r.Started.UTC().Format("2006-01-02 15:04"), r.Counts()))
}

// changes lists those of a kind: of what is worse all that shows it, of others a line.
func (t *terminal) changes(word string, how style, all []Change) {
	for i := range all {
		c := &all[i]
		if i == changesShown && len(all) > changesShown+1 {
			t.block(strings.Repeat(" ", changeWidth), plainStyle, fmt.Sprintf("and %d more", len(all)-i), dim, 1)
			return
		}
		if i == 0 || word == "REGRESSED" {
			t.gap()
		}
		t.block(padRight(word, changeWidth), how, oneLine(c.Text), bold, fieldLines)
		indent := strings.Repeat(" ", changeWidth)
		t.block(indent, plainStyle, c.place(), dim, fieldLines)
		if word == "REGRESSED" {
			d := detail{sheet: &t.sheet, indent: changeWidth, verbose: t.verbose}
			d.field("reason", c.Reason, fieldLines)
			d.write(c.Result, c.revision)
		}
	}
}
