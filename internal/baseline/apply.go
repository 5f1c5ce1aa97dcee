package baseline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/reports"
)

// Declared looks up the checks and rules that there are, including those that a run has
// not chosen.
type Declared interface {
	// Requirement tells whether the catalogue has a requirement.
	Requirement(id string) bool
	// Count is how many checks and rules there are for a role at a revision over a
	// transport that an entry names.
	Count(entry *reports.Deviation, cell *reports.Cell) int
}

// Apply tells a run what is known of its target: results that an entry names become
// known, and the run gets a list of the entries that no longer hold. What was applied
// before is undone first. What the run cannot show is not outdated: what was skipped or
// inconclusive, what a filter or another shard has, and anything in a run that did not
// come to its end.
func Apply(run *reports.Run, entries []reports.Deviation, declared Declared) {
	Lift(run)
	run.Baseline = &reports.Baseline{Entries: entries}
	if run.Baseline.Entries == nil {
		run.Baseline.Entries = []reports.Deviation{}
	}
	for _, one := range judge(run, entries, declared) {
		run.Baseline.Outdated = append(run.Baseline.Outdated, one.Outdated)
	}
	for i := range run.Cells {
		cell := &run.Cells[i]
		for j := range cell.Results {
			excuse(run, cell, &cell.Results[j], entries)
		}
	}
}

// excuse makes a result known of which each mismatch is named by an entry. Where some are
// and others are not, those say so.
func excuse(run *reports.Run, cell *reports.Cell, result *reports.Result, entries []reports.Deviation) {
	if result.Verdict != reports.Failed && result.Verdict != reports.Warned {
		return
	}
	naming := slices.DeleteFunc(slices.Clone(entries), func(one reports.Deviation) bool {
		return expired(&one, run) || !one.Covers(cell) || !one.Names(result)
	})
	if len(naming) == 0 {
		return
	}
	known := true
	for i := range result.Failures {
		failure := &result.Failures[i]
		if !slices.ContainsFunc(naming, func(one reports.Deviation) bool { return one.Excuses(failure) }) {
			known = false
			failure.Hint = cmp.Or(failure.Hint, unexcused(&naming[0]))
		}
	}
	if !known {
		return
	}
	by := naming[max(0, slices.IndexFunc(naming, func(one reports.Deviation) bool { return one.ExcusesAny(result) }))]
	result.Known = &reports.Excuse{Was: result.Verdict, Reason: by.Reason, Issue: by.Issue, At: by.Place()}
	result.Verdict = reports.Known
}

// unexcused is what a mismatch says that an entry for its requirement does not name.
func unexcused(entry *reports.Deviation) string {
	return entry.Place() + " names other mismatches of this requirement, not this one"
}

// Lift undoes Apply, except that the entries stay to be applied again.
func Lift(run *reports.Run) {
	said := map[string]bool{}
	if run.Baseline != nil {
		for i := range run.Baseline.Entries {
			said[unexcused(&run.Baseline.Entries[i])] = true
		}
		run.Baseline = &reports.Baseline{Entries: run.Baseline.Entries}
	}
	for i := range run.Cells {
		for j := range run.Cells[i].Results {
			result := &run.Cells[i].Results[j]
			if result.Known != nil {
				result.Verdict, result.Known = result.Known.Was, nil
			}
			for k := range result.Failures {
				if failure := &result.Failures[k]; said[failure.Hint] {
					failure.Hint = ""
				}
			}
		}
	}
}

// expired tells whether the last day of an entry was over when the run began.
func expired(entry *reports.Deviation, run *reports.Run) bool {
	return entry.Until != "" && entry.Until < run.Started.UTC().Format(time.DateOnly)
}

// outdated is what no longer holds of an entry: all of it, or one value of a list.
type outdated struct {
	reports.Outdated
	entry      int                // in the list; -1 for an inclusion
	key, value string             // of a list; "" for all of the entry
	inclusion  *reports.Inclusion // that excuses nothing
}

// seen counts what a run shows of an entry.
type seen struct {
	broken, passed, skipped int
	passedOn                []string // names of cells
	open                    bool     // more could have been seen
	anywhere                bool     // the run has a cell that the entry is about
}

func (s seen) stale() bool { return s.broken == 0 && s.passed > 0 && !s.open }

// mend is what to do about a stale entry: one that names no revisions may mean others.
func (s seen) mend(entry *reports.Deviation, remove string) string {
	if entry.Revisions == nil {
		return remove + "; or name the revisions at which it fails"
	}
	return remove
}

func (s seen) unmatched() bool {
	return s.anywhere && !s.open && s.broken+s.passed+s.skipped == 0
}

