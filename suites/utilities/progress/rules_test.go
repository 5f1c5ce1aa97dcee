package progress

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestFloodOfProgress(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	script.WriteString(rulestest.Opening + rulestest.Working + "now\n")
	for value := range mostReports + 1 {
		script.WriteString(rulestest.Progress(`"t"`, strconv.Itoa(value)))
	}
	broken, _ := rulestest.BrokenAndSeen(Rules(), rulestest.Converse(t, rulestest.Stdio, script.String()))
	if difference := cmp.Diff([]string{"progress.not-flooding"}, broken); difference != "" {
		t.Errorf("broken requirements (-wanted +found):\n%s", difference)
	}
}
