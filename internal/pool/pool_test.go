package pool

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/worker"
)

// A check that was put off is run again only in a pass that has room.
func TestPutOffChecksAreRunAgainOnce(t *testing.T) {
	t.Parallel()
	coordinator, _ := unhurried(t, nil)
	for step, one := range []struct {
		key            string
		again, granted bool
	}{{"a", false, true}, {"a", false, false}, {"b", false, true}} {
		if coordinator.grant(0, worker.Claim{Key: one.key}, "w", pass{again: one.again}) != one.granted {
			t.Errorf("step %d: granted %t", step, !one.granted)
		}
	}
	coordinator.postpone("a")
	for step, one := range []struct {
		key            string
		again, granted bool
	}{{"a", false, false}, {"b", true, false}, {"a", true, true}, {"a", true, false}} {
		if coordinator.grant(0, worker.Claim{Key: one.key}, "w", pass{again: one.again}) != one.granted {
			t.Errorf("then, step %d: granted %t", step, !one.granted)
		}
	}
}
