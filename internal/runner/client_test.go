package runner

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// A client that never ends by itself is waited for shortly. What it does not say in that time
// at first contact, it may say later.
func TestAClientThatWasEndedTooSoonIsMetAgain(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	options := Options{
		Role: protocol.ClientRole, Transports: []string{protocol.HTTP}, Timeout: 2 * time.Second,
		Command: target.Command{Args: []string{os.Args[0], slowly, t.TempDir()}},
	}
	if err := options.defaults(); err != nil {
		t.Fatal(err)
	}
	r := newRun(options, time.Now())
	r.budget = transcript.NewMemoryBudget(memory.BudgetAlone)
	r.options.Revisions = contact.Revise{All: true}
	to, err := r.reach(t.Context(), protocol.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	found, err := contact.Client(t.Context(), to, r.contact(to.Transport))
	if err != nil || !slices.Equal(found.Speaks, protocol.Released()) {
		t.Errorf("%+v, %v", found, err)
	}
}

// A target that does not speak what the user has named, and keeps the specification by that, is
// told so of no requirement.
func TestADenialThatBreaksNothing(t *testing.T) {
	t.Parallel()
	catalogue, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for keeps, broken := range map[bool]int{true: 0, false: 1} {
		state := &cellState{denied: &contact.Denial{ID: "lifecycle.initialize.version", Keeps: keeps}}
		state.report.Role, state.report.Revision, state.report.Transport = protocol.ClientRole, "2025-11-25", protocol.Stdio
		result := (&collector{catalogue: catalogue}).denied(state)
		if result.Verdict != reports.Failed || result.Requirements == nil || len(result.Requirements) != broken {
			t.Errorf("keeps is %v: %+v", keeps, result)
		}
	}
}
