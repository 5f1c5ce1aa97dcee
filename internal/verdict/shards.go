package verdict

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// Merge makes one run of all its shards, in any order. The error says which part is
// missing, is there twice, or is none of the same run.
func Merge(parts []shard.Part[reports.Run]) (*reports.Run, error) {
	runs, whole, err := shard.Gather(parts, headOf)
	if err != nil {
		return nil, err
	}
	requirements, err := suites.Catalogue()
	if err != nil {
		return nil, err
	}
	merged := *runs[0]
	merged.Shard, merged.Started, merged.Duration, merged.Interrupted, merged.Errors = nil, whole.Started, whole.Duration, whole.Interrupted, whole.Errors
	merged.Cells = slices.Clone(merged.Cells)
	for _, run := range runs[1:] {
		for i := range run.Cells {
			mergeCells(&merged.Cells[i], &run.Cells[i])
		}
	}
	merged.Cells = slices.DeleteFunc(
		merged.Cells,
		func(cell reports.Cell) bool { return len(cell.Results) == 0 && merged.Selected() },
	)
	for i := range merged.Cells {
		TellOnce(merged.Cells[i].Results, requirements)
	}
	merged.Sort()
	return &merged, nil
}

func headOf(run *reports.Run) shard.Head {
	cells := make([]string, len(run.Cells))
	for i := range run.Cells {
		cells[i] = run.Cells[i].Name()
	}
	return shard.Head{
		Shard:       run.Shard,
		Started:     run.Started,
		Duration:    run.Duration,
		Interrupted: run.Interrupted,
		Errors:      run.Errors,
		Common: []shard.Common{
			{What: "version of mcpconform", Is: run.Tool.Version},
			{What: "role of the target", Is: run.Target.Role},
			{What: "target", Is: strings.TrimSpace(run.Target.Name + " " + run.Target.Version)},
			{What: "--profile", Is: run.Profile},
			{What: "--filter", Is: run.Filter},
			{What: "set of requirements", Is: run.Requirements},
			{What: "draft", Is: run.Draft.String()},
			{What: "--strict", Is: strconv.FormatBool(run.Strict)},
			{What: "list of revisions and transports", Is: strings.Join(cells, ", ")},
		},
	}
}

// mergeCells adds to what was found on a cell what another shard has found there.
func mergeCells(into, from *reports.Cell) {
	for _, text := range from.Notices {
		if !slices.Contains(into.Notices, text) {
			into.Notices = append(into.Notices, text)
		}
	}
	into.Ended = cmp.Or(into.Ended, from.Ended)
	into.Duration += from.Duration
	into.Results = slices.Clone(into.Results)
	for i := range from.Results {
		other := &from.Results[i]
		at := slices.IndexFunc(into.Results, func(one reports.Result) bool {
			return one.Kind == other.Kind && one.ID == other.ID && one.Text == other.Text &&
				slices.Equal(one.Group, other.Group)
		})
		if at < 0 {
			into.Results = append(into.Results, *other)
		} else {
			mergeResults(&into.Results[at], other)
		}
	}
}

// weights order the verdicts: of two about the same, the weightier one counts.
var weights = []reports.Verdict{reports.Skipped, reports.Inconclusive, reports.Passed, reports.Warned, reports.Failed}

// mergeResults makes one result of what two shards have found of the same rule.
func mergeResults(into, from *reports.Result) {
	failures := slices.Clone(into.Failures)
	for _, failure := range from.Failures {
		at := slices.IndexFunc(failures, func(one reports.Failure) bool { return one.Cause == failure.Cause })
		switch {
		case at >= 0:
			failures[at].Occurrences += failure.Occurrences
			failures[at].Connections += failure.Connections
		case len(failures) < MaxBreaches:
			failures = append(failures, failure)
		}
	}
	duration := into.Duration + from.Duration
	if slices.Index(weights, from.Verdict) > slices.Index(weights, into.Verdict) {
		*into = *from
	}
	into.Failures, into.Duration = failures, duration
}
