package rules_test

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
)

func TestANotificationWithAnIDIsNamedAsARequest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":null,"method":"notifications/cancelled"}`: "notifications/cancelled (a request, as it has the id null)",
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`:           "notifications/cancelled",
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`:                     `ping with id "a"`,
	} {
		if got := rules.SubjectOf(jsonrpc.Parse([]byte(text))).Name; got != want {
			t.Errorf("%s is %q, wanted %q", text, got, want)
		}
	}
}
