package runner

import (
	"context"
	"runtime/debug"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/pool"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// check has workers run the checks, and the draws.
func (r *run) check(ctx context.Context) error {
	if len(r.plan.Cells) == 0 || over(ctx) {
		return nil
	}
	r.announce()
	r.makeRoom()
	memory.Confine(memory.OfRun)
	r.phase("starting workers")
	defer r.phase("judging by rules")
	return pool.Check(ctx, r.job(), r)
}

// recall has the checks judge what was recorded.
func (r *run) recall(ctx context.Context) error {
	if len(r.plan.Cells) == 0 || over(ctx) {
		return nil
	}
	return pool.Recall(ctx, r.job(), r)
}

// over tells whether the run is to end. That is no error: what was done until then is reported.
func over(ctx context.Context) bool { return ctx.Err() != nil }

// job is what workers are to do.
func (r *run) job() pool.Job {
	return pool.Job{
		Plan: r.plan, Role: r.options.Role, Checks: r.declared, Others: r.others, Command: r.itself(worker.Command),
		Lanes: r.options.Workers, Draws: r.options.Explore, Seed: r.options.Seed, Shard: r.options.Shard,
	}
}

// makeRoom leaves the memory to the checks.
func (r *run) makeRoom() {
	if contact.Heavy(r.budget) {
		r.closing.Wait()
		debug.FreeOSMemory()
	}
}

func (r *run) announce() {
	if r.options.Progress == nil {
		return
	}
	for _, state := range r.cells {
		if state.planned >= 0 {
			r.options.Progress.Cell(state.report.Name(), reports.Plan{
				Checks: state.total, Rules: len(r.chosenRules(state)), Told: len(r.chosenOf(state)),
			})
		}
	}
}

// phase shows what is done while no check is under way.
func (c *collector) phase(text string) {
	if c.options.Progress != nil {
		c.options.Progress.Phase(text)
	}
}
