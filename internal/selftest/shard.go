package selftest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reports"
)

// share keeps the layers of the shard, and leaves the others to other shards. Those of
// one fault stay together; nil when all are for this selftest.
func (t *test) share() *reports.Shard {
	shard := t.options.Shard
	if shard.Count == 0 {
		return nil
	}
	var plan []string
	place := map[string]int{}
	t.layers = slices.DeleteFunc(t.layers, func(one layer) bool {
		plan = append(plan, one.ID+" "+one.leg.Name())
		if _, known := place[one.ID]; !known {
			place[one.ID] = len(place)
		}
		return place[one.ID]%shard.Count != shard.Index-1
	})
	return &reports.Shard{Index: shard.Index, Count: shard.Count, Plan: runner.Fingerprint(plan)}
}

// Part is what one shard of a selftest has found, and the file that tells of it.
type Part struct {
	File     string
	Selftest *reports.Selftest
}

// Merge makes one selftest of all its shards, in any order. The error says which part is
// missing, is there twice, or is none of the same selftest.
func Merge(parts []Part) (*reports.Selftest, error) {
	members := make([]runner.Member, len(parts))
	for i, part := range parts {
		found := part.Selftest
		members[i] = runner.Member{File: part.File, Shard: found.Shard, Common: []runner.Common{
			{What: "version of mcpconform", Is: found.Tool.Version}, {What: "--role", Is: found.Role}, {What: "--filter", Is: found.Filter},
		}}
	}
	if err := runner.WholeRun(members); err != nil {
		return nil, err
	}
	parts = slices.SortedFunc(slices.Values(parts), func(a, b Part) int { return cmp.Compare(a.Selftest.Shard.Index, b.Selftest.Shard.Index) })
	merged := *parts[0].Selftest
	merged.Shard, merged.Trials, merged.Errors, merged.Interrupted = nil, nil, nil, ""
	merged.Legs = slices.Clone(merged.Legs)
	ended := merged.Started
	for _, part := range parts {
		found := part.Selftest
		if found.Started.Before(merged.Started) {
			merged.Started = found.Started
		}
		if end := found.Started.Add(found.Duration.Duration()); end.After(ended) {
			ended = end
		}
		merged.Trials = append(merged.Trials, found.Trials...)
		if found.Interrupted != "" && merged.Interrupted == "" {
			merged.Interrupted = fmt.Sprintf("shard %s: %s", found.Shard, found.Interrupted)
		}
		for _, failure := range found.Errors {
			merged.Errors = append(merged.Errors, fmt.Sprintf("shard %s: %s", found.Shard, failure))
		}
		for _, leg := range found.Legs {
			mergeLeg(&merged, leg)
		}
	}
	merged.Duration = reports.SecondsOf(ended.Sub(merged.Started).Round(time.Microsecond))
	t := &test{
		options: Options{Role: merged.Role, Filter: merged.Filter, Peer: Peer{URL: merged.Target.URL, Command: target.Command{Args: merged.Target.Command}}},
		report:  &merged,
	}
	if err := t.declare(); err != nil {
		return nil, err
	}
	t.conclude()
	return &merged, nil
}

// mergeLeg adds how the target fares on a leg without a fault: badly, if it did so once.
func mergeLeg(into *reports.Selftest, leg reports.SelftestLeg) {
	at := slices.IndexFunc(into.Legs, func(one reports.SelftestLeg) bool {
		return one.Role == leg.Role && one.Revision == leg.Revision && one.Transport == leg.Transport
	})
	switch {
	case at < 0:
		into.Legs = append(into.Legs, leg)
	case len(into.Legs[at].Red) == 0:
		into.Legs[at].Red = leg.Red
	}
}
