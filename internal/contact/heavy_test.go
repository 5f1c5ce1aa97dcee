package contact

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestHeavyContactIsNoticed(t *testing.T) {
	t.Parallel()
	budget := transcript.NewMemoryBudget(memory.BudgetAlone)
	log := transcript.NewLogIn(budget, "c1")
	if Heavy(budget) || !log.Take(heavyRecord+1) || !Heavy(budget) {
		t.Errorf("%d bytes of %d are left", budget.Left(), memory.BudgetAlone)
	}
}
