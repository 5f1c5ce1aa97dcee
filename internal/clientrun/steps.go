package clientrun

import (
	"fmt"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// A check that blames a client for what it did not do must know that the client did
// the step in which it should have. There are two kinds of proof: a message that the
// step sends, and the outcome that the driver tells of that very step. Where the step
// may have been done without a message, as from a cache, the outcome must show what the
// API gave (NeedResult); where it gives nothing, it must show elsewhere (NeedCancelled). That
// the driver tells of later steps, or does them, proves nothing: it may leave out those
// that it does not know.

// DemandStep demands that the client did a step, by its id, despite what the server sent
// in it. When the driver tells that the step failed, the driver may be at fault: a step of
// the same kind must have been done. It reports false when the driver tells nothing of it.
func (c *Client) DemandStep(id, like, what string) (reported bool) {
	outcome, reported := c.Outcome(id)
	if !reported || !outcome.Failed() {
		return reported
	}
	if control, there := c.Outcome(like); !there || control.Failed() {
		c.undecided(
			"the client reports that it failed in the step "+c.step(id).Text()+": "+outcome.Error,
			"let the client do the step "+c.step(like).Text(),
		)
	}
	c.needStreams()
	c.t.Judge(Mismatch{
		Wanted: "the step " + c.step(id).Text() + " done, despite " + what,
		Found:  "it failed: " + excerpt.OneLine(outcome.Error),
	})
	return true
}

// ResultOf returns what the API of the client returned in a step, by its id, as the driver
// reports; nil when it returned nothing, or the driver does not report it.
func (c *Client) ResultOf(id string) any {
	outcome, reported := c.Outcome(id)
	if !reported || outcome.Failed() {
		return nil
	}
	switch result := outcome.Result.(type) {
	case []any:
		if len(result) == 0 {
			return nil
		}
	case map[string]any:
		if len(result) == 0 {
			return nil
		}
	}
	return outcome.Result
}

// NeedResult makes the check inconclusive unless the driver shows what the API of the
// client gave in a step: then the client did it, with or without a message.
func (c *Client) NeedResult(id string) {
	if outcome := c.NeedOutcome(id); outcome.Failed() {
		c.undecided(
			"the client reports that it failed in the step "+c.step(id).Text()+": "+outcome.Error,
			"let the client do the step "+c.step(id).Text(),
		)
	}
	if c.ResultOf(id) == nil {
		c.undecided(
			"the client does not report the result of the step "+c.step(id).Text(),
			fmt.Sprintf(
				`let the client write {"step":%d,"outcome":"done","result":...} to standard output, with the result of its API`,
				c.position(id),
			),
		)
	}
}

// NeedCancelled makes the check inconclusive unless the client is known to have cancelled
// a step that it had begun, before it went on: its driver tells so, and that the step
// ended with a failure before any later one was over. A driver that only tells that it
// cancelled may have done nothing.
func (c *Client) NeedCancelled(begun, cancelled string) {
	ended, reported := c.Outcome(begun)
	cancel, there := c.Outcome(cancelled)
	gaveUp := reported && there && ended.Failed() && !cancel.Failed()
	for _, outcome := range c.outcomes {
		gaveUp = gaveUp && (outcome.Step <= cancel.Step || outcome.Order > ended.Order)
	}
	switch {
	case gaveUp:
	case c.byHand:
		c.unreported(cancelled)
	default:
		c.undecided(
			"the client does not report that the step "+c.step(begun).Text()+" was cancelled",
			"let the client do the step "+c.step(cancelled).Text()+", and report both",
		)
	}
}

// NeedFinished makes the check inconclusive unless a step in which the client was seen came
// to its end, so that what it has not done in it by then it does not do: the driver tells
// how it went, or the client asks for something else after a message of the server, or
// it had to be ended where nothing else was left to do.
func (c *Client) NeedFinished(id string, after *Message) {
	_, reported := c.Outcome(id)
	if reported || after != nil && len(c.RequestsAfter(after)) > 0 || c.Breakdown() != "" {
		return
	}
	c.undecided(
		"it is unknown whether the client finished the step "+c.step(id).Text(),
		fmt.Sprintf(`let the client write {"step":%d,"outcome":"done" or "failed"} to standard output`, c.position(id)),
	)
}

// FailureOf says in words how the client failed in a step of a kind that it is known to
// do, as its driver reports; "" when the driver reports no failure.
func (c *Client) FailureOf(id string) string {
	if outcome, reported := c.Outcome(id); reported && outcome.Failed() && c.canDo(id) {
		return "a failure of the step " + c.step(id).Text() + ": " + excerpt.OneLine(outcome.Error)
	}
	return ""
}

// ConnectFailure says in words how the client failed to connect, as its driver reports or,
// if that reports nothing, the status of the process shows; "" when neither shows a failure.
func (c *Client) ConnectFailure() string {
	at := c.scenario.Steps.First("connect")
	switch outcome, there := c.Outcome(at); {
	case there && outcome.Failed():
		return "a failure to connect: " + excerpt.OneLine(outcome.Error)
	case !c.Reports() && c.Exit.Failed:
		return "nothing more; the client " + c.Exit.Status
	}
	return ""
}

// trusted returns the outcomes that the driver of a client reports, and the id of a step
// that makes them doubtful; "" for none. A driver that reports one step as done, without a
// result, for which the client sent no request, may do so for all: then none is returned.
func (c *Client) trusted(
	outcomes map[string]scenario.StepOutcome,
) (believed map[string]scenario.StepOutcome, doubtful string) {
	for id, one := range c.scenario.Steps.All() {
		outcome, there := outcomes[id]
		method := one.Method()
		if !there || outcome.Failed() || outcome.Result != nil || method == "" || !c.complete() {
			continue
		}
		if len(c.Requests(method)) == 0 {
			return nil, id
		}
	}
	return outcomes, ""
}

// complete tells whether all that the client sent was kept.
func (c *Client) complete() bool {
	for _, conversation := range c.Conversations {
		if !conversation.Complete {
			return false
		}
	}
	return true
}

// canDo tells whether the client is known to do steps of the kind of one of the scenario:
// it has done another one of the kind here, or in the scenario by which it was met.
func (c *Client) canDo(id string) bool {
	kind := c.step(id).Kind()
	for other, one := range c.scenario.Steps.All() {
		if outcome, reported := c.outcomes[other]; other != id && one.Kind() == kind && reported && !outcome.Failed() {
			return true
		}
	}
	met := AlsoRun(c.t, scenario.Meeting)
	return met != nil && met.did(kind)
}

// did tells whether the client has done a step of a kind: as its driver tells or, when
// that tells nothing, by what was sent.
func (c *Client) did(kind string) bool {
	for id, one := range c.scenario.Steps.All() {
		if one.Kind() != kind {
			continue
		}
		if outcome, reported := c.outcomes[id]; reported {
			return !outcome.Failed()
		}
		switch method := one.Method(); {
		case c.Reports():
			return false
		case method != "":
			return len(c.Requests(method)) > 0
		case one.Verb() == "close":
			return !c.Exit.Ended && !c.Exit.Failed
		}
		return c.Connected()
	}
	return false
}

// undone returns the id of the step at which the client ended, as far as is known: the
// first one that its driver does not report, or else the first one that the client is not
// known to do. It is "" when there is none.
func (c *Client) undone() string {
	for id, one := range c.scenario.Steps.All() {
		_, reported := c.outcomes[id]
		if reported || one["as"] != nil || one.Verb() == "answer-with" {
			continue
		}
		if c.Reports() || one.Verb() == "wait-for" || !c.canDo(id) {
			return id
		}
	}
	return ""
}
