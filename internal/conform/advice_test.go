package conform

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
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
			environment := environment(t, protocol.Stdio)
			environment.Role = protocol.ClientRole
			environment.Recordings = map[string]*scenario.Recording{
				"scenario": recordOf("scenario", scenario.Exit{}, called),
			}
			scenario := &scenario.Scenario{Name: "scenario", Steps: scenario.Steps{
				scenario.ToAnswer("sampling/createMessage", Object{}), scenario.ToAnswer("roots/list", Object{}),
				scenario.ToConnect(), scenario.ToCall("t", nil), scenario.ToCall("other", nil),
			}}

			outcomes := perform(environment, func() {
				It("needs", Verifies("ping.answered"), In(scenario), func(t *T) { test.needs(RunScenario(t)) })
			})

			if outcome := outcomes["needs"]; outcome.Reason != test.reason || outcome.Hint != test.hint {
				t.Errorf("%q, %q", outcome.Reason, outcome.Hint)
			}
		})
	}
}

// A client that hangs is not told to have been killed by somebody.
func TestInsteadOfWhatAClientThatHangsWasToDo(t *testing.T) {
	environment := environment(t, protocol.Stdio)
	environment.Role = protocol.ClientRole
	environment.Recordings = map[string]*scenario.Recording{
		"scenario": recordOf("scenario", scenario.Exit{Ended: true, Status: "was killed by SIGTERM"}, listed),
	}
	scenario := &scenario.Scenario{Name: "scenario", Steps: scenario.Steps{scenario.ToConnect()}}
	var instead string

	perform(environment, func() {
		It("hangs", Verifies("ping.answered"), In(scenario), func(t *T) { instead = RunScenario(t).Instead() })
	})

	if instead != "nothing more after tools/list, and it had to be terminated" {
		t.Error(instead)
	}
}
