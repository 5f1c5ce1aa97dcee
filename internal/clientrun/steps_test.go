package clientrun

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

func TestStepsThatBringAboutMessages(t *testing.T) {
	t.Parallel()
	told := scenario.Steps{scenario.ToConnect(), scenario.ToList("tools"), scenario.ToList("prompts")}
	for method, want := range map[string]string{"tools/list": "list-tools", "prompts/list": "list-prompts", "resources/list": "", "initialize": "connect", "tools/call": ""} {
		if id := told.Bringing(method); id != want {
			t.Errorf("%s is brought about by step %q, not %q", method, id, want)
		}
	}
}

// What a driver tells proves that a step was done if it tells of that step, shows what
// the API gave, and does not say of others that they are done which no message shows.
func TestProofsOfSteps(t *testing.T) {
	const gave, gaveNothing = `{"step":%d,"outcome":"done","result":[{"name":"t"}]}` + "\n", `{"step":%d,"outcome":"done","result":[]}` + "\n"
	tell := func(lines ...string) scenario.Exit { return scenario.Exit{Output: []byte(strings.Join(lines, ""))} }
	of := func(format string, step int) string { return fmt.Sprintf(format, step) }
	again := func(client *Client) { client.NeedResult("list-tools-2") }
	cancelled := func(client *Client) { client.NeedCancelled("x", "cancel-x") }
	over := func(client *Client) { client.NeedFinished("list-tools", AnswerTo(client.Requests("tools/list")[0])) }
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
			in := &scenario.Scenario{Name: "scenario", Steps: scenario.Steps{
				scenario.ToConnect(), scenario.ToList("tools"), scenario.ToList("tools"), scenario.ToCall("t", nil).As("x"), scenario.ToCancel("x"), scenario.ToList("tools"),
			}}

			outcome := look(t, in, func(t *T) { test.proof(RunScenario(t)) }, test.played)

			if (outcome.Ending == Passed) != test.proven {
				t.Errorf("ended as %q: %s", outcome.Ending, outcome.Reason)
			}
		})
	}
}

// A check that refers to a step which its scenario does not have is at fault, not the client.
func TestStepThatIsNotThere(t *testing.T) {
	in := &scenario.Scenario{Name: "scenario", Steps: scenario.Steps{scenario.ToConnect(), scenario.ToList("tools")}}
	defer func() {
		want := `the check "" refers to the step "list-tool", which the scenario "scenario" does not have, did you mean "list-tools"?`
		if text, _ := recover().(string); !strings.HasSuffix(text, want) {
			t.Errorf("told %q, wanted %q", text, want)
		}
	}()
	look(t, in, func(t *T) { RunScenario(t).NeedResult("list-tool") }, recordOf("scenario", scenario.Exit{}, listed, list))
}
