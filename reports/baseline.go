package reports

import (
	"fmt"
	"slices"
	"strings"
)

// Baseline is what a target is known to break. Package baseline reads the file, decides
// which results it names and what of it no longer holds.
type Baseline struct {
	Entries  []Deviation `json:"entries"`
	Outdated []Outdated  `json:"outdated,omitempty"` // fails the run
}

// Deviation is an entry of a baseline. It has a requirement, a check, or both.
type Deviation struct {
	Requirement string     `json:"requirement,omitempty"` // id of the requirement that is broken
	Check       string     `json:"check,omitempty"`       // text of the one check or rule; "" for each of the requirement
	Reason      string     `json:"reason,omitempty"`      // why it is known and not corrected
	Says        string     `json:"says,omitempty"`        // the sentence of the specification
	Issue       string     `json:"issue,omitempty"`       // where it is reported
	Role        string     `json:"role,omitempty"`        // of the target; "" for any
	Only        []Found    `json:"only,omitempty"`        // each mismatch is like one of these; nil for any
	Revisions   []string   `json:"revisions,omitempty"`   // nil for any
	Transports  []string   `json:"transports,omitempty"`  // nil for any
	Until       string     `json:"until,omitempty"`       // the last day on which it counts: "2026-12-31"
	File        string     `json:"file"`
	Line        int        `json:"line"`
	Source      string     `json:"source,omitempty"`   // what stands on that line
	Included    *Inclusion `json:"included,omitempty"` // nil for what the baseline itself has
}

// Name is what the deviation is about.
func (d *Deviation) Name() string {
	switch {
	case d.Requirement == "":
		return fmt.Sprintf("%q", d.Check)
	case d.Check != "":
		return fmt.Sprintf("%s, %q,", d.Requirement, d.Check)
	}
	return d.Requirement
}

// Place is where the deviation is written: "baseline.yaml:12".
func (d *Deviation) Place() string { return fmt.Sprintf("%s:%d", d.File, d.Line) }

// Covers tells whether the deviation is about results of a cell.
func (d *Deviation) Covers(cell *Cell) bool {
	return (d.Role == "" || d.Role == cell.Role) &&
		(d.Revisions == nil || slices.Contains(d.Revisions, cell.Revision)) &&
		(d.Transports == nil || slices.Contains(d.Transports, cell.Transport))
}

// Names tells whether the deviation is about a check or rule.
func (d *Deviation) Names(result *Result) bool {
	return (d.Check == "" || d.Check == result.Text) &&
		(d.Requirement == "" || slices.ContainsFunc(result.Requirements, func(one Requirement) bool { return one.ID == d.Requirement }))
}

// Excuses tells whether a mismatch is what the deviation names.
func (d *Deviation) Excuses(failure *Failure) bool {
	return d.Only == nil || slices.ContainsFunc(d.Only, func(one Found) bool { return one.matches(failure) })
}

// ExcusesAny tells whether it names some mismatch of a result.
func (d *Deviation) ExcusesAny(result *Result) bool {
	return d.Only == nil || slices.ContainsFunc(result.Failures, func(one Failure) bool { return d.Excuses(&one) })
}

// Found is what a mismatch is like. In texts a * stands for any characters.
type Found struct {
	Code   int64  `json:"code,omitzero"`    // of the JSON-RPC error; 0 for any, and for none
	Where  string `json:"where,omitempty"`  // "/result/tools/*/name"; a * is one step of a JSON pointer; "" for anywhere
	Found  string `json:"found,omitempty"`  // what stands there; "" for anything
	Method string `json:"method,omitempty"` // that it belongs to; "" for any
}

func (f Found) matches(failure *Failure) bool {
	return (f.Code == 0 || f.Code == failure.Code) &&
		(f.Where == "" || like(f.Where, failure.Where, "/")) &&
		(f.Found == "" || like(f.Found, failure.Found, "")) &&
		(f.Method == "" || f.Method == failure.Method)
}

// like tells whether a text is as a pattern says, in which a * stands for any characters
// but those excluded.
func like(pattern, text, excluded string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	text, starts := strings.CutPrefix(text, first)
	if !starts || !more {
		return starts && text == ""
	}
	parts := strings.Split(rest, "*")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		before, after, there := strings.Cut(text, part)
		if !there || excluded != "" && strings.Contains(before, excluded) {
			return false
		}
		text = after
	}
	before, ends := strings.CutSuffix(text, parts[last])
	return ends && (excluded == "" || !strings.Contains(before, excluded))
}

// Inclusion is the line of a baseline that includes another one.
type Inclusion struct {
	Name string `json:"name"` // what is included, as it is written
	File string `json:"file"` // that includes it
	Line int    `json:"line"`
}

// Why something in a baseline is outdated.
const (
	EntryStale     = "stale"     // passes now
	EntryUnmatched = "unmatched" // names nothing that there is
	EntryExpired   = "expired"   // past its date
)

// Outdated is what no longer holds in a baseline.
type Outdated struct {
	Why  string `json:"why"`
	File string `json:"file"`
	Line int    `json:"line"`
	Says string `json:"says"` // one line: what no longer holds
	Mend string `json:"mend"` // one line: what to remove, or to do instead
}

// Excuse is why a result that failed or warned fails no run.
type Excuse struct {
	Was    Verdict `json:"was"` // Failed or Warned
	Reason string  `json:"reason,omitempty"`
	Issue  string  `json:"issue,omitempty"` // where it is reported
	At     string  `json:"at"`              // "baseline.yaml:12"
}

// outdated is what no longer holds; of no baseline, nothing.
func (b *Baseline) outdated() []Outdated {
	if b == nil {
		return nil
	}
	return b.Outdated
}

// known writes the deviations that the baseline names.
func (t *terminal) known() {
	for _, f := range t.findings(Known) {
		t.gap()
		t.headline(f, padRight("KNOWN", labelWidth), boldCyan)
		d := detail{sheet: &t.sheet, indent: labelWidth, verbose: t.verbose, brief: true}
		if f.Known == nil {
			continue
		}
		d.field("reason", f.Known.Reason, fieldLines)
		d.field("issue", f.Known.Issue, fieldLines)
		d.copied("named", f.Known.At)
		if len(t.run.Cells) > 1 {
			d.on = strings.Join(f.cells, ", ")
		}
		if t.verbose {
			d.write(f.Result, f.revision)
		} else {
			d.field("on", d.on, fieldLines)
		}
	}
}

// outdated writes what no longer holds in the baseline.
func (t *terminal) outdated() {
	const width = 11 // of the longest word and two spaces
	for i, one := range t.run.Baseline.outdated() {
		if i == 0 {
			t.gap()
		}
		t.block(
			padRight(strings.ToUpper(one.Why), width),
			boldRed,
			oneLine(fmt.Sprintf("%s:%d: %s", one.File, one.Line, one.Says)),
			bold,
			fieldLines,
		)
		t.block(padRight("", width), plainStyle, oneLine(one.Mend), plainStyle, fieldLines)
	}
}
