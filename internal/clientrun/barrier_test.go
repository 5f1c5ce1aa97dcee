package clientrun

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
)

// Parts of a run of a client over stdio.
const (
	listed = `>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	list   = `<{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`
	pinged = `>{"jsonrpc":"2.0","id":2,"method":"ping"}`
	called = `>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}`
	done   = `{"step":%d,"outcome":"done"}` + "\n"
	failed = `{"step":%d,"outcome":"failed","error":"cannot\nread"}` + "\n"
)

func recordOf(name string, exit scenario.Exit, messages ...string) *scenario.Recording {
	return &scenario.Recording{Scenario: name, Exit: exit,
		Connections: []scenario.Recorded{{Name: name, Events: scopetest.Said(messages...), Complete: true}}}
}

// What did not happen after a message is a failure only with a sign that something
// went wrong, and only of a client that does well otherwise.
func TestGoingOn(t *testing.T) {
	told := func(format string, step int) scenario.Exit {
		return scenario.Exit{Output: fmt.Appendf(nil, format, step)}
	}
	unknown := scenario.ToRead("test://one") // a kind of step that Meeting does not have
	well, crashed := scenario.Exit{}, scenario.Exit{Failed: true, Status: "exited with status 1", Stderr: []byte("at line 1\nboom\n")}
	for name, test := range map[string]struct {
		met    scenario.Exit
		played *scenario.Recording
		ending Ending
		found  string
		then   scenario.Step // in place of another list of tools
		errors []string
	}{
		"goes on":                  {well, recordOf("scenario", well, listed, list, called), Passed, "", nil, nil},
		"goes on, and fails later": {well, recordOf("scenario", crashed, listed, list, called), Passed, "", nil, nil},
		"pings":                    {well, recordOf("scenario", well, listed, list, pinged), Inconclusion, "", nil, nil},
		"leaves":                   {well, recordOf("scenario", well, listed, list), Inconclusion, "", nil, nil},
		"leaves as it says":        {well, recordOf("scenario", told(done, 1), listed, list), Inconclusion, "", nil, nil},
		"crashes":                  {well, recordOf("scenario", crashed, listed, list), Failed, `nothing more; the client exited with status 1, and its standard error ends with "boom"`, nil, nil},
		"crashes always":           {crashed, recordOf("scenario", crashed, listed, list), Inconclusion, "", nil, nil},
		"hangs":                    {well, recordOf("scenario", scenario.Exit{Ended: true}, listed, list), Failed, "nothing more; the client had to be terminated", nil, nil},
		"fails as it says":         {well, recordOf("scenario", told(failed, 1), listed, list), Failed, `nothing more; the step {"do":"list","of":"tools"} failed: cannot read`, nil, nil},
		"gives up as it was told":  {well, recordOf("scenario", told(failed, 2), listed, list), Inconclusion, "", nil, nil},
		"fails at the unknown":     {well, recordOf("scenario", told(failed, 3), listed, list), Inconclusion, "", unknown, nil},
		"crashes at the unknown":   {well, recordOf("scenario", crashed, listed, list), Inconclusion, "", unknown, nil},
		"hangs at the unknown":     {well, recordOf("scenario", scenario.Exit{Ended: true}, listed, list), Inconclusion, "", unknown, nil},
		"waits as it was told":     {well, recordOf("scenario", scenario.Exit{Ended: true}, listed, list), Inconclusion, "", scenario.ToWaitFor("ping"), nil},
		"fails at an error":        {well, recordOf("scenario", told(failed, 1), listed, list), Inconclusion, "", nil, []string{"list-tools"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.then == nil {
				test.then = scenario.ToList("tools")
			}
			planned := &scenario.Scenario{Name: "scenario", Refused: test.errors, Steps: scenario.Steps{scenario.ToConnect(), scenario.ToList("tools"), scenario.ToCall("t", nil).As("x"), test.then}}

			outcome := look(t, planned, func(t *T) {
				client := RunScenario(t)
				client.Continues(AnswerTo(client.NeedRequests("tools/list")[0]), "the list")
			}, test.played, recordOf(scenario.Meeting.Name, test.met, listed, list, called))

			if outcome.Ending != test.ending || len(outcome.Mismatches) > 0 && outcome.Mismatches[0].Found != test.found {
				t.Errorf("ended as %q: %s %v", outcome.Ending, outcome.Reason, outcome.Mismatches)
			}
		})
	}
}

// A response of the client after a notification shows that it goes on, as a request does.
// One after a response, for which a call in the client waits, or before the notification
// does not.
func TestGoingOnByAnswers(t *testing.T) {
	const (
		asked    = `<{"jsonrpc":"2.0","id":"p","method":"ping"}`
		answered = `>{"jsonrpc":"2.0","id":"p","result":{}}`
		changed  = `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	)
	crashed := scenario.Exit{Failed: true, Status: "exited with status 1"}
	for name, test := range map[string]struct {
		texts  []string
		usable bool // or else it is to go on after the list
		ending Ending
	}{
		"answers after a notification":     {[]string{listed, changed, asked, answered, list}, true, Passed},
		"answers what came before it":      {[]string{listed, asked, changed, answered, list}, true, Failed},
		"does not answer":                  {[]string{listed, changed, asked, list}, true, Failed},
		"answers after a response":         {[]string{listed, list, asked, answered}, false, Failed},
		"asks after a response":            {[]string{listed, list, asked, answered, called}, false, Passed},
		"answers and asks after a message": {[]string{listed, changed, asked, answered, list, called}, true, Passed},
	} {
		t.Run(name, func(t *testing.T) {
			planned := &scenario.Scenario{
				Name: "scenario", Steps: scenario.Steps{scenario.ToConnect(), scenario.ToList("tools"), scenario.ToList("tools")},
			}

			outcome := look(t, planned, func(t *T) {
				client := RunScenario(t)
				if test.usable {
					client.StaysUsable(client.FromServer("notifications/tools/list_changed")[0], "a notification")
					return
				}
				client.Continues(AnswerTo(client.NeedRequests("tools/list")[0]), "the list")
			}, recordOf("scenario", crashed, test.texts...), recordOf(scenario.Meeting.Name, scenario.Exit{}, listed, list, called))

			if outcome.Ending != test.ending {
				t.Errorf("ended as %q: %s %v", outcome.Ending, outcome.Reason, outcome.Mismatches)
			}
		})
	}
}

