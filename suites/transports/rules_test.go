package transports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestEncoding(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string][]string{"é": {}, "\xff": {"utf8"}} {
		script := Post("post-1", "1") + "< post-1 200 Content-Type:application/json\ns post-1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"" + text + "\"}}\n. post-1"
		broken, seen := Judged(Rules(), Carry(t, "2025-11-25", script))
		if difference := cmp.Diff(wanted, broken); difference != "" || len(seen) == 0 {
			t.Errorf("%q: broken requirements (-wanted +found):\n%s", text, difference)
		}
	}
}

// A message that is not UTF-8 is shown around the byte, however long it is.
func TestTheByteThatBelongsToNoCharacterIsShown(t *testing.T) {
	t.Parallel()
	before, after := strings.Repeat("a", 5000)+"before", "after"+strings.Repeat("b", 5000)
	raw := []byte(before + "\xe2" + after)
	got := otherEncoding(&rules.Message{Message: jsonrpc.Message{Raw: raw}})
	if got.Where != "byte 5006" || !strings.Contains(got.Found, `0xE2`) || !strings.Contains(got.Found, `before" and "after`) || len(got.Found) > 200 {
		t.Errorf("%+v", got)
	}
}
