package check

import (
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Mismatch is one difference between what a requirement wants and what the target did.
type Mismatch = rules.Mismatch

// Outcome is how a check ended, before its level makes a verdict of it.
type Outcome struct {
	Ending     Ending
	Reason     string // why it was skipped or is inconclusive: one line
	Hint       string // what would make it conclusive: one line
	Mismatches []Mismatch
	// Observed counts what the check looked at that could have broken its requirement:
	// a check that observed nothing does not pass.
	Observed int
	// NoReply is the message without a reply that ended the check; nil for none.
	NoReply *NoReply
	// Doubtful tells that the outcome rests on a wait that was over or on a connection
	// that was lost, as either may be where a machine is loaded: it counts when the
	// check was repeated alone.
	Doubtful bool
	// Awaited is what a doubtful outcome has waited for: others that have waited for the
	// same need not be repeated, too. "" where nothing else does.
	Awaited string
	// Late is the wait on which a doubtful outcome rests; nil where none was over.
	Late *Late
	// Disturbed tells that what earlier checks left on a session, or a client that runs beside
	// this one, may be the reason for how the check ended: it counts when it was repeated on a
	// session of its own, or with no client beside it.
	Disturbed bool
	// Quit says how the server ends that is asked nothing; nil for one that goes on: nothing
	// that it left unanswered shows anything.
	Quit *Quit
	// Gone says what was not answered on a fresh connection either, after a doubtful outcome;
	// "" when the target answers.
	Gone string
	// GoneLate is the wait after which nothing had come there; nil where none was over.
	GoneLate *Late
	// Provocation is the kind of which no tool is known, where that is the reason.
	Provocation string
	// Idle tells of a target client that it did nothing in the scenario but connect, and
	// had to be ended.
	Idle   bool
	Judged transcript.Place // of what breaks the requirement; zero where nothing does
}

// Unproven tells whether a check came to no good end.
func (o Outcome) Unproven() bool { return o.Ending == Failed || o.Ending == Inconclusion }

// Ending is how a check ended, independent of the level of what it verifies.
type Ending string

// The endings of a check.
const (
	Passed       Ending = ""
	Failed       Ending = "failed"
	Skipped      Ending = "skipped"
	Inconclusion Ending = "inconclusive"
	Deferred     Ending = "deferred" // there was no room for what the target sent
)

// NoReply is a message that the target left without its reply: a request without a response
// (basic/index#responses), or what the transport has to acknowledge. A check that waited
// for the reply has shown nothing; that there was none is a finding of its own.
type NoReply struct {
	To       string // what was sent: a method, or an HTTP method
	Found    string // what came instead: "ping was not answered within 5s"
	Exchange []transcript.Event
	Judged   int // sequence of the message in the exchange
	// Undelivered tells that the target took no connection to bring it on.
	Undelivered bool
}

// Place is where the message stands.
func (r *NoReply) Place() transcript.Place {
	at := slices.IndexFunc(r.Exchange, func(event transcript.Event) bool { return event.Sequence == r.Judged })
	if at < 0 {
		return transcript.Place{}
	}
	return r.Exchange[at].Place()
}

// Late is a wait for the target that was over.
type Late struct {
	For    string        // kind of what was waited for, as in Pace; "" for what is of none
	Waited time.Duration // as the wait counts
	Behind time.Duration // by which it took longer by the clock
}

// Quit is how the process of a server ended that was asked nothing after the opening. The
// server may do so ("MAY initiate shutdown", basic/lifecycle#stdio; from 2026-07-28 on
// basic/transports/stdio#shutdown), for want of a database for instance: the requests that
// others had sent by then broke nothing by having no response.
type Quit struct {
	After  string // the request that opened the connection
	Exit   string // "exited with status 1"
	Stderr string // the end of its standard error
}
