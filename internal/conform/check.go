package conform

import (
	"context"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// current is the check that is running; a process runs one at a time.
var current = &running{declared: &check.Declaration{}}

type running struct {
	environment *Environment
	declared    *check.Declaration
	servers     []*Server
	client      *Client // when it has looked
	outcome     Outcome

	readsStreams func() bool // whether the client does; nil where that makes no difference
}

// Begin prepares for a check and evaluates its gates; it is called at the beginning of its
// Ginkgo node, and does not return where one is closed.
func Begin(environment *Environment, declared *check.Declaration) {
	current = &running{environment: environment, declared: declared}
	outcome := environment.gate(declared)
	switch outcome.Ending {
	case Skipped:
		NotApplicable(outcome.Reason)
	case Inconclusion:
		if outcome.Provocation != "" {
			Unprovoked(outcome.Provocation)
		}
		Inconclusive(outcome.Reason, outcome.Hint)
	}
}

// End puts away what a check used and returns how it went: its outcome and
// what went over the wire meanwhile, connection by connection. It is called
// after the check, outside of any Ginkgo node.
func End(state ginkgo.SpecReport) (Outcome, [][]transcript.Event) {
	done := current
	current = &running{declared: &check.Declaration{}}
	done.outcome.Disturbed = !state.State.Is(types.SpecStatePassed) &&
		slices.ContainsFunc(done.servers, (*Server).isWorn)
	var ended []transcript.Event
	if done.outcome.Doubtful {
		ended = done.ended() // before the connections are closed
	}
	var exchanges [][]transcript.Event
	for _, server := range done.servers {
		if done.environment.Company && server.Log().OverBudget() {
			done.outcome = Outcome{Ending: Deferred}
		}
		events := server.events()
		if len(events) > 0 {
			exchanges = append(exchanges, events)
		}
		if state.Failed() || !done.environment.keep(server, events, done.outcome) {
			done.environment.Process.close(server)
		}
	}
	if done.outcome.unproven() && limited(exchanges) {
		done.outcome = turnedAway("a request", "HTTP 429 (Too Many Requests)")
	}
	if done.client != nil {
		if done.environment.Company && done.client.OverBudget {
			done.outcome = Outcome{Ending: Deferred} // whatever the check concluded
		}
		done.outcome.Idle = done.client.idle()
		for _, connection := range done.client.Connections {
			exchanges = append(exchanges, connection.Events)
		}
		if authorization := done.client.Authorization; authorization != nil {
			exchanges = append(exchanges, authorization.Events)
		}
	}
	if done.outcome.Ending != Failed {
		done.outcome.Judged = transcript.Place{}
	}
	if done.environment.Fresh {
		done.environment.leave()
	} else if done.outcome.Doubtful && len(done.servers) > 0 {
		if done.outcome.Quit = done.environment.quits(ended); done.outcome.Quit == nil {
			done.outcome.Gone, done.outcome.GoneLate = done.environment.Unreachable()
		}
	}
	return done.outcome, exchanges
}

// ended is what went over the wire on a connection of the check that the server has ended by
// itself; nil for none.
func (r *running) ended() []transcript.Event {
	for _, server := range r.servers {
		events := server.Log().Events()
		if _, ended := livedFor(events); ended {
			return events
		}
	}
	return nil
}

// quits tells whether a server that has ended a connection ends it as well where it is asked
// nothing. That is looked at once.
func (e *Environment) quits(ended []transcript.Event) *Quit {
	if len(ended) > 0 && !e.leftInPeace {
		e.leftInPeace = true
		e.quit = FindQuit(context.Background(), e.Budget, e.Target, e.Revision, ended)
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
		environment.Process.wait()
	}
}

// isWorn tells whether earlier checks may have left something that disturbs this one, or
// have opened what it looks at.
func (s *Server) isWorn() bool { return s.left == worn || s.again }

func (c *running) use(server *Server) {
	server.from, server.mark = server.Log().Len(), server.Mark()
	if !slices.Contains(c.servers, server) {
		c.servers = append(c.servers, server)
	}
}

// scenario is the name of that in which the check looks; "" for none.
func (c *running) scenario() string {
	if c.declared.Scenario == nil {
		return ""
	}
	return c.declared.Scenario.Name
}
