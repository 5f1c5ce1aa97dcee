package worker

import (
	"strings"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Note is one line of JSON that a worker writes.
type Note struct {
	Lane       int               `json:",omitempty"`
	Claim      *Claim            `json:",omitempty"`
	Checked    *Checked          `json:",omitempty"`
	Cell       int               `json:",omitempty"`
	Connection *scope.Connection `json:",omitempty"`
	Exit       *Exit             `json:",omitempty"` // that the connection had
	Drawn      *Drawn            `json:",omitempty"`
	Finished   bool              `json:",omitempty"` // with its plan
}

// Order is one line of JSON that the parent writes: a plan, or the answer to a claim.
type Order struct {
	Plan       *Plan       `json:",omitempty"`
	Lane       int         `json:",omitempty"`
	Permission *Permission `json:",omitempty"`
}

// Permission is the parent's answer to a claim.
type Permission struct {
	Run          bool
	Unresponsive string `json:",omitempty"` // why it is no use to ask the target anything
	Astray       bool   `json:",omitempty"` // that is since another client gets the answers
	// Ended tells that the target went away: not even checks of silence have a use.
	Ended bool `json:",omitempty"`
}

// Claim names a check that a worker wants to run.
type Claim struct {
	Key      string // among all cells: [KeyOf]
	Scenario string `json:",omitempty"` // that it looks at, or its Together: one worker runs all of these on a cell
}

// Check is the name of the check on its cell, as [plan.CheckName] has it.
func (c Claim) Check() string {
	words := strings.Split(c.Key, "\n")[1:]
	return plan.CheckName(words[:len(words)-1], words[len(words)-1])
}

// Text is the sentence of the check.
func (c Claim) Text() string { return c.Key[strings.LastIndexByte(c.Key, '\n')+1:] }

// KeyOf names a check among all cells, by the name of its cell and its own ([check.Declaration.Name]).
func KeyOf(cellName, name string) string { return cellName + "\n" + name }

// Checked is one check that ran, or was skipped.
type Checked struct {
	Cell         int
	Group        []string
	Text         string
	Requirements []string
	State        types.SpecState
	Panic        string // of the harness itself
	Outcome      check.Outcome
	Seconds      float64
	Exchanges    [][]transcript.Event
	Evidence     bool // the target sent something meanwhile
	Unresponsive bool // it left unanswered what it was asked, for as long as an answer may take
}

// shows tells whether a check that came to its end has seen what it judges.
func (c Checked) shows() bool { return c.Evidence && c.Outcome.Observed > 0 }

// Unexplained tells whether a check came to its end without that, and does not say itself why.
func (c Checked) Unexplained() bool {
	ended := c.Panic == "" && !c.Outcome.Unproven() && c.Outcome.Ending != check.Skipped
	return ended && c.State.Is(types.SpecStatePassed) && !c.shows()
}

// Shown says whose exchanges reports show.
type Shown int

// From those of each the next shows more.
const (
	OfFailures Shown = iota // checks that fail or warn
	OfUnproven              // and those that stay inconclusive
	OfAll                   // and those that pass; what came before a skip is in no report
)

// Shorten leaves of what went over the wire what a report shows.
func (c *Checked) Shorten(shown Shown) {
	passed := c.State.Is(types.SpecStatePassed) && c.shows()
	switch ending := c.Outcome.Ending; {
	case c.Outcome.Gone != "" || ending == check.Failed: // what ended the target is told in any case
	case ending == check.Skipped, passed && shown < OfAll, !passed && shown < OfUnproven:
		c.Exchanges = nil
	}
	c.Exchanges = evidence.Shorten(c.Exchanges, c.Outcome)
	if reply := c.Outcome.NoReply; reply != nil {
		short := *reply
		short.Exchange = evidence.Shorten([][]transcript.Event{reply.Exchange}, check.Outcome{Judged: reply.Place()})[0]
		c.Outcome.NoReply = &short
	}
}

// Drawn is what a worker tells of the draws that it makes on a cell: one that is suspect,
// what one has shown, or, at the end, how many there were.
type Drawn struct {
	Suspect *explore.Finding `json:",omitempty"`
	Finding *explore.Finding `json:",omitempty"`
	Made    int              `json:",omitempty"`
}
