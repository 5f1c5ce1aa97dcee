package runner

import (
	"fmt"
	"slices"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/verdict"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// explored is what came of the draws on a cell.
type explored struct {
	made  int
	found []explore.Finding
}

// Drawn takes what a worker tells of its draws. Workers find the same by different draws:
// it is told once.
func (c *collector) Drawn(cell int, told worker.Drawn) {
	finding := told.Finding
	if !c.taken(cell, told) || finding.Gone == "" {
		return
	}
	c.End(worker.Checked{
		Cell: cell, Outcome: check.Outcome{Gone: finding.Gone}, Exchanges: [][]transcript.Event{finding.Events},
	})
}

// taken counts draws, and adds the result of a finding. It reports whether there is one that is new.
func (c *collector) taken(cell int, told worker.Drawn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state(cell)
	state.explored.made += told.Made
	finding := told.Finding
	if finding == nil || slices.ContainsFunc(state.explored.found, func(before explore.Finding) bool {
		return before.Requirement == finding.Requirement && before.Text == finding.Text
	}) {
		return false
	}
	state.explored.found = append(state.explored.found, *finding)
	if !c.abandoned && finding.Requirement != "" {
		state.report.Results = append(state.report.Results, c.shown(cell, *finding))
	}
	return !c.abandoned
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
	result := c.result(state, worker.Checked{
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
