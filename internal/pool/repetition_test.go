package pool

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/worker"
)

// What the run has no time to repeat stays open.
func TestDoubtsAtTheEndOfARun(t *testing.T) {
	t.Parallel()
	d, found := unhurried(t, nil)
	d.take("a", worker.Checked{
		Text: "answers", Requirements: []string{"ping.answered"},
		Outcome: check.Outcome{Ending: check.Failed, Doubtful: true, Mismatches: []rules.Mismatch{{Wanted: "a", Found: "b"}}},
	}, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.confirm(ctx); err != nil {
		t.Fatal(err)
	}
	if len(found.checked) != 1 || found.checked[0].Outcome.Ending != check.Inconclusion ||
		found.checked[0].Outcome.Hint == "" {
		t.Errorf("%+v", found.checked)
	}
}

// What waits for a process of its own waits beside others of its kind; what needs peace, or
// another target that all share, alone.
func TestWhatIsRepeatedSideBySide(t *testing.T) {
	t.Parallel()
	late := check.Outcome{Doubtful: true, Late: &check.Late{For: "ping", Waited: time.Second}}
	starting := check.Outcome{Doubtful: true, Late: &check.Late{For: scope.Starting, Waited: time.Second}}
	for name, test := range map[string]struct {
		cell       check.Cell
		declared   check.Declaration
		outcome    check.Outcome
		overBudget bool
		apart      bool
	}{
		"a server's process":      {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, late, false, true},
		"a client's process":      {check.Cell{Role: protocol.ClientRole, Transport: protocol.HTTP}, check.Declaration{}, late, false, true},
		"one that was disturbed":  {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, check.Outcome{Disturbed: true}, false, true},
		"a server that all share": {check.Cell{Role: protocol.ServerRole, Transport: protocol.HTTP}, check.Declaration{}, late, false, false},
		"a lost connection":       {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, check.Outcome{Doubtful: true}, false, false},
		"one that needs peace":    {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{Alone: true}, late, false, false},
		"a login":                 {check.Cell{Role: protocol.ClientRole, Transport: protocol.HTTP}, check.Declaration{InTurn: true}, late, false, false},
		"one that did not start":  {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, starting, false, false},
		"no room":                 {check.Cell{Role: protocol.ServerRole, Transport: protocol.Stdio}, check.Declaration{}, late, true, false},
	} {
		test.declared.Text = "answers"
		d := newCoordinator(Job{
			Plan: worker.Plan{Cells: []worker.Cell{{Cell: test.cell}}}, Checks: []plan.Declared{{Check: &test.declared}},
		}, nil)
		d.overBudget = test.overBudget
		one := doubt{key: worker.KeyOf(test.cell.Name(), "answers"), found: worker.Checked{Outcome: test.outcome}}
		if d.apart(one) != test.apart {
			t.Errorf("%s: %t", name, !test.apart)
		}
		if d.slow = true; d.apart(one) {
			t.Errorf("%s: beside others on a machine that is too slow", name)
		}
	}
}

// A check for which there was no room when it was repeated beside others stays in doubt, and is
// repeated once more.
func TestARepeatedCheckWithoutRoomIsRepeatedAgain(t *testing.T) {
	t.Parallel()
	d, _ := unhurried(t, scope.Pace{"ping": time.Millisecond})
	before := worker.Checked{Outcome: check.Outcome{Doubtful: true, Late: &check.Late{For: "ping", Waited: time.Second}}}
	d.take("a", before, false)
	if keys := d.toRepeat(); !slices.Equal(keys, []string{"a"}) {
		t.Fatalf("%q are repeated", keys)
	}
	d.take("a", worker.Checked{Outcome: check.Outcome{Ending: check.Deferred}}, true)
	if keys := d.toRepeat(); !slices.Equal(keys, []string{"a"}) || !d.overBudget {
		t.Errorf("then %q, overBudget is %t", keys, d.overBudget)
	}
}

// A check during whose repetition the target goes away has one result.
func TestATargetThatGoesAwayWhileACheckIsRepeated(t *testing.T) {
	t.Parallel()
	d, found := unhurried(t, scope.Pace{"ping": time.Millisecond})
	before := worker.Checked{
		Text: "answers", Requirements: []string{"ping.answered"},
		Outcome: check.Outcome{Doubtful: true, Late: &check.Late{For: "ping", Waited: time.Second}},
	}
	d.take("a", before, false)
	d.toRepeat()
	gone := before
	gone.Outcome = check.Outcome{Ending: check.Inconclusion, Gone: "ping"}
	d.take("a", gone, true)
	if err := d.confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(found.checked) != 1 {
		t.Errorf("%d results: %+v", len(found.checked), found.checked)
	}
}

// What cannot be repeated stands if it is no failure, and rests on no wait.
func TestWhatStandsThoughItIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		outcome check.Outcome
		stands  bool
	}{
		"a skip":           {check.Outcome{Ending: check.Skipped, Disturbed: true}, true},
		"a pass":           {check.Outcome{Ending: check.Passed, Disturbed: true}, true},
		"a skip by a wait": {check.Outcome{Ending: check.Skipped, Doubtful: true}, false},
		"a failure":        {check.Outcome{Ending: check.Failed, Disturbed: true}, false},
	} {
		d, _ := unhurried(t, nil)
		for _, left := range []check.Outcome{d.unrepeated(test.outcome), unconfirmed(test.outcome, "it ended")} {
			if (left.Ending == test.outcome.Ending) != test.stands || !test.stands && left.Ending != check.Inconclusion {
				t.Errorf("%s: %+v is left", name, left)
			}
		}
	}
}
