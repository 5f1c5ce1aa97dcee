package reach

import (
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// A server that ends one connection, and leaves others in peace for longer, does not exit by
// itself.
func TestOutlives(t *testing.T) {
	t.Parallel()
	began := time.Unix(0, 0)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	says := func(seconds float64, from protocol.Party) transcript.Event {
		return transcript.Event{At: at(seconds), From: from, Kind: transcript.Message}
	}
	// It answered at once, was asked something after a second, and exited.
	ended := []transcript.Event{
		says(0, protocol.Server), says(1, protocol.Client),
		{At: at(1.1), From: protocol.Server, Kind: transcript.Exit},
	}
	for name, test := range map[string]struct {
		closed float64
		alive  [][]transcript.Event
		after  time.Duration
	}{
		"nothing else":                     {0, nil, never},
		"one was closed later":             {5, nil, never},
		"one is idle, and began later":     {0, [][]transcript.Event{{says(1, protocol.Server)}}, 101 * time.Millisecond},
		"one is idle, another was closed":  {5, [][]transcript.Event{{says(1, protocol.Client), says(1, protocol.Server)}}, 0},
		"one is idle, and began before":    {0, [][]transcript.Event{{says(0, protocol.Client), says(0, protocol.Server)}}, 0},
		"one is older, and was just asked": {0, [][]transcript.Event{{says(0, protocol.Server), says(1.95, protocol.Client)}}, 51 * time.Millisecond},
	} {
		if got := Outlives(ended, time.Duration(test.closed*float64(time.Second)), test.alive, at(2)); got != test.after {
			t.Errorf("%s: after %s", name, got)
		}
	}
}
