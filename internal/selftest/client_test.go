package selftest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// acting has the reference client play the meeting, with something injected into its traffic.
func acting(t *testing.T, cell check.Cell, injection fault.Injection) *scenario.Recording {
	t.Helper()
	runner := &clientrun.Runner{
		Scope: &scope.Scope{
			Cell: cell, Process: scope.NewProcess(""), Target: scripted.Target{Transport: cell.Transport, Reply: reliable},
		},
		Launch: func(ctx context.Context, invocation scenario.Invocation) (scenario.Exit, error) {
			return launch(ctx, invocation, injection)
		},
	}
	recording, logs, err := runner.Driver().Run(t.Context(), scenario.Meeting)
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		log.Release()
	}
	return recording
}

// clientCells are all ways in which a client speaks.
func clientCells() []check.Cell {
	var cells []check.Cell
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, transport := range protocol.Transports() {
			cells = append(cells, check.Cell{Role: protocol.ClientRole, Revision: revision, Transport: transport})
		}
	}
	return cells
}

// said are the messages of the client, as text.
func said(recording *scenario.Recording, cell check.Cell) string {
	var all []string
	for _, connection := range recording.Connections {
		for _, one := range rules.NewConversation(cell, connection.Events, connection.Complete).ByTarget() {
			all = append(all, string(one.Raw))
		}
	}
	return strings.Join(all, "\n")
}

func parse(t *testing.T, change string) []*fault.Fault {
	t.Helper()
	faults, err := fault.Parse("f.yaml", []byte("- id: a\n  role: client\n  says: x\n"+change))
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// The reference client plays its part within this process: alone, watched, with a
// fault on its wire, and with a defect of its own.
func TestLaunch(t *testing.T) {
	t.Parallel()
	for _, cell := range clientCells() {
		t.Run(cell.Name(), func(t *testing.T) {
			t.Parallel()
			const change = "  when: {method: tools/call}\n  do: [{replace: /params/arguments, with: {a: 40, b: 2}}]\n"
			var matched []string
			tell := func(one *fault.Fault) { matched = append(matched, one.ID) }

			alone := acting(t, cell, fault.Injection{})
			watched := acting(t, cell, fault.Injection{Watched: parse(t, change), Matched: tell})
			changed := acting(t, cell, fault.Injection{Faults: parse(t, change)})

			for _, one := range []*scenario.Recording{alone, watched, changed} {
				if exit := one.Exit; exit.Failed || exit.Ended || !strings.Contains(string(exit.Output), `"step":3,"outcome":"done"`) {
					t.Errorf("the client %s, its output is %s", exit.Status, exit.Output)
				}
			}
			if text := said(alone, cell); !strings.Contains(text, "tools/call") || text != said(watched, cell) {
				t.Errorf("alone it says\n%s\nand watched\n%s", text, said(watched, cell))
			}
			if text := said(changed, cell); !strings.Contains(text, `"a":40`) || strings.Contains(said(alone, cell), `"a":40`) {
				t.Errorf("under a fault it says\n%s", text)
			}
			if !slices.Equal(matched, []string{"a"}) {
				t.Errorf("matched %q", matched)
			}
		})
	}
}

func TestLaunchWithADefect(t *testing.T) {
	t.Parallel()
	cell := check.Cell{Role: protocol.ClientRole, Revision: "2025-11-25", Transport: protocol.Stdio}
	recording := acting(t, cell, fault.Injection{Faults: parse(t, "  switch: never-cancels\n")})
	if text := said(recording, cell); !strings.Contains(text, "tools/call") {
		t.Errorf("it says\n%s", text)
	}
	exit, err := launch(t.Context(), scenario.Invocation{URL: "http://127.0.0.1:1"}, fault.Injection{Faults: parse(t, "  switch: unheard-of\n")})
	if err != nil || !exit.Failed || !strings.Contains(string(exit.Stderr), "unheard-of") {
		t.Errorf("a defect that there is not: %+v, %v", exit, err)
	}
}

// A fault of a client is found by the checks that are there for it, in the scenarios
// that it touches.
func TestRunClients(t *testing.T) {
	slowtest.Skip(t)
	const of = "client-output-taken-as-it-is" // which is found without waiting for a timeout
	found, err := Run(context.Background(), Options{Filter: of, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Trials) != 2 || len(found.Errors) > 0 || found.Target.Role != protocol.ServerRole {
		t.Fatalf("%d trials, %q, on %+v", len(found.Trials), found.Errors, found.Cells)
	}
	for _, trial := range found.Trials { // one in each era
		if trial.Role != protocol.ClientRole || !trial.Matched || !trial.Caught || trial.Touched == 0 {
			t.Errorf("found %+v", trial)
		}
	}
	only, err := Run(context.Background(), Options{Role: protocol.ClientRole, Filter: of, Workers: 1})
	if err != nil || only.Target.Role != protocol.ClientRole || len(only.Trials) != 2 {
		t.Errorf("found %+v, %v", only, err)
	}
	if _, err := Run(context.Background(), Options{Role: protocol.ServerRole, Filter: of}); err == nil {
		t.Error("a fault of a client is tried on servers")
	}
}

// What is met in a scenario, all checks meet that look there.
func TestBasesOfClients(t *testing.T) {
	t.Parallel()
	declared := declared()[ofServers]
	for i := range declared {
		declared[i].Scenario = &scenario.Scenario{Name: "opening"}
	}
	on := newBase(check.Cell{Role: protocol.ClientRole}, declared)
	on.take(done{Met: map[string][]string{"opening": {"a"}, "closing": {"b"}}})
	if !on.touched["a"][pingAnswers] || !on.touched["a"][toolsLists] || len(on.touched["a"]) != 2 || len(on.touched["b"]) > 0 {
		t.Errorf("touched are %v", on.touched)
	}
}
