package subscriptions

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestSubscriptionsOverHTTP(t *testing.T) {
	t.Parallel()
	news := `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	for name, test := range map[string]struct {
		script string
		broken []string
	}{
		"a subscription":                  {Streamed("post-1", Subscribed+Told("5", "tools/list_changed", "")), nil},
		"one that the client ends":        {Streamed("post-1", Subscribed) + "x post-1", nil},
		"one that the server ends":        {Streamed("post-1", Subscribed+Ended) + ". post-1", nil},
		"one that the server cancels":     {Streamed("post-1", Subscribed+Cancels("5")) + ". post-1", nil},
		"one that ends without a word":    {Streamed("post-1", Subscribed) + ". post-1", []string{"subscriptions.closed.announced"}},
		"news without an id":              {Streamed("post-1", Subscribed+news), []string{"subscriptions.id.carried"}},
		"news with the id of another one": {Streamed("post-1", Subscribed+Told("6", "tools/list_changed", "")), []string{"subscriptions.id.carried"}},
		"news on another stream": {Streamed("post-1", AsksOnce(Everything, `{"resultType":"complete","content":[]}`)+news),
			[]string{"subscriptions.filter.honored"}},
		"progress of the request itself": {Streamed("post-1", Subscribed+Progress("1", "1")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, _ := BrokenAndSeen(Rules(), Carry(t, "2026-07-28", test.script))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}
