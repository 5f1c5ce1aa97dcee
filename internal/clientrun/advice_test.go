package clientrun

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// What a client has not done is told of that step, not of another of the same verb.
func TestAdviceOfTheStepThatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		needs        func(*Client)
		reason, hint string
	}{
		"a call of another tool": {
			func(client *Client) { client.NeedCalls("other") },
			"the client never called other", "let the client call the tool other with {}",
		},
		"another answer": {
			func(client *Client) { client.NeedResponses("roots/list") },
			"the client never sent roots/list", "let the client answer roots/list with {}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := &scenario.Scenario{Name: "scenario", Steps: scenario.Steps{
				scenario.ToAnswer("sampling/createMessage", Object{}), scenario.ToAnswer("roots/list", Object{}),
				scenario.ToConnect(), scenario.ToCall("t", nil), scenario.ToCall("other", nil),
			}}

			outcome := look(t, in, func(t *T) { test.needs(RunScenario(t)) }, recordOf("scenario", scenario.Exit{}, called))

			if outcome.Reason != test.reason || outcome.Hint != test.hint {
				t.Errorf("%q, %q", outcome.Reason, outcome.Hint)
			}
		})
	}
}

// A client that the harness had to terminate is not reported as killed by a signal.
func TestInsteadOfWhatAClientThatHangsWasToDo(t *testing.T) {
	in := &scenario.Scenario{Name: "scenario", Steps: scenario.Steps{scenario.ToConnect()}}
	var instead string

	look(t, in, func(t *T) { instead = RunScenario(t).HowItEnded() },
		recordOf("scenario", scenario.Exit{Ended: true, Status: "was killed by SIGTERM"}, listed))

	if instead != "nothing more after tools/list, and it had to be terminated" {
		t.Error(instead)
	}
}
