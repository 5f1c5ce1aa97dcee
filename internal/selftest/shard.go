package selftest

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reports"
)

// share keeps the layers of the shard, and leaves the others to other shards. Those of
// one fault stay together; nil when all are for this selftest.
func (t *test) share() *reports.Shard {
	dealer := t.options.Shard.Dealer()
	t.layers = slices.DeleteFunc(
		t.layers,
		func(one layer) bool { return !dealer.Mine(one.ID+" "+one.leg.Name(), one.ID) },
	)
	return dealer.Report()
}

// Merge makes one selftest of all its shards, in any order. The error says which part is
// missing, is there twice, or is none of the same selftest.
func Merge(parts []shard.Part[reports.Selftest]) (*reports.Selftest, error) {
	all, whole, err := shard.Gather(parts, headOf)
	if err != nil {
		return nil, err
	}
	merged := *all[0]
	merged.Shard, merged.Started, merged.Duration, merged.Interrupted, merged.Errors = nil, whole.Started, whole.Duration, whole.Interrupted, whole.Errors
	merged.Trials, merged.Legs = nil, slices.Clone(merged.Legs)
	for _, found := range all {
		merged.Trials = append(merged.Trials, found.Trials...)
		for _, leg := range found.Legs {
			mergeLeg(&merged, leg)
		}
	}
	t := &test{
		options: Options{
			Role:   merged.Role,
			Filter: merged.Filter,
			Peer:   Peer{URL: merged.Target.URL, Command: target.Command{Args: merged.Target.Command}},
		},
		report: &merged,
	}
	if err := t.declare(); err != nil {
		return nil, err
	}
	t.conclude()
	return &merged, nil
}

func headOf(found *reports.Selftest) shard.Head {
	return shard.Head{
		Shard:       found.Shard,
		Started:     found.Started,
		Duration:    found.Duration,
		Interrupted: found.Interrupted,
		Errors:      found.Errors,
		Common: []shard.Common{
			{
				What: "version of mcpconform",
				Is:   found.Tool.Version,
			},
			{What: "--role", Is: found.Role},
			{What: "--filter", Is: found.Filter},
		},
	}
}

// mergeLeg adds how the target fares on a leg without a fault: badly, if it did so once.
func mergeLeg(into *reports.Selftest, leg reports.SelftestLeg) {
	at := slices.IndexFunc(into.Legs, func(one reports.SelftestLeg) bool {
		return one.Role == leg.Role && one.Revision == leg.Revision && one.Transport == leg.Transport &&
			one.Protected == leg.Protected
	})
	switch {
	case at < 0:
		into.Legs = append(into.Legs, leg)
	case len(into.Legs[at].Red) == 0:
		into.Legs[at].Red = leg.Red
	}
}
