package conform

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

func TestStepsThatBringAboutMessages(t *testing.T) {
	t.Parallel()
	told := scenario.Steps{scenario.ToConnect(), scenario.ToList("tools"), scenario.ToList("prompts")}
	for method, want := range map[string]int{"tools/list": 1, "prompts/list": 2, "resources/list": -1, "initialize": 0, "tools/call": -1} {
		if at := told.Bringing(method); at != want {
			t.Errorf("%s is brought about by step %d, not %d", method, at, want)
		}
	}
}

// What a driver tells proves that a step was done if it tells of that step, shows what
// the API gave, and does not say of others that they are done which no message shows.
func TestProofsOfSteps(t *testing.T) {
	const gave, gaveNothing = `{"step":%d,"outcome":"done","result":[{"name":"t"}]}` + "\n", `{"step":%d,"outcome":"done","result":[]}` + "\n"
	tell := func(lines ...string) scenario.Exit { return scenario.Exit{Output: []byte(strings.Join(lines, ""))} }
	of := func(format string, step int) string { return fmt.Sprintf(format, step) }
	again := func(client *Client) { client.NeedGiven(2) }
	cancelled := func(client *Client) { client.NeedGaveUp(3, 4) }
	over := func(client *Client) { client.NeedOver(1, AnswerTo(client.Requests("tools/list")[0])) }
	for name, test := range map[string]struct {
		played *scenario.Recording
		proof  func(*Client)
		proven bool
	}{
		"tells nothing":                {recordOf("scenario", tell(), listed, list), again, false},
		"tells of a later step":        {recordOf("scenario", tell(of(gave, 1), of(done, 4)), listed, list), again, false},
		"says that it is done":         {recordOf("scenario", tell(of(gave, 1), of(done, 2)), listed, list), again, false},
		"shows nothing":                {recordOf("scenario", tell(of(gave, 1), of(gaveNothing, 2)), listed, list), again, false},
		"says that it failed":          {recordOf("scenario", tell(of(gave, 1), of(failed, 2)), listed, list), again, false},
		"shows what it got":            {recordOf("scenario", tell(of(gave, 1), of(gave, 2)), listed, list), again, true},
		"is not believed":              {recordOf("scenario", tell(of(done, 1), of(gave, 2))), again, false},
		"cancels":                      {recordOf("scenario", tell(of(gave, 1), of(failed, 3), of(done, 4), of(gave, 5)), listed, list, called), cancelled, true},
		"says that it cancelled":       {recordOf("scenario", tell(of(gave, 1), of(done, 4), of(gave, 5)), listed, list, called), cancelled, false},
		"cancels when all is over":     {recordOf("scenario", tell(of(gave, 1), of(done, 4), of(gave, 5), of(failed, 3)), listed, list, called), cancelled, false},
		"has the answer all the same":  {recordOf("scenario", tell(of(gave, 1), of(gave, 3), of(done, 4)), listed, list, called), cancelled, false},
		"is over, and says so":         {recordOf("scenario", tell(of(failed, 1)), listed, list), over, true},
		"is over, and asks for more":   {recordOf("scenario", tell(), listed, list, called), over, true},
		"may be in the middle of that": {recordOf("scenario", tell(), listed, list), over, false},
	} {
		t.Run(name, func(t *testing.T) {
			environment := environment(t, protocol.Stdio)
			environment.Role = protocol.ClientRole
			environment.Recordings = map[string]*scenario.Recording{"scenario": test.played}
			scenario := &scenario.Scenario{Name: "scenario", Steps: scenario.Steps{
				scenario.ToConnect(), scenario.ToList("tools"), scenario.ToList("tools"), scenario.ToCall("t", nil).As("x"), scenario.ToCancel("x"), scenario.ToList("tools"),
			}}

			outcomes := perform(environment, func() {
				It("proves", Verifies("ping.answered"), In(scenario), func(t *T) { test.proof(RunScenario(t)) })
			})

			if outcome := outcomes["proves"]; (outcome.Ending == Passed) != test.proven {
				t.Errorf("ended as %q: %s", outcome.Ending, outcome.Reason)
			}
		})
	}
}
