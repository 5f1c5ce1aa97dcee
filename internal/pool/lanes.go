package pool

import (
	"runtime"
	"slices"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/worker"
)

const (
	// Beyond maxLanes, a target on the same machine is the bottleneck; where each lane starts
	// processes of the target, the machine is, beyond maxStarting.
	maxLanes       = 12
	lanesPerCPU    = 6 // checks wait more than they compute
	maxStarting    = 8
	startingPerCPU = 2
	drawsPerWorker = 3 // for fewer, another process takes more time than it saves
)

// lanesOfUse is how many are of use for the checks of all cells. Where each starts processes of the
// target, fewer are.
func (j Job) lanesOfUse() int {
	most := min(maxLanes, lanesPerCPU*runtime.NumCPU())
	if slices.ContainsFunc(j.Plan.Cells, worker.Cell.Starts) {
		most = j.starting()
	}
	switch {
	case j.Role == protocol.AuthorizationServerRole:
		most = 1 // one browser logs in at a time, and leads to one place
	case j.Lanes > 0:
		most = j.Lanes
	}
	return max(1, min(most, len(j.Checks)))
}

// starting is how much may start processes at once.
func (j Job) starting() int {
	if j.Lanes > 0 {
		return j.Lanes
	}
	return min(maxStarting, startingPerCPU*runtime.NumCPU())
}
