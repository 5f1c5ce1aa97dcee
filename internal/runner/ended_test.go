package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/pool"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// onOneCell collects what is found on a cell.
func onOneCell(t *testing.T, pace scope.Pace) (*collector, *cellState) {
	t.Helper()
	known, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	state := &cellState{
		findings: map[string]*found{}, pace: pace,
		rules:  []rules.Rule{{Verifies: rules.Verifies(session.AnsweredRequirement)}},
		report: reports.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.Stdio},
	}
	return &collector{catalogue: known, cells: []*cellState{state}, report: &reports.Run{}}, state
}

// broken counts what a cell has found broken.
func (s *cellState) broken() int {
	count := 0
	for _, one := range s.findings {
		count += len(one.breaches)
	}
	for _, result := range s.report.Results {
		if result.Verdict == reports.Failed || result.Verdict == reports.Warned {
			count++
		}
	}
	return count
}

// A request without a reply breaks one requirement, also when the server is gone by then.
func TestARequestWithoutAReply(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"", "initialize was not answered"} {
		all, state := onOneCell(t, nil)
		found := worker.Checked{
			Text: "answers", Requirements: []string{"ping.answered"}, Evidence: true,
			Outcome: check.Outcome{
				Ending: check.Inconclusion, Reason: "no reply", NoReply: &check.NoReply{To: "ping"}, Gone: gone,
			},
		}
		if gone != "" {
			all.End(found)
		}
		all.Checked(found)
		if state.broken() != 1 || state.report.Results[0].Verdict != reports.Inconclusive {
			t.Errorf("gone %q: %d broken, %+v", gone, state.broken(), state.report.Results)
		}
	}
}

// A server that is silent on a new connection, too, may only be late there as well.
func TestAServerThatIsLateEverywhereIsNotGone(t *testing.T) {
	t.Parallel()
	for slowest, overloaded := range map[time.Duration]bool{time.Millisecond: false, 20 * time.Second: true} {
		all, state := onOneCell(t, scope.Pace{scope.Starting: slowest})
		all.End(worker.Checked{Outcome: check.Outcome{
			Ending: check.Inconclusion, Gone: "initialize was not answered",
			GoneLate: &check.Late{For: scope.Starting, Waited: time.Minute},
		}})
		if strings.HasPrefix(state.report.Ended.Reason, pool.Overloaded) != overloaded {
			t.Errorf("slowest %s: %+v", slowest, state.report.Ended)
		}
	}
}

// A cell that the machine cannot carry ends, and says what to do.
func TestACellThatTheMachineCannotCarryEnds(t *testing.T) {
	t.Parallel()
	all, state := onOneCell(t, nil)
	all.Overload(0, "no reply")
	all.Overload(0, "another reason")
	ended := state.report.Ended
	if ended == nil || ended.Reason != pool.Overloaded+": no reply" || ended.Hint == "" {
		t.Errorf("the cell ended: %+v", ended)
	}
	if why, is := all.Ended(0); !is || why != pool.Overloaded || !all.Permit(0).Ended {
		t.Errorf("the cell ended: %t, %q", is, why)
	}
}
