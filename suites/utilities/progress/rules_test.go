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
