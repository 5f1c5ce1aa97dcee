// Package scenario runs a target client through scenarios: each is one run of it against
// one scripted server, driven by steps. What comes of it is a recording; what that is
// worth, checks and rules judge.
package scenario

import (
	"cmp"
	"slices"

	"github.com/mcpconform/mcpconform/internal/scripted"
)

type object = map[string]any

// Scenario is one run of a target client against a scripted server. Several checks
// may look at the same scenario: the client plays it once for all of them.
type Scenario struct {
	// Name tells it from all others, in words with hyphens.
	Name string
	// Says tells in one sentence what happens in it.
	Says string
	// Official is the scenario of the official suite for which a client does what
	// this scenario needs: one that was written for that suite, and not for ours, plays
	// the scenario then. When it is "" such a client connects, lists the tools, and calls
	// AddNumbers where the steps do.
	Official string
	// Context is what that scenario gives the client beside.
	Context object
	// Since and Until are the revisions at which it can be played; "" for all.
	Since, Until string
	// Over is the transport over which it can be played; "" for each.
	Over string
	// Speaks is the revision of the scripted server where it is another one than that
	// of the cell: what a client says then is not judged by the rules.
	Speaks string
	// Unnamed leaves it to the client which revision it begins with: none is named.
	Unnamed bool
	// Named is the revision that the client is told to begin with where it is another
	// one than that of the cell.
	Named string
	// Steps are what the client is told to do.
	Steps Steps
	// Refused are the ids of the steps that the server answers with an error: such a step
	// is meant to fail.
	Refused []string
	// Server says how the scripted server differs from a good one; nil for not at
	// all.
	Server func(server *scripted.Server)
	// Protected lets the scripted server ask for authorization, and says how it and its
	// authorization servers differ from good ones. It is played over HTTP alone, at
	// localhost. Nil for a server that is open to all.
	Protected func(guard *scripted.Guard)
	// Waits tells that good clients, or the harness, wait in it for a second and more: it begins
	// before others, which go on beside it.
	Waits bool
	// Reported says that it shows nothing of a client that does not tell how steps go: such a
	// client is not waited for as long as others.
	Reported bool
	// Unclosed says that the scenario ends when it is quiet, and the client is ended
	// then: it has something to do that takes no end.
	Unclosed bool
}

func (s *Scenario) official() string {
	calls := func(one Step) bool { return one["tool"] == scripted.AddNumbers }
	switch {
	case s.Official != "":
		return s.Official
	case slices.ContainsFunc(s.Steps, calls):
		return "tools_call"
	}
	return "initialize"
}

// RevisionOf is the one that the scripted server speaks, at the revision under test.
func (s *Scenario) RevisionOf(revision string) string { return cmp.Or(s.Speaks, revision) }

// At tells whether the scenario can be played at a revision.
func (s *Scenario) At(revision string) bool {
	return (s.Since == "" || s.Since <= revision) && (s.Until == "" || revision <= s.Until)
}

// Meeting is the scenario by which a client is met: to see that it can be started,
// and what it speaks.
var Meeting = &Scenario{
	Name: "meeting", Says: "The client connects, lists the tools, calls one and leaves.",
	Steps: Steps{
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, object{"a": 5, "b": 3}), ToClose(),
	},
}
