package runner

import (
	"slices"
	"testing"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/suites"
)

// asking is a host that notes the order in which checks are claimed, and lets none run.
type asking struct{ keys []string }

func (a *asking) claim(_ int, key, _ string) permission {
	a.keys = append(a.keys, key)
	return permission{}
}
func (a *asking) checked(checked)                {}
func (a *asking) closed(int, conform.Connection) {}

// What leaves the harness waiting begins first, so that others go on beside it.
func TestLongWaitsBeginFirst(t *testing.T) {
	requirements, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	environment := &conform.Environment{
		Leg:       conform.Leg{Role: protocol.ClientRole, Revision: "2025-11-25", Transport: protocol.HTTP},
		Catalogue: requirements, Process: conform.NewProcess(""),
	}
	host := &asking{}
	perform([]*conform.Environment{environment}, host, "", all)
	checks := checksAt([]*conform.Environment{environment})
	if len(host.keys) != len(checks) {
		t.Fatalf("%d checks were claimed, wanted %d", len(host.keys), len(checks))
	}
	first := 0
	for _, one := range checks {
		if !one.Check.First {
			continue
		}
		first++
		if key := keyOf(environment.Name(), one.Check.Name()); slices.Index(host.keys, key) >= 10 {
			t.Errorf("%q is not among the first to begin", one.Text)
		}
	}
	if first == 0 {
		t.Error("no check waits long")
	}
}
