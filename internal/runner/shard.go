package runner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/reports"
)

// Shard is one of several parts of a run, counted from 1; zero means all of it.
type Shard struct{ Index, Count int }

// share keeps the checks of the shard, and leaves the others to other shards. Checks that
// look in one scenario stay together.
func (r *run) share() {
	shard := r.options.Shard
	if shard.Count == 0 {
		return
	}
	r.others = map[string]bool{}
	var plan []string
	hand := map[string]int{} // the shard, counted from 0, that has what is run together
	r.declared = slices.DeleteFunc(r.declared, func(check Declared) bool {
		name := r.planned[check.leg].Name()
		key := keyOf(name, append(slices.Clone(check.Group), check.Text))
		plan = append(plan, key)
		together := key
		if check.Scenario != nil {
			together = name + "\n" + check.Scenario.Name
		}
		if _, dealt := hand[together]; !dealt {
			hand[together] = len(hand) % shard.Count
		}
		if hand[together] == shard.Index-1 {
			return false
		}
		r.others[key] = true
		return true
	})
	for _, state := range r.legs {
		plan = append(plan, fmt.Sprint(state.report.Name(), state.all))
	}
	r.report.Shard = &reports.Shard{Index: shard.Index, Count: shard.Count, Plan: Fingerprint(plan)}
}

// Fingerprint is the same for the same lines, and for no others.
func Fingerprint(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Part is what one shard of a run has found, and the file that tells of it.
type Part struct {
	File string
	Run  *reports.Run
}

// Merge makes one run of all its shards, in any order. The error says which part is
// missing, is there twice, or is none of the same run.
func Merge(parts []Part) (*reports.Run, error) {
	if err := belongTogether(parts); err != nil {
		return nil, err
	}
	requirements, err := catalogue.Load(suiteRequirements())
	if err != nil {
		return nil, err
	}
	parts = slices.SortedFunc(slices.Values(parts), func(a, b Part) int { return cmp.Compare(a.Run.Shard.Index, b.Run.Shard.Index) })
	merged := *parts[0].Run
	merged.Shard, merged.Errors, merged.Interrupted = nil, nil, ""
	merged.Legs = slices.Clone(merged.Legs)
	ended := merged.Started
	for i, part := range parts {
		run := part.Run
		if run.Started.Before(merged.Started) {
			merged.Started = run.Started
		}
		if end := run.Started.Add(run.Duration.Duration()); end.After(ended) {
			ended = end
		}
		if run.Interrupted != "" && merged.Interrupted == "" {
			merged.Interrupted = fmt.Sprintf("shard %s: %s", run.Shard, run.Interrupted)
		}
		for _, failure := range run.Errors {
			merged.Errors = append(merged.Errors, fmt.Sprintf("shard %s: %s", run.Shard, failure))
		}
		for j := range run.Legs {
			if i > 0 {
				mergeLegs(&merged.Legs[j], &run.Legs[j])
			}
		}
	}
	merged.Duration = reports.SecondsOf(ended.Sub(merged.Started).Round(time.Microsecond))
	merged.Legs = slices.DeleteFunc(merged.Legs, func(leg reports.Leg) bool { return len(leg.Results) == 0 && merged.Filter != "" })
	for i := range merged.Legs {
		tellOnce(merged.Legs[i].Results, requirements)
	}
	merged.Sort()
	return &merged, nil
}

// belongTogether makes sure that parts are all those of one run.
func belongTogether(parts []Part) error {
	all := make([]Member, len(parts))
	for i, part := range parts {
		run := part.Run
		var legs []string
		for j := range run.Legs {
			legs = append(legs, run.Legs[j].Name())
		}
		all[i] = Member{File: part.File, Shard: run.Shard, Common: []Common{
			{"version of mcpconform", run.Tool.Version},
			{"role of the target", run.Target.Role},
			{"target", targetName(run)},
			{"--filter", run.Filter},
			{"--strict", strconv.FormatBool(run.Strict)},
			{"list of revisions and transports", strings.Join(legs, ", ")},
		}}
	}
	return WholeRun(all)
}

// Member is a shard and what it has in common with the others of its run.
type Member struct {
	File   string
	Shard  *reports.Shard // nil for what is none
	Common []Common
}

// Common is something that all shards of a run have in common.
type Common struct{ What, Is string }

func (m Member) common() []Common {
	all := append([]Common{{"number of shards", strconv.Itoa(m.Shard.Count)}}, m.Common...)
	return append(all, Common{"fingerprint of what is to be checked", m.Shard.Plan})
}

// WholeRun makes sure that shards are all those of one run. The error names the one
// that is missing, that is there twice, or that is of another run.
func WholeRun(shards []Member) error {
	first := shards[0]
	seen := map[int]string{}
	for _, one := range shards {
		if one.Shard == nil {
			return fmt.Errorf("%s is a whole run, and no shard of one: --shard makes these", one.File)
		}
		for i, common := range one.common() {
			if of := first.common()[i]; common != of {
				return fmt.Errorf("%s is of another run than %s: the %s is %q there and %q here", one.File, first.File, common.What, common.Is, of.Is)
			}
		}
		if other, twice := seen[one.Shard.Index]; twice {
			return fmt.Errorf("%s and %s are both shard %s", other, one.File, one.Shard)
		}
		seen[one.Shard.Index] = one.File
	}
	for index := 1; index <= first.Shard.Count; index++ {
		if seen[index] == "" {
			return fmt.Errorf("shard %d/%d is missing", index, first.Shard.Count)
		}
	}
	return nil
}

func targetName(run *reports.Run) string {
	return strings.TrimSpace(run.Target.Name + " " + run.Target.Version)
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
			return one.Kind == other.Kind && one.ID == other.ID && one.Text == other.Text && slices.Equal(one.Group, other.Group)
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
