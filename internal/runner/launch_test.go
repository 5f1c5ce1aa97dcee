package runner

import (
	"errors"
	"testing"

	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/target"
)

// How a client ends takes nothing from what it did before.
func TestHowAClientEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was    scenario.Exit
		ending target.Ending
		stuck  error
		wanted scenario.Exit
	}{
		"well":       {scenario.Exit{}, target.Ending{}, nil, scenario.Exit{Status: "exited with status 0"}},
		"by a crash": {scenario.Exit{}, target.Ending{Exit: target.Exit{Code: 3}}, nil, scenario.Exit{Status: "exited with status 3", Failed: true}},
		"by the harness": {
			scenario.Exit{Ended: true}, target.Ending{Exit: target.Exit{Code: -1, Signal: "SIGTERM"}}, nil,
			scenario.Exit{Status: "was killed by SIGTERM", Ended: true},
		},
		"not at all": {scenario.Exit{}, target.Ending{}, errors.New("it stays"), scenario.Exit{Status: "could not be ended: it stays", Ended: true}},
	} {
		exit := endedAs(test.was, test.ending, test.stuck)
		if exit.Status != test.wanted.Status || exit.Ended != test.wanted.Ended || exit.Failed != test.wanted.Failed {
			t.Errorf("%s: %+v", name, exit)
		}
	}
}
