// Package session is the vocabulary that checks of a server are written in: how a check gets a
// session, what it says there, and how it judges what comes. What the server offers to checks
// stands in package offer.
package session

import (
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/offer"
)

// Environment is everything that the checks of one cell need to know.
type Environment struct {
	offer.Offer
	// Fresh gives each check a session of its own, so that it finds the same
	// alone as beside others.
	Fresh bool
	// Apart has no check use a session on which another one left something that might
	// disturb it.
	Apart bool

	Client *clientrun.Runner // of a target client; nil for others
	Issuer Part              // of a target authorization server; nil for others

	pools [leftovers]pool

	lived       time.Duration // the longest that a connection lived until it was closed
	leftInPeace bool          // whether FindQuit was asked
	quit        *check.Quit   // what it told
}

// Part is what checks of a role have beside what they have of a server.
type Part interface {
	Begin(t *check.T) // before each check
	Leave()           // when what checks share is not needed any more
}
