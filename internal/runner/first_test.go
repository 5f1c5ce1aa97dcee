package runner

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// What leaves the harness waiting begins first, so that others go on beside it.
func TestLongWaitsBeginFirst(t *testing.T) {
	t.Parallel()
	const revision, waiting = "2025-11-25", "lifecycle-silent-server"
	declared, _, err := All(protocol.ClientRole, []string{revision})
	if err != nil {
		t.Fatal(err)
	}
	if scenario := conform.ScenarioOf(declared[revision][0].Labels); scenario != waiting {
		t.Errorf("the first check looks in %q, wanted %s", scenario, waiting)
	}
}
