package runner

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Whatever the number of workers, their shares and what they have room for are
// within the whole.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	for workers := 2; workers <= maxWorkers; workers++ {
		each := memoryOfWork + budgetOf(workers) + 2*longestMessage(workers) // which is put together from pieces
		if together := memoryOfRun + memoryOfReaper + workers*each; together > memory {
			t.Errorf("%d workers may take %d MiB", workers, together>>20)
		}
		if budgetOf(workers) < 8*200<<10 {
			t.Errorf("%d workers have room for %d bytes each", workers, budgetOf(workers))
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

// A check that was put off is run again by nobody but the one that has room.
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