// A client that goes on with another connection does not go on.
func TestGoingOnElsewhere(t *testing.T) {
	first, second := recordOf("scenario", scenario.Exit{}, listed, list), recordOf("other", scenario.Exit{}, called)
	second.Connections[0].Events[0].At = time.UnixMilli(9) // behind all of the first
	for _, recorded := range [][]scenario.Recorded{first.Connections, second.Connections} {
		for position := range recorded[0].Events {
			recorded[0].Events[position].Connection = recorded[0].Name
		}
	}
	first.Connections = append(first.Connections, second.Connections...)
	meeting := recordOf(scenario.Meeting.Name, scenario.Exit{}, listed, list, called)

	outcome := look(t, &scenario.Scenario{Name: "scenario"}, func(t *T) {
		client := RunScenario(t)
		client.Continues(AnswerTo(client.NeedRequests("tools/list")[0]), "the list")
	}, first, meeting)
	beside := look(t, &scenario.Scenario{Name: "scenario "}, func(t *T) {
		known := AlsoRun(t, scenario.Meeting) != nil && AlsoRun(t, &scenario.Scenario{Name: "never played"}) == nil
		t.Demand(known, "what was recorded, and nothing else", "another record")
	}, first, meeting)

	if outcome.Ending != Failed || !strings.HasSuffix(outcome.Mismatches[0].Found, "tools/call") {
		t.Errorf("ended as %q: %v", outcome.Ending, outcome.Mismatches)
	}
	if beside.Ending == Failed {
		t.Error(beside)
	}
}

// A scenario in which the server speaks another revision is judged by no rules, and one
// of no name names none.
func TestScenariosOfOtherRevisions(t *testing.T) {
	t.Parallel()
	cell := Cell{Role: protocol.ClientRole, Revision: "2026-07-28", Transport: protocol.Stdio}
	planned := &scenario.Scenario{Name: "scenario", Speaks: "2025-11-25"}
	if of := cellIn(planned, cell); of.Revision != "2025-11-25" || of.Role != cell.Role || cellIn(&scenario.Scenario{}, cell) != cell {
		t.Errorf("%+v", of)
	}
	judged := -1
	runner := &Runner{Scope: &scope.Scope{Cell: cell, Rules: []rules.Rule{{Text: "r"}}, Record: func(record scope.Connection) { judged = len(record.Findings) }}}
	runner.judgeClient(newClient(runner, planned, recordOf("scenario", scenario.Exit{}, listed, list), nil), nil)
	if judged != 0 {
		t.Errorf("%d findings", judged)
	}
}
