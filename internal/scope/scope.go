// Package scope knows one cell: what obliges a target there, how the target is reached, and
// how what went over the wire is judged and recorded. It speaks to no target.
package scope

import (
	"net/url"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Scope is what all checks and rules of one cell have in common.
type Scope struct {
	Cell
	Process   *Process // in which connections are opened; nil where none is
	Target    scripted.Target
	Survey    *survey.Survey // of a target server
	Catalogue *catalogue.Catalogue
	Rules     []rules.Rule
	// Network lets checks contact any host that the target names, beside this machine and
	// the origin of the target.
	Network bool
	// Budget is what all connections of the process may take together; nil for
	// all that there is.
	Budget *transcript.MemoryBudget
	// Concurrent tells that other processes check the target at the same time, and
	// share the memory: a check for which there is no room is put off until it
	// has all of it.
	Concurrent bool
	// Record is called once for each connection, when it is closed.
	Record func(Connection)

	judged   rules.Once
	standing sync.Map // by cell, the rules that stand there: they are the same for each connection
}

// Connection is the record of a closed connection and what the rules found
// in it.
type Connection struct {
	Cell     Cell
	Name     string
	Events   []transcript.Event
	Facts    rules.Facts
	Findings []rules.Finding
	Unjudged bool // no rule applies: the target did not agree to the revision
	Pace     Pace
}

// Contactable tells whether the harness may send something to an address that the target
// named.
func (s *Scope) Contactable(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && (s.Network || oauth.SameOrigin(address, s.Target.URL) || oauth.Loopback(parsed.Hostname()))
}

// Timeout of the parts of a check that are not one reply: a check that talks
// more than a few times has as many replies to wait for.
const repliesPerCheck = 12

// CheckTimeout bounds one whole check.
func (s *Scope) CheckTimeout() time.Duration { return repliesPerCheck * s.Target.Reply }
