package cancellation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestTasksOfTheServerAreCancelledAsTasks(t *testing.T) {
	t.Parallel()
	declared := strings.Replace(Opening, `"sampling":{}`, `"sampling":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}`, 1)
	script := declared + Sampling("9", `,"task":{}`) + `
		c {"jsonrpc":"2.0","id":9,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}
	` + Cancels("9")
	broken, _ := BrokenAndSeen(Rules(), Converse(t, Stdio, script))
	if difference := cmp.Diff([]string{"cancellation.not-tasks"}, broken); difference != "" {
		t.Errorf("broken requirements (-wanted +found):\n%s", difference)
	}
}
