package worker

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites"
)

// asking is a host that notes the order in which checks are claimed, and lets none run.
type asking struct{ keys []string }

func (a *asking) Claim(_, _ int, asked Claim) Permission {
	a.keys = append(a.keys, asked.Key)
	return Permission{}
}
func (a *asking) Checked(int, Checked) {}

// What leaves the harness waiting begins first, so that others go on beside it.
func TestLongWaitsBeginFirst(t *testing.T) {
	requirements, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	environment := &session.Environment{Offer: offer.Offer{Scope: &scope.Scope{
		Cell:      check.Cell{Role: protocol.ClientRole, Revision: "2025-11-25", Transport: protocol.HTTP},
		Catalogue: requirements, Process: scope.NewProcess(""),
	}}}
	host := &asking{}
	Perform([][]*session.Environment{{environment}}, host, func(*session.Environment, *check.Declaration) bool { return true }, All, nil)
	checks := plan.At([]*session.Environment{environment})
	if len(host.keys) != len(checks) {
		t.Fatalf("%d checks were claimed, wanted %d", len(host.keys), len(checks))
	}
	waits := map[string]bool{}
	for _, one := range checks {
		if one.Check.Early() {
			waits[KeyOf(environment.Name(), one.Check.Name())] = true
		}
	}
	if len(waits) == 0 {
		t.Fatal("no check waits long")
	}
	for _, key := range host.keys[:len(waits)] {
		if !waits[key] {
			t.Errorf("%q begins before those that wait", key)
		}
	}
}
