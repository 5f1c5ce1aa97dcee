package runner

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// For each number of workers and lanes, their shares and what they have room for are within the
// whole.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	for at := 2; at <= maxLanes; at++ {
		for _, one := range []struct{ workers, lanes int }{{1, at}, {at, 1}} {
			budget, message := budgetOf(one.workers, one.lanes), longestMessage(one.workers, one.lanes)
			each := memoryOfWork + one.lanes*(budget+2*message) // which is put together from pieces
			if together := memoryOfRun + memoryOfReaper + one.workers*each; one.workers <= maxStarting && together > memory {
				t.Errorf("%+v may take %d MiB", one, together>>20)
			}
			if budget < 8*200<<10 {
				t.Errorf("%+v have room for %d bytes in each lane", one, budget)
			}
		}
	}
	if alone := memoryOfRun + memoryOfReaper + memoryOfWork + budgetAlone; alone > memory {
		t.Errorf("a worker alone may take %d MiB", alone>>20)
	}
}

func TestHeavyContactIsNoticed(t *testing.T) {
	t.Parallel()
	budget := transcript.NewMemoryBudget(budgetAlone)
	log := transcript.NewLogIn(budget, "c1")
	if heavy(budget) || !log.Take(heavyRecord+1) || !heavy(budget) {
		t.Errorf("%d bytes of %d are left", budget.Left(), budgetAlone)
	}
}

// A check that was put off is run again only in a pass that has room.
func TestPutOffChecksAreRunAgainOnce(t *testing.T) {
	t.Parallel()
	coordinator := &coordinator{run: &run{}, claimed: map[string]bool{}, deferred: map[string]bool{}}
	for step, one := range []struct {
		key            string
		again, granted bool
	}{{"a", false, true}, {"a", false, false}, {"b", false, true}} {
		if coordinator.grant(0, claim{Key: one.key}, "w", pass{again: one.again}) != one.granted {
			t.Errorf("step %d: granted %t", step, !one.granted)
		}
	}
	coordinator.postpone("a")
	for step, one := range []struct {
		key            string
		again, granted bool
	}{{"a", false, false}, {"b", true, false}, {"a", true, true}, {"a", true, false}} {
		if coordinator.grant(0, claim{Key: one.key}, "w", pass{again: one.again}) != one.granted {
			t.Errorf("then, step %d: granted %t", step, !one.granted)
		}
	}
}
