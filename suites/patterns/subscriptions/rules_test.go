package subscriptions

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestSubscriptionsOverHTTP(t *testing.T) {
	t.Parallel()
	news := `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	for name, test := range map[string]struct {
		script string
		broken []string
	}{
		"a subscription":                  {rulestest.Streamed("post-1", rulestest.Subscribed+rulestest.Told("5", "tools/list_changed", "")), nil},
		"one that the client ends":        {rulestest.Streamed("post-1", rulestest.Subscribed) + "x post-1", nil},
		"one that the server ends":        {rulestest.Streamed("post-1", rulestest.Subscribed+rulestest.Ended) + ". post-1", nil},
		"one that the server cancels":     {rulestest.Streamed("post-1", rulestest.Subscribed+rulestest.Cancels("5")) + ". post-1", nil},
		"one that ends without a word":    {rulestest.Streamed("post-1", rulestest.Subscribed) + ". post-1", []string{"subscriptions.closed.announced"}},
		"news without an id":              {rulestest.Streamed("post-1", rulestest.Subscribed+news), []string{"subscriptions.id.carried"}},
		"news with the id of another one": {rulestest.Streamed("post-1", rulestest.Subscribed+rulestest.Told("6", "tools/list_changed", "")), []string{"subscriptions.id.carried"}},
		"news on another stream": {rulestest.Streamed("post-1", rulestest.AsksOnce(rulestest.Everything, `{"resultType":"complete","content":[]}`)+news),
			[]string{"subscriptions.filter.honored"}},
		"progress of the request itself": {rulestest.Streamed("post-1", rulestest.Subscribed+rulestest.Progress("1", "1")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, _ := rulestest.BrokenAndSeen(Rules(), rulestest.Carry(t, "2026-07-28", test.script))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}
