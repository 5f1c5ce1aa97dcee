package session

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// A check for whose connections there was no room is put off where others run, and
// what came is not judged; alone it has the outcome that it has. Either way the
// room is given back.
func TestChecksWithoutRoomArePutOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(minimal))
	defer server.Close()
	for name, test := range map[string]struct {
		concurrent, overBudget bool
		ending                 Ending
		judged                 int
	}{
		"in company, with room": {true, false, Failed, 1},
		"in company, without":   {true, true, Deferred, 0},
		"alone, without":        {false, true, Failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			const all = 1 << 20
			judged := 0
			environment := environment(t, protocol.HTTP)
			environment.Target = scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: 20 * time.Second}
			environment.Budget, environment.Concurrent = transcript.NewMemoryBudget(all), test.concurrent
			environment.Record = func(scope.Connection) { judged++ }
			running := environment.Begin(t.Context(), &Declaration{})
			running.Outcome.Ending = Failed
			connected := Connect(running)
			if _, err := connected.Connection.Call(t.Context(), "ping", nil); err != nil {
				t.Fatal(err)
			}
			if test.overBudget && connected.Log().Take(all) {
				t.Fatal("there is more room than there is")
			}

			outcome, exchanges := End(running, false)
			Finish(environment)

			if outcome.Ending != test.ending || len(exchanges) != 1 || judged != test.judged {
				t.Errorf("ended as %q with %d exchanges, judged %d times", outcome.Ending, len(exchanges), judged)
			}
			if left := environment.Budget.Left(); left != all {
				t.Errorf("%d bytes are not given back", all-left)
			}
		})
	}
}

// A session whose record takes room is kept for other checks only as long as there is enough.
func TestNoSessionIsKeptWhereRoomIsScarce(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(minimal))
	defer server.Close()
	const all = 1 << 20
	for taken, want := range map[int]int{0: 1, all * 3 / 4: 0} {
		environment := environment(t, protocol.HTTP)
		environment.Target = scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: 20 * time.Second}
		environment.Budget = transcript.NewMemoryBudget(all)
		transcript.NewLogIn(environment.Budget, "others").Take(taken)
		running := environment.Begin(t.Context(), &Declaration{})
		Connect(running).mayLeave = nothingOpen

		End(running, false)

		if kept := len(environment.alive()); kept != want {
			t.Errorf("with %d bytes taken %d sessions are kept, not %d", taken, kept, want)
		}
		Finish(environment)
	}
}
