package conform

import (
	"fmt"
	"iter"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// A check passes only if it observed something that could have broken its requirement.
// Matchers observe what they match; who judges otherwise says here what was observed:
// each of several things, that something wanted was there, or that something unwanted
// was not, where it could have been. Preconditions, which begin with Need, observe
// nothing.

// ObserveEach yields what a check judges one by one: each is an observation.
func ObserveEach[T any](all []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, one := range all {
			Observe()
			if !yield(one) {
				return
			}
		}
	}
}

// Observed tells whether what a requirement wants was there, and observes that it was.
// That it was not is no observation: it may not have been provoked.
func Observed(wanted bool) bool {
	if wanted {
		Observe()
	}
	return wanted
}

// Judging says which message a check is about: it is observed, the report marks it when
// the check fails, and the matchers get it.
func (c *Client) Judging(said *Message) Reply {
	Observe()
	reply := Reply{scripted.Received{Message: said.Message, At: said.Event.Place()}}
	Judging(reply)
	return reply
}

// Evidence is what the target sent, and can be told in words.
type Evidence interface {
	Describe() string
	Place() transcript.Place
}

// Judging says what a check is about from now on: the report marks it when the check
// fails. Whoever takes a reply from a server, Expect and DemandOf say so by themselves.
func Judging(evidence Evidence) { current.outcome.Judged = evidence.Place() }

// JudgingNothing says that a check is about nothing that the target sent.
func JudgingNothing() { current.outcome.Judged = transcript.Place{} }

// Refrained observes that the client did without what it could have done after a message
// of the server, in a step: it asked for something else on the same connection, or its
// driver tells how the step went. Else nobody knows, and the check is inconclusive.
func (c *Client) Refrained(after *Message, position int) {
	_, told := c.ToldOutcome(position)
	if after != nil && Observed(told || len(c.AskedAfter(after)) > 0) {
		return
	}
	c.inconclusive(
		"it is unknown whether the client finished the step "+jsonrpc.Text(c.scenario.Steps[position]),
		fmt.Sprintf(`let the client write {"step":%d,"outcome":"done" or "failed"} to standard output`, position),
	)
}
