package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/verdict"
	"github.com/mcpconform/mcpconform/reports"
)

// drawn is what a worker tells of the draws that it makes on a cell: one that is suspect,
// what one has shown, or, at the end, how many there were.
type drawn struct {
	Suspect *explore.Finding `json:",omitempty"`
	Finding *explore.Finding `json:",omitempty"`
	Made    int              `json:",omitempty"`
}

// explored is what came of the draws on a cell.
type explored struct {
	made     int
	suspects []explore.Finding
	found    []explore.Finding
}

// drawing tells the parent what comes of the draws on a cell.
type drawing struct {
	*pipe
	cell int
}

func (d drawing) Suspect(finding explore.Finding) {
	d.write(note{Cell: d.cell, Drawn: &drawn{Suspect: &finding}})
}

func (d drawing) Found(finding explore.Finding) {
	d.write(note{Cell: d.cell, Drawn: &drawn{Finding: &finding}})
}

// explore makes the draws of a plan on each cell, until the parent wants an end.
func (p *pipe) explore(environments []*session.Environment, plan explore.Plan, suspects [][]explore.Finding) {
	// An interrupt, which ends checks, is no more than the end of patience here.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGTERM)
	defer signal.Stop(ignored)
	for cell, environment := range environments {
		host := drawing{p, cell}
		switch {
		case suspects == nil:
			made := explore.Explore(environment.Process.Patience(), environment, plan, host)
			p.write(note{Cell: cell, Drawn: &drawn{Made: made}})
		case len(suspects[cell]) > 0:
			explore.Explain(environment.Process.Patience(), environment, suspects[cell], host)
		}
	}
}

// explore has workers make the draws that the options ask for, after all checks, and one
// find out what they show: a seed finds the same in each worker.
func (d *coordinator) explore(ctx context.Context) error {
	draws := d.run.options.Explore
	if draws == 0 || over(ctx) {
		return nil
	}
	workers := max(1, min(d.run.options.starting(), draws/drawsPerWorker))
	shard, shards := 0, 1
	if given := d.run.options.Shard; given.Count > 0 {
		shard, shards = given.Index-1, given.Count
	}
	failures := make([]error, workers)
	var working sync.WaitGroup
	for i := range workers {
		working.Go(func() {
			plan := &explore.Plan{
				Seed: d.run.options.Seed, Draws: draws, Part: shard + shards*i, Parts: shards * workers,
			}
			_, failures[i] = d.work(ctx, pass{lanes: 1, beside: workers - 1, explore: plan})
		})
	}
	working.Wait()
	suspects, some := d.suspects()
	if !some || over(ctx) {
		return errors.Join(failures...)
	}
	_, err := d.work(ctx, pass{lanes: 1, explore: &explore.Plan{}, suspects: suspects})
	return errors.Join(append(failures, err)...)
}

// suspects are the draws to look at again, by cell of the plan, in the order of their seeds.
func (d *coordinator) suspects() (byCell [][]explore.Finding, some bool) {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	byCell = make([][]explore.Finding, len(d.run.plan.Cells))
	for cell := range byCell {
		if state := d.run.state(cell); state.report.Ended == nil {
			byCell[cell] = slices.SortedFunc(slices.Values(state.explored.suspects), bySeed)
			some = some || len(byCell[cell]) > 0
		}
	}
	return byCell, some
}

func bySeed(a, b explore.Finding) int { return cmp.Compare(a.Seed, b.Seed) }

// drawn takes what a worker tells of its draws. Workers find the same by different draws:
// it is told once.
func (d *coordinator) drawn(cell int, told drawn) {
	r := d.run
	r.mu.Lock()
	state := r.state(cell)
	state.explored.made += told.Made
	if told.Suspect != nil {
		state.explored.suspects = append(state.explored.suspects, *told.Suspect)
	}
	finding := told.Finding
	known := finding == nil || slices.ContainsFunc(state.explored.found, func(before explore.Finding) bool {
		return before.Requirement == finding.Requirement && before.Text == finding.Text
	})
	if !known {
		state.explored.found = append(state.explored.found, *finding)
	}
	taken := !known && !r.abandoned
	if taken && finding.Requirement != "" {
		state.report.Results = append(state.report.Results, r.shown(cell, *finding))
	}
	r.mu.Unlock()
	if taken && finding.Gone != "" {
		r.end(checked{
			Cell: cell, Outcome: check.Outcome{Gone: finding.Gone}, Exchanges: [][]transcript.Event{finding.Events},
		})
	}
}

// shown makes a result of a finding.
func (c *collector) shown(cell int, finding explore.Finding) reports.Result {
	state := c.state(cell)
	outcome := check.Outcome{
		Ending:     check.Failed,
		Mismatches: []check.Mismatch{finding.Mismatch},
		Judged:     finding.Judged,
	}
	if finding.Unsteady {
		outcome = check.Outcome{
			Ending: check.Inconclusion,
			Reason: "wanted " + finding.Mismatch.Wanted + "; found " + finding.Mismatch.Found + ", once and not again",
			Hint:   "see whether the target answers in time on this machine",
		}
	}
	exchanges := [][]transcript.Event{finding.Events}
	evidence.Point(&outcome, exchanges)
	result := c.result(state, checked{
		Cell: cell, Group: []string{verdict.Exploration}, Text: finding.Text,
		Requirements: []string{finding.Requirement}, State: types.SpecStatePassed, Outcome: outcome,
		Exchanges: evidence.Shorten(exchanges, outcome),
	})
	if c.options.Redraw != nil {
		result.Rerun = c.options.Redraw(state.environment.Cell, finding.Seed)
	}
	return result
}

// exploredNotice says how many draws were made on a cell, from which seed, and what came
// of them; "" where there were none to be made.
func (c *collector) exploredNotice(state *cellState) string {
	if c.options.Explore == 0 {
		return ""
	}
	text := fmt.Sprintf(
		"explored by %d of %d draws from seed %d",
		state.explored.made,
		c.options.Explore,
		c.options.Seed,
	)
	failed := slices.DeleteFunc(
		slices.Clone(state.explored.found),
		func(one explore.Finding) bool { return one.Unsteady },
	)
	switch {
	case len(failed) > 0:
		return text + fmt.Sprintf(": %d found, under Exploration", len(failed))
	case len(state.explored.found) > 0:
		return text + ": " + state.explored.found[0].Mismatch.Found
	}
	return text + ": nothing found"
}
