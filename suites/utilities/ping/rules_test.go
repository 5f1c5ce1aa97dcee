package ping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestFloodOfPings(t *testing.T) {
	t.Parallel()
	for script, wanted := range map[string][]string{
		Opening + "now\n" + Pings(mostPings+1): {"ping.not-excessive"},
		Opening + Pings(2*mostPings):           nil, // in their time
	} {
		broken, seen := BrokenAndSeen(Rules(), Converse(t, Stdio, script))
		if difference := cmp.Diff(wanted, broken); difference != "" || len(seen) == 0 {
			t.Errorf("broken requirements (-wanted +found):\n%s", difference)
		}
	}
}
