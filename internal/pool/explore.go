package pool

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/worker"
)

// explore has workers make the draws that the options ask for, after all checks, and one
// find out what they show: a seed finds the same in each worker.
func (d *coordinator) explore(ctx context.Context) error {
	draws := d.job.Draws
	if draws == 0 || over(ctx) {
		return nil
	}
	workers := max(1, min(d.job.starting(), draws/drawsPerWorker))
	shard, shards := 0, 1
	if given := d.job.Shard; given.Count > 0 {
		shard, shards = given.Index-1, given.Count
	}
	failures := make([]error, workers)
	var working sync.WaitGroup
	for i := range workers {
		working.Go(func() {
			plan := &explore.Plan{
				Seed: d.job.Seed, Draws: draws, Part: shard + shards*i, Parts: shards * workers,
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
	d.mu.Lock()
	defer d.mu.Unlock()
	byCell = make([][]explore.Finding, len(d.suspected))
	for cell, suspected := range d.suspected {
		if _, ended := d.results.Ended(cell); !ended {
			byCell[cell] = slices.SortedFunc(slices.Values(suspected), bySeed)
			some = some || len(suspected) > 0
		}
	}
	return byCell, some
}

func bySeed(a, b explore.Finding) int { return cmp.Compare(a.Seed, b.Seed) }

// drawn takes what a worker tells of its draws.
func (d *coordinator) drawn(cell int, told worker.Drawn) {
	if told.Suspect != nil {
		d.mu.Lock()
		d.suspected[cell] = append(d.suspected[cell], *told.Suspect)
		d.mu.Unlock()
	}
	d.results.Drawn(cell, told)
}
