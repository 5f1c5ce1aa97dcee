// Package contact makes first contact with a target: it finds out which revisions the target
// speaks, what it declares and offers there, and where it means to speak one and gets the
// opening wrong. Server, Client and Issuer do so for a target of their role.
//
// It never judges more of a target than whether its opening is one, and calls none of its
// tools.
package contact

import (
	"context"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// TargetError says that the target could not be started, reached or spoken to at all.
type TargetError struct {
	Reason       string
	Unauthorized bool // it refuses the access token that it was given
	Unspoken     bool // it speaks other revisions than the one that was asked for
}

func (e *TargetError) Error() string { return excerpt.Text(e.Reason) }

// Options say what first contact is for, and what it may take.
type Options struct {
	Revisions Revise
	Budget    *transcript.MemoryBudget // nil for one without an end
	// Flaw says what a conversation breaks, as far as an event, of the rules that fail a run;
	// "" for nothing. Nil where no rule judges.
	Flaw func(conversation *rules.Conversation, last int) string
	// Shown leaves of events what a report shows; nil for all of them.
	Shown func([]transcript.Event) []transcript.Event

	Served *target.Process // of a server over HTTP, where it was started for the run; else nil

	Process *scope.Process // that starts a client
	Sockets string         // directory of those that a client's servers come to
}

func (o Options) flaw(conversation *rules.Conversation, last int) string {
	if o.Flaw == nil {
		return ""
	}
	return o.Flaw(conversation, last)
}

func (o Options) shown(events []transcript.Event) []transcript.Event {
	if o.Shown == nil {
		return events
	}
	return o.Shown(events)
}

// heavyRecord is what no ordinary target makes first contact leave, in bytes.
const heavyRecord = 4 << 20

// Heavy tells whether so much has come that there may be no room for several at once.
func Heavy(budget *transcript.MemoryBudget) bool { return budget.Taken() > heavyRecord }

// Found is what first contact over a transport has found.
type Found struct {
	Speaks   []string    // revisions, oldest first
	Openings []*Opening  // at the revisions to report on, oldest first
	Crash    *CrashError // of a server that ended at its first request, of which nothing else is known
	rest     []*visit
}

// Close ends the connections that belong to no opening.
func (f *Found) Close(ctx context.Context) { closeAll(ctx, f.rest...) }

// alsoSpeaks are the revisions beside that of an opening.
func (f *Found) alsoSpeaks(revision string) []string {
	return slices.DeleteFunc(slices.Clone(f.Speaks), func(other string) bool { return other == revision })
}

// Opening is what came of the opening at one revision.
type Opening struct {
	Revision   string
	AlsoSpeaks []string
	Spoken     bool    // the target speaks the revision
	Broken     string  // in a line: how the opening differs from what the revision wants, which the target means to speak
	Unspoken   string  // in a line: how it showed that it does not
	Denial     *Denial // what that breaks; nil where it is not reported as a finding

	Info         map[string]any // what the target says of itself
	Capabilities any
	Start        time.Duration // that the target may take to start; 0 where it need not
	Habits       scenario.Habits
	Survey       *survey.Survey
	Unresponsive string      // what shows that a server answers nothing but initialize, if it does not
	Astray       bool        // that is since another client gets the answers
	Quit         *check.Quit // of a server that exits by itself after the opening; else nil
	// Connection to a server has to be closed by the caller that judges it.
	Connection *scripted.Connection
}

// Checkable tells whether there is anything to check at the revision.
func (o *Opening) Checkable() bool { return o.Spoken || o.Broken != "" }

// Close ends the connection of an opening that is not judged.
func (o *Opening) Close(ctx context.Context) { closeAll(ctx, &visit{connection: o.Connection}) }
