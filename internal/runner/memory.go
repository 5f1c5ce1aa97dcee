package runner

import (
	"math"
	"runtime/debug"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// What the processes of a run take together, in bytes, is bounded, however much the
// target sends: each worker has its share, and each of its lanes records only what
// there is room for. A check for which several lanes leave no room is put off until
// one has it alone.
const (
	memory         = 256 << 20 // of all processes together
	memoryOfRun    = 44 << 20  // of the process that starts the workers, while they work
	memoryOfReaper = 6 << 20   // of the process that ends what a run leaves
	memoryOfWork   = 20 << 20  // of a worker, before a target says anything
	memoryOfCode   = 6 << 20   // of a process, which no collector of garbage frees
	leastOfMemory  = 16 << 20  // below it, collecting garbage takes all the time
	memoryAlone    = 150 << 20 // of a process that works alone, before it collects its garbage eagerly
	budgetAlone    = 112 << 20 // of a process that works alone, beside what reading takes
	leastBudget    = 2 << 20   // of one of many lanes: what an ordinary target needs
	heavyRecord    = 4 << 20   // what no ordinary target makes the first contact leave
	messagesInRoom = 4         // of the longest: each is read, recorded, and decoded
)

// share is the memory of one of several workers.
func share(workers int) int { return (memory - memoryOfRun - memoryOfReaper) / workers }

// budgetOf is the room for records in one of several lanes of one of several workers.
func budgetOf(workers, lanes int) int {
	if workers*lanes == 1 {
		return budgetAlone
	}
	return max(leastBudget, (share(workers)-memoryOfWork)/2/lanes)
}

// longestMessage is how long one may be in one of several lanes of one of several workers; for
// one that is alone only the user says.
func longestMessage(workers, lanes int) int {
	if workers*lanes == 1 {
		return math.MaxInt
	}
	return budgetOf(workers, lanes) / messagesInRoom
}

// heavy tells whether much of the room for a process that works alone is taken.
func heavy(budget *transcript.MemoryBudget) bool { return budget.Left() < budgetAlone-heavyRecord }

// confine makes this process collect its garbage when it takes so much.
func confine(bytes int) { debug.SetMemoryLimit(int64(max(leastOfMemory, bytes-memoryOfCode))) }
