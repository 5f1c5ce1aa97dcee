package baseline

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/reports"
)

// leastNamed is how many results a baseline of an SDK must name to be suggested: one alone
// may be broken in the same way by chance.
const leastNamed = 2

// Suggest tells a run which built-in baselines have some of what it found. It counts only
// entries that say what was found, and leaves out what the entries in use include.
func Suggest(run *reports.Run, inUse []reports.Deviation) {
	run.SDKs = nil
	for _, name := range SDKs() {
		included := func(one reports.Deviation) bool {
			return one.File == name || one.Included != nil && one.Included.Name == name
		}
		entries, err := Load(name)
		if err != nil || slices.ContainsFunc(inUse, included) {
			continue
		}
		if ids := named(run, entries); len(ids) >= leastNamed {
			run.SDKs = append(run.SDKs, reports.SDK{Name: name, Requirements: ids})
		}
	}
}

// named are the requirements of the results all of whose mismatches some entries name,
// sorted.
func named(run *reports.Run, entries []reports.Deviation) []string {
	var ids []string
	for i := range run.Cells {
		cell := &run.Cells[i]
		for j := range cell.Results {
			result := &cell.Results[j]
			if result.Verdict != reports.Failed && result.Verdict != reports.Warned || len(result.Failures) == 0 {
				continue
			}
			at := slices.IndexFunc(entries, func(one reports.Deviation) bool {
				return one.Only != nil && one.Covers(cell) && one.Names(result) &&
					!slices.ContainsFunc(
						result.Failures,
						func(failure reports.Failure) bool { return !one.Excuses(&failure) },
					)
			})
			if at >= 0 && !slices.Contains(ids, entries[at].Requirement) {
				ids = append(ids, entries[at].Requirement)
			}
		}
	}
	slices.SortFunc(ids, strings.Compare)
	return ids
}
