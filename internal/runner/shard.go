package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// share keeps the checks of the shard, and leaves the others to other shards. Checks that
// look in one scenario stay together.
func (r *run) share() {
	dealer := r.options.Shard.Dealer()
	r.others = map[string]bool{}
	r.declared = slices.DeleteFunc(r.declared, func(check Declared) bool {
		name := r.planned[check.leg].Name()
		key := keyOf(name, check.Check.Name())
		together := key
		if check.Scenario != nil {
			together = name + "\n" + check.Scenario.Name
		}
		if dealer.Mine(key, together) {
			return false
		}
		r.others[key] = true
		return true
	})
	for _, state := range r.legs {
		dealer.Note(fmt.Sprint(state.report.Name(), state.all))
	}
	r.report.Shard = dealer.Report()
}

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
	merged.Legs = slices.Clone(merged.Legs)
	for _, run := range runs[1:] {
		for i := range run.Legs {
			mergeLegs(&merged.Legs[i], &run.Legs[i])
		}
	}
	merged.Legs = slices.DeleteFunc(
		merged.Legs,
		func(leg reports.Leg) bool { return len(leg.Results) == 0 && merged.Selected() },
	)
	for i := range merged.Legs {
		tellOnce(merged.Legs[i].Results, requirements)
	}
	merged.Sort()
	return &merged, nil
}

func headOf(run *reports.Run) shard.Head {
	legs := make([]string, len(run.Legs))
	for i := range run.Legs {
		legs[i] = run.Legs[i].Name()
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
			{What: "--strict", Is: strconv.FormatBool(run.Strict)},
			{What: "list of revisions and transports", Is: strings.Join(legs, ", ")},
		},
	}
}

// mergeLegs adds to what was found on a leg what another shard has found there.
func mergeLegs(into, from *reports.Leg) {
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
		case len(failures) < maxBreaches:
			failures = append(failures, failure)
		}
	}
	duration := into.Duration + from.Duration
	if slices.Index(weights, from.Verdict) > slices.Index(weights, into.Verdict) {
		*into = *from
	}
	into.Failures, into.Duration = failures, duration
}

// tellOnce makes what was found the results of a run: what has one cause is told once.
func tellOnce(results []reports.Result, requirements *catalogue.Catalogue) {
	for i := range results {
		count(&results[i])
	}
	oneCauseOneFailure(results, requirements)
}

// count tells of a rule how often it was broken, and in how many connections.
func count(result *reports.Result) {
	if result.Kind != reports.KindRule {
		return
	}
	result.Failures = slices.Clone(result.Failures)
	for i := range result.Failures {
		failure := &result.Failures[i]
		if len(result.Failures) > 1 && failure.Occurrences > 1 {
			failure.Found += fmt.Sprintf(" (%d times)", failure.Occurrences)
		}
		result.Occurrences += failure.Occurrences
		result.Connections = max(result.Connections, failure.Connections)
		failure.Cause, failure.Occurrences, failure.Connections = "", 0, 0
	}
}