// judge finds what no longer holds, in the order of the entries.
func judge(run *reports.Run, entries []reports.Deviation, declared Declared) []outdated {
	var all []outdated
	of := map[reports.Inclusion][]seen{}
	var inclusions []reports.Inclusion
	for i := range entries {
		entry := &entries[i]
		whole := look(run, entry, declared)
		add := func(why, key, value, says, mend string) {
			all = append(all, outdated{
				Outdated: reports.Outdated{
					Why:  why,
					File: entry.File,
					Line: entry.Line,
					Says: entry.Name() + " " + says,
					Mend: mend,
				},
				entry: i,
				key:   key,
				value: value,
			})
		}
		remove := "remove the entry: " + entry.Source
		if entry.Included != nil {
			if !slices.Contains(inclusions, *entry.Included) {
				inclusions = append(inclusions, *entry.Included)
			}
			of[*entry.Included] = append(of[*entry.Included], whole)
		}
		switch {
		case entry.Requirement != "" && !declared.Requirement(entry.Requirement):
			add(reports.EntryUnmatched, "", "", "is not a requirement; mcpconform list shows them", remove)
		case expired(entry, run):
			add(
				reports.EntryExpired,
				"",
				"",
				"was known until "+entry.Until,
				"remove the entry, or give it another date: "+entry.Source,
			)
		case entry.Included != nil: // others use it, too
		case whole.unmatched():
			add(reports.EntryUnmatched, "", "", "is verified by no check of a "+run.Target.Role+" there", remove)
		case whole.stale():
			add(
				reports.EntryStale,
				"",
				"",
				"passes now at "+strings.Join(whole.passedOn, ", "),
				whole.mend(entry, remove),
			)
		default:
			parts(run, entry, declared, add)
		}
	}
	for _, inclusion := range inclusions {
		if excusesNothing(of[inclusion]) {
			all = append(all, outdated{entry: -1, inclusion: &inclusion, Outdated: reports.Outdated{
				Why: reports.EntryStale, File: inclusion.File, Line: inclusion.Line,
				Says: inclusion.Name + " matches no failure here", Mend: "remove it from include",
			}})
		}
	}
	return all
}

// excusesNothing tells whether everything that is included passes, as far as it applies.
func excusesNothing(all []seen) bool {
	passed := 0
	for _, one := range all {
		if one.broken > 0 || one.open || !one.anywhere {
			return false
		}
		passed += one.passed
	}
	return passed > 0
}

// parts looks at each revision and transport of an entry that names several.
func parts(
	run *reports.Run,
	entry *reports.Deviation,
	declared Declared,
	add func(why, key, value, says, mend string),
) {
	for _, list := range []struct {
		key    string
		values []string
		narrow func(d *reports.Deviation, value []string)
	}{
		{"revisions", entry.Revisions, func(d *reports.Deviation, value []string) { d.Revisions = value }},
		{"transports", entry.Transports, func(d *reports.Deviation, value []string) { d.Transports = value }},
	} {
		if len(list.values) < 2 {
			continue
		}
		for _, value := range list.values {
			part := *entry
			list.narrow(&part, []string{value})
			if look(run, &part, declared).stale() {
				add(reports.EntryStale, list.key, value, "passes now at "+value,
					fmt.Sprintf("remove %s from %s of the entry: %s", value, list.key, entry.Source))
			}
		}
	}
}

// look finds what a run shows of an entry.
func look(run *reports.Run, entry *reports.Deviation, declared Declared) seen {
	found := seen{open: run.Shard != nil || run.Recorded != nil || run.Interrupted != "" || len(run.Errors) > 0}
	for i := range run.Cells {
		cell := &run.Cells[i]
		if !cell.Spoken || !entry.Covers(cell) {
			continue
		}
		found.anywhere = true
		found.open = found.open || cell.Ended != nil
		named := 0
		for j := range cell.Results {
			if result := &cell.Results[j]; entry.Names(result) {
				named++
				found.add(cell, result, entry, partial(run, result))
			}
		}
		if (run.Selected() || run.Requirements != "") && named < declared.Count(entry, cell) {
			found.open = true
		}
	}
	return found
}

// partial tells whether a rule judged only what the checks of a filter provoked: others
// may provoke more. All checks run where the filter names the requirement of a rule.
func partial(run *reports.Run, result *reports.Result) bool {
	if !run.Selected() || result.Kind != reports.KindRule {
		return false
	}
	chosen, err := filter.Parse(run.Filter)
	return err != nil ||
		!slices.ContainsFunc(result.Requirements, func(one reports.Requirement) bool { return chosen.Names(one.ID) })
}

func (s *seen) add(cell *reports.Cell, result *reports.Result, entry *reports.Deviation, partial bool) {
	switch result.Verdict {
	case reports.Failed, reports.Warned, reports.Known:
		if entry.ExcusesAny(result) {
			s.broken++
		} else {
			s.open = true // by what was found instead, this one may not have shown
		}
	case reports.Passed:
		s.passed++
		s.open = s.open || partial
		if name := cell.Name(); !slices.Contains(s.passedOn, name) {
			s.passedOn = append(s.passedOn, name)
		}
	case reports.Inconclusive:
		s.open = true
	case reports.Skipped:
		s.skipped++
		// It is broken, and told with its cause.
		s.open = s.open || cell.ToldElsewhere(result)
	}
}
