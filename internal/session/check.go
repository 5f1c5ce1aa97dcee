package session

import (
	"context"
	"slices"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/reach"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// running is what this package keeps of a check that runs.
type running struct {
	environment *Environment
	servers     []*Server
}

type runningKey struct{}

func runningOf(t *T) *running {
	of, _ := t.Value(runningKey{}).(*running)
	return of
}

func environmentOf(t *T) *Environment { return runningOf(t).environment }

// Begin makes a check that runs in the environment.
func (e *Environment) Begin(ctx context.Context, declared *Declaration) *T {
	t := New(ctx, e.Cell, declared)
	t.Keep(runningKey{}, &running{environment: e})
	e.Offer.Begin(t)
	if e.Client != nil {
		e.Client.Begin(t)
	}
	if e.Issuer != nil {
		e.Issuer.Begin(t)
	}
	return t
}

// Know tells the environment the checks of its role.
func (e *Environment) Know(declared []*Declaration) {
	if e.Client != nil {
		e.Client.Know(declared)
	}
}

// End puts away what a check used and returns how it went: its outcome and
// what went over the wire meanwhile, connection by connection. It is called
// after the check; broken tells that it did not come to an end of its own.
func End(t *T, broken bool) (Outcome, [][]transcript.Event) {
	done := runningOf(t)
	failed := broken || t.Outcome.Ending == Failed
	passed := !broken && t.Outcome.Ending == Passed
	t.Outcome.Disturbed = !passed && slices.ContainsFunc(done.servers, (*Server).isUsed) ||
		clientrun.Disturbed(t, passed)
	var ended []transcript.Event
	if t.Outcome.Doubtful {
		ended = done.ended() // before the connections are closed
	}
	var exchanges [][]transcript.Event
	for _, server := range done.servers {
		if done.environment.Concurrent && server.Log().OverBudget() {
			t.Outcome = Outcome{Ending: Deferred}
		}
		events := server.events()
		if len(events) > 0 {
			exchanges = append(exchanges, events)
		}
		if failed || !done.environment.keep(server, events, t.Outcome) {
			server.end()
		}
	}
	if t.Outcome.Unproven() && limited(exchanges) {
		t.Outcome = turnedAway("a request", "HTTP 429 (Too Many Requests)")
	}
	if done.environment.Concurrent && clientrun.OverBudget(t) {
		t.Outcome = Outcome{Ending: Deferred} // the check judged an incomplete record
	}
	if client := clientrun.LookedAt(t); client != nil {
		t.Outcome.Idle = client.Idle()
		for _, connection := range client.Connections {
			exchanges = append(exchanges, connection.Events)
		}
		if authorization := client.Authorization; authorization != nil {
			exchanges = append(exchanges, authorization.Events)
		}
	}
	if t.Outcome.Ending != Failed {
		t.Outcome.Judged = transcript.Place{}
	}
	if done.environment.Fresh {
		done.environment.leave()
	} else if t.Outcome.Doubtful && len(done.servers) > 0 {
		if t.Outcome.Quit = done.environment.quits(ended); t.Outcome.Quit == nil {
			t.Outcome.Gone, t.Outcome.GoneLate = reach.Unreachable(&done.environment.Offer)
		}
	}
	return t.Outcome, exchanges
}

// ended is what went over the wire on a connection of the check that the server has ended by
// itself; nil for none.
func (c *running) ended() []transcript.Event {
	for _, server := range c.servers {
		events := server.Log().Events()
		if _, ended := reach.LivedFor(events); ended {
			return events
		}
	}
	return nil
}

// quits tells whether a server that has ended a connection ends it as well where it is asked
// nothing. That is looked at once, where no other connection shows it as soon as one of its own.
func (e *Environment) quits(ended []transcript.Event) *Quit {
	if len(ended) == 0 || e.leftInPeace {
		return e.quit
	}
	outlived := func() time.Duration { return reach.Outlives(ended, e.lived, e.alive(), time.Now()) }
	if soon := outlived(); soon > 0 && soon <= reach.LeastQuiet {
		<-wait.After(context.Background(), soon)
	}
	if outlived() > 0 {
		e.leftInPeace = true
		e.quit = reach.FindQuit(context.Background(), e.Budget, e.Target, e.Revision, ended)
	}
	return e.quit
}

// Finish ends with the scenarios that clients of some environments have played, closes
// all sessions that are kept for reuse, and waits until every connection is closed
// and judged.
func Finish(environments ...*Environment) {
	for _, environment := range environments {
		environment.leave()
		for left := range environment.pools {
			environment.pools[left].drain()
		}
	}
	for _, environment := range environments {
		environment.Process.Wait()
	}
}

// leave ends with what checks share, and the scenarios that were played.
func (e *Environment) leave() {
	if e.Issuer != nil {
		e.Issuer.Leave()
	}
	if e.Client != nil {
		e.Client.Leave()
	}
}

// end closes the connection, judges it, and forgets what was received: the record tells it.
func (s *Server) end() {
	environment, log := s.env, s.Log()
	if s.Transport().Processes() && s.Alive() { // the others are no processes, which end by themselves
		now := time.Now()
		environment.lived = max(environment.lived, now.Sub(reach.FirstSaid(log.Events(), now)))
	}
	environment.Process.End(log, s.Weight(), func(ctx context.Context) {
		s.Close(ctx)
		s.Forget()
		s.Connection = nil
		if s.aside {
			environment.RecordOnly(log)
			return
		}
		environment.Judge(log)
	})
}

// isUsed tells whether earlier checks may have left something that disturbs this one, or
// have opened what it looks at.
func (s *Server) isUsed() bool { return s.leftBehind == anythingLeft || s.looksBack }

func use(t *T, server *Server) {
	c := runningOf(t)
	server.t = t
	server.from, server.mark = server.Log().Len(), server.Mark()
	if !slices.Contains(c.servers, server) {
		c.servers = append(c.servers, server)
	}
}
