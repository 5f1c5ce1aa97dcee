package pool

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/memory"
)

// For each number of workers and lanes, their shares and what they have room for are within the
// whole.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	for at := 2; at <= maxLanes; at++ {
		for _, one := range []struct{ workers, lanes int }{{1, at}, {at, 1}} {
			budget, message := memory.Budget(one.workers, one.lanes), memory.LongestMessage(one.workers, one.lanes)
			each := memory.OfWork + one.lanes*(budget+2*message) // which is put together from pieces
			if together := memory.OfRun + memory.OfReaper + one.workers*each; one.workers <= maxStarting && together > memory.Whole {
				t.Errorf("%+v may take %d MiB", one, together>>20)
			}
			if budget < 8*200<<10 {
				t.Errorf("%+v have room for %d bytes in each lane", one, budget)
			}
		}
	}
	if alone := memory.OfRun + memory.OfReaper + memory.OfWork + memory.BudgetAlone; alone > memory.Whole {
		t.Errorf("a worker alone may take %d MiB", alone>>20)
	}
}
