// Package conform is the vocabulary that checks and rules are written in:
// what a check verifies, what it needs, how it talks to the target and how it
// says what it expected and what came.
package conform

import (
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Leg is that of package rules, and so are the others: what rules judge by is what checks
// talk of, too.
type Leg = rules.Leg

// Conversation is the transcript of one connection.
type Conversation = rules.Conversation

// Message is one message of a conversation.
type Message = rules.Message

// Subject is the request, or notification, that something belongs to.
type Subject = rules.Subject

// Show writes a value for people, shortened.
func Show(value any) string { return rules.Show(value) }

// Environment is everything that the checks of one leg need to know.
type Environment struct {
	Leg
	Process   *Process // in which connections are opened; nil where none is
	Target    scripted.Target
	Survey    *survey.Survey
	Catalogue *catalogue.Catalogue
	provoke.Policy
	// Provoked are the provocations found when the tools were tried, by kind.
	Provoked map[string]Provocation
	// Answering are the tools that answered when they were tried.
	Answering []string
	Access    *Access // of a server that asks for authorization; nil for none
	// Network lets checks contact whatever host the target names, beside this machine and
	// the origin of the target.
	Network bool
	// Registration is for the client of a target authorization server.
	Registration Registration
	Issuer       *IssuerState // shared with other environments; nil for one of its own
	Rules        []rules.Rule
	// Fresh gives each check a session of its own, so that it finds the same
	// alone as in company.
	Fresh bool
	// Apart has no check use a session on which another one left something that might
	// disturb it.
	Apart bool
	// Asked is told what a check wants to know of the survey; nil for nobody.
	Asked func(survey.Question)
	// Budget is what all connections of the process may take together; nil for
	// all that there is.
	Budget *transcript.MemoryBudget
	// Company tells that other processes check the target at the same time, and
	// share the memory: a check for which there is no room is put off until it
	// has all of it.
	Company bool
	// Record is called once for each connection, when it is closed.
	Record func(Connection)

	// Of a target client: how it is started, whether it is known for not ending by
	// itself, and what came of scenarios that were run before, by name.
	Launch     scenario.Launch
	Alter      func(*scenario.Recording) // changes what was recorded of a client; nil for nothing
	Sockets    string                    // directory of those that its servers come to; "" for one of their own
	ShortWait  bool
	Recordings map[string]*scenario.Recording

	pools     [residues]pool
	scenarios map[string]*scenario.Scenario
	ran       scenario.Cache[ran]
	judged    rules.Once

	leftInPeace bool        // whether FindQuit was asked
	quit        *check.Quit // what it told
}

// Connection is the record of a closed connection and what the rules found
// in it.
type Connection struct {
	Leg      Leg
	Name     string
	Events   []transcript.Event
	Facts    rules.Facts
	Findings []rules.Finding
	Unjudged bool // no rule applies: the target did not agree to the revision
	Pace     Pace
}

// Timeout of the parts of a check that are not one reply: a check that talks
// more than a few times has as many replies to wait for.
const repliesPerCheck = 12

// CheckTimeout bounds one whole check.
func (e *Environment) CheckTimeout() time.Duration { return repliesPerCheck * e.Target.Reply }
