package runner

import (
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/worker"
)

// share keeps the checks of the shard, and leaves the others to other shards. Checks that
// look in one scenario stay together.
func (r *run) share() {
	dealer := r.options.Shard.Dealer()
	r.others = map[string]bool{}
	r.declared = slices.DeleteFunc(r.declared, func(check plan.Declared) bool {
		name := r.planned[check.Cell].Name()
		key := worker.KeyOf(name, check.Check.Name())
		together := key
		if check.Scenario != nil {
			together = name + "\n" + check.Scenario.Name
		}
		if dealer.Mine(key, together) {
			return false
		}
		r.others[key] = true
		return true
	})
	for _, state := range r.cells {
		dealer.Note(fmt.Sprint(state.report.Name(), state.all))
	}
	r.report.Shard = dealer.Report()
}
