package clientrun

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// A response under an id that no request has may be meant for one that has no answer.
func TestDemandNoResponse(t *testing.T) {
	t.Parallel()
	const (
		asked    = `<{"jsonrpc":"2.0","id":"a","method":"ping"}`
		answered = `>{"jsonrpc":"2.0","id":"a","result":{}}`
		notified = `<{"jsonrpc":"2.0","method":"notifications/message"}`
		stray    = `>{"jsonrpc":"2.0","id":null,"result":{}}`
	)
	well := scenario.Exit{}
	for name, test := range map[string]struct {
		recording *scenario.Recording
		want      Ending
	}{
		"none":                           {recordOf("scenario", well, asked, answered, notified), Passed},
		"one":                            {recordOf("scenario", well, asked, answered, notified, stray), Failed},
		"one before the notification":    {recordOf("scenario", well, stray, notified), Passed},
		"one for the request":            {recordOf("scenario", well, asked, notified, stray), Passed},
		"one for the request, and one":   {recordOf("scenario", well, asked, notified, stray, stray), Failed},
		"one, and the answer to request": {recordOf("scenario", well, asked, notified, stray, answered), Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := look(t, &scenario.Scenario{Name: "scenario"}, func(t *T) {
				client := RunScenario(t)
				client.DemandNoResponse(client.FromServer("notifications/message")[0])
			}, test.recording)
			if outcome.Ending != test.want {
				t.Errorf("%+v", outcome)
			}
		})
	}
}
