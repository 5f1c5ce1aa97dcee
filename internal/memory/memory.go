// Package memory divides what the processes of a run may take together, in bytes, among
// its workers and their lanes.
//
// That is bounded, however much the target sends: each worker has its share, and each of its
// lanes records only what there is room for. A check for which several lanes leave no room is
// put off until one has it alone.
package memory

import (
	"math"
	"runtime/debug"
)

const (
	// Whole is what all processes may take together.
	Whole = 256 << 20
	// OfRun is what the process takes that starts the workers, while they work.
	OfRun = 44 << 20
	// OfReaper is what the process takes that ends what a run leaves.
	OfReaper = 6 << 20
	// OfWork is what a worker takes before a target says anything.
	OfWork = 20 << 20
	// Alone is what a process that works alone takes before it collects its garbage eagerly.
	Alone = 150 << 20
	// BudgetAlone is its room for records, beside what reading takes.
	BudgetAlone = 112 << 20
	// LeastBudget is the room of one of many lanes: what an ordinary target needs.
	LeastBudget = 2 << 20

	ofCode         = 6 << 20  // of a process, which no collector of garbage frees
	least          = 16 << 20 // below it, collecting garbage takes all the time
	messagesInRoom = 4        // of the longest: each is read, recorded, and decoded
)

// Share is what one of several workers may take.
func Share(workers int) int { return (Whole - OfRun - OfReaper) / workers }

// Budget is the room for records in one of several lanes of one of several workers.
func Budget(workers, lanes int) int {
	if workers*lanes == 1 {
		return BudgetAlone
	}
	return max(LeastBudget, (Share(workers)-OfWork)/2/lanes)
}

// LongestMessage is how long one may be in one of several lanes of one of several workers; for
// one that is alone only the user says.
func LongestMessage(workers, lanes int) int {
	if workers*lanes == 1 {
		return math.MaxInt
	}
	return Budget(workers, lanes) / messagesInRoom
}

// Confine makes this process collect its garbage when it takes so many bytes.
func Confine(bytes int) { debug.SetMemoryLimit(int64(max(least, bytes-ofCode))) }
