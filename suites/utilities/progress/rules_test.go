package progress

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestFloodOfProgress(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	script.WriteString(Opening + Working + "now\n")
	for value := range mostReports + 1 {
		script.WriteString(Progress(`"t"`, strconv.Itoa(value)))
	}
	broken, _ := BrokenAndSeen(Rules(), Converse(t, Stdio, script.String()))
	if difference := cmp.Diff([]string{"progress.not-flooding"}, broken); difference != "" {
		t.Errorf("broken requirements (-wanted +found):\n%s", difference)
	}
}

// A report may be of a request that was given up, whose token another has used again.
func TestProgressOfRequestsWithOneToken(t *testing.T) {
	t.Parallel()
	again := strings.Replace(Working, `"id":2`, `"id":3`, 1)
	if again == Working {
		t.Fatal("the request is the same")
	}
	script := Opening + Working + Progress(`"t"`, "50") + again + Progress(`"t"`, "100") + Progress(`"t"`, "0")
	if broken, _ := BrokenAndSeen(Rules(), Converse(t, Stdio, script)); len(broken) > 0 {
		t.Errorf("broken: %q", broken)
	}
}
