package ping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestFloodOfPings(t *testing.T) {
	t.Parallel()
	for script, wanted := range map[string][]string{
		rulestest.Opening + "now\n" + rulestest.Pings(mostPings+1): {"ping.not-excessive"},
		rulestest.Opening + rulestest.Pings(2*mostPings):           nil, // in their time
	} {
		broken, seen := rulestest.BrokenAndSeen(Rules(), rulestest.Converse(t, rulestest.Stdio, script))
		if difference := cmp.Diff(wanted, broken); difference != "" || len(seen) == 0 {
			t.Errorf("broken requirements (-wanted +found):\n%s", difference)
		}
	}
}
