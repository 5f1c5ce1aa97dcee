package scenario

import (
	"errors"
	"testing"

	"github.com/mcpconform/mcpconform/internal/target"
)

// How a client ends takes nothing from what it did before.
func TestHowAClientEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was    Exit
		ending target.Ending
		stuck  error
		wanted Exit
	}{
		"well":       {Exit{}, target.Ending{}, nil, Exit{Status: "exited with status 0"}},
		"by a crash": {Exit{}, target.Ending{Exit: target.Exit{Code: 3}}, nil, Exit{Status: "exited with status 3", Failed: true}},
		"by the harness": {
			Exit{Ended: true}, target.Ending{Exit: target.Exit{Code: -1, Signal: "SIGTERM"}}, nil,
			Exit{Status: "was killed by SIGTERM", Signal: "SIGTERM", Ended: true},
		},
		"not at all": {Exit{}, target.Ending{}, errors.New("it stays"), Exit{Status: "could not be ended: it stays", Ended: true}},
	} {
		exit := endedAs(test.was, test.ending, test.stuck)
		if exit.Status != test.wanted.Status || exit.Signal != test.wanted.Signal || exit.Ended != test.wanted.Ended || exit.Failed != test.wanted.Failed {
			t.Errorf("%s: %+v", name, exit)
		}
	}
}
