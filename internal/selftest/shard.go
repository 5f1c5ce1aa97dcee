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
		func(one layer) bool { return !dealer.Mine(one.ID+" "+one.cell.Name(), one.ID) },
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
	merged.Trials, merged.Cells = nil, slices.Clone(merged.Cells)
	for _, found := range all {
		merged.Trials = append(merged.Trials, found.Trials...)
		for _, cell := range found.Cells {
			mergeCell(&merged, cell)
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

// mergeCell adds how the target fares on a cell without a fault: badly, if it did so once.
func mergeCell(into *reports.Selftest, cell reports.SelftestCell) {
	at := slices.IndexFunc(into.Cells, func(one reports.SelftestCell) bool {
		return one.Role == cell.Role && one.Revision == cell.Revision && one.Transport == cell.Transport &&
			one.Protected == cell.Protected
	})
	switch {
	case at < 0:
		into.Cells = append(into.Cells, cell)
	case len(into.Cells[at].Red) == 0:
		into.Cells[at].Red = cell.Red
	}
}
