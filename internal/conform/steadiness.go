package conform

import (
	"fmt"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// A check that blames a client for what it did not do must know that the client did
// the step in which it should have. There are two kinds of proof: a message that the
// step sends, and the outcome that the driver tells of that very step. Where the step
// may have been done without a message, as from a cache, the outcome must show what the
// API gave (NeedGiven); where it gives nothing, it must show elsewhere (GaveUp). That
// the driver tells of later steps, or does them, proves nothing: it may leave out those
// that it does not know.

// Does demands that the client did a step, by its position, whatever came in it. When
// the driver tells that the step failed, the driver may be at fault: a step of the
// same kind must have been done. It reports false when the driver tells nothing of it.
func (c *Client) Does(position, like int, despite string) (told bool) {
	outcome, told := c.ToldOutcome(position)
	if !told || !outcome.Failed() {
		return told
	}
	if control, there := c.ToldOutcome(like); !there || control.Failed() {
		c.inconclusive(
			"the client reports that it failed in the step "+jsonrpc.Text(
				c.scenario.Steps[position],
			)+": "+outcome.Error,
			"let the client do the step "+jsonrpc.Text(c.scenario.Steps[like]),
		)
	}
	c.needStreams()
	c.t.Judge(Mismatch{
		Wanted: "the step " + jsonrpc.Text(
			c.scenario.Steps[position],
		) + " done, despite " + despite,
		Found: "it failed: " + excerpt.OneLine(outcome.Error),
	})
	return true
}

// Given returns what the API of the client gave to its caller in a step, by its
// position, as the driver tells; nil when it gave nothing, or nobody tells.
func (c *Client) Given(position int) any {
	outcome, told := c.ToldOutcome(position)
	if !told || outcome.Failed() {
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

// NeedGiven makes the check inconclusive unless the driver shows what the API of the
// client gave in a step: then the client did it, with or without a message.
func (c *Client) NeedGiven(position int) {
	if outcome := c.OutcomeOf(position); outcome.Failed() {
		c.inconclusive(
			"the client reports that it failed in the step "+jsonrpc.Text(
				c.scenario.Steps[position],
			)+": "+outcome.Error,
			"let the client do the step "+jsonrpc.Text(c.scenario.Steps[position]),
		)
	}
	if c.Given(position) == nil {
		c.inconclusive(
			"the client does not report the result of the step "+jsonrpc.Text(c.scenario.Steps[position]),
			fmt.Sprintf(
				`let the client write {"step":%d,"outcome":"done","result":...} to standard output, with the result of its API`,
				position,
			),
		)
	}
}

// NeedGaveUp makes the check inconclusive unless the client is known to have cancelled
// a step that it had begun, before it went on: its driver tells so, and that the step
// ended with a failure before any later one was over. A driver that only tells that it
// cancelled may have done nothing.
func (c *Client) NeedGaveUp(begun, cancelled int) {
	ended, told := c.ToldOutcome(begun)
	cancel, there := c.ToldOutcome(cancelled)
	gaveUp := told && there && ended.Failed() && !cancel.Failed()
	for position, outcome := range c.told {
		gaveUp = gaveUp && (position <= cancelled || outcome.Order > ended.Order)
	}
	switch {
	case gaveUp:
	case c.byHand:
		c.untold(cancelled)
	default:
		c.inconclusive(
			"the client does not report that the step "+jsonrpc.Text(c.scenario.Steps[begun])+" was cancelled",
			"let the client do the step "+jsonrpc.Text(c.scenario.Steps[cancelled])+", and report both",
		)
	}
}

// NeedOver makes the check inconclusive unless a step in which the client was seen came
// to its end, so that what it has not done in it by then it does not do: the driver tells
// how it went, or the client asks for something else after a message of the server, or
// it had to be ended where nothing else was left to do.
func (c *Client) NeedOver(position int, after *Message) {
	_, told := c.ToldOutcome(position)
	if told || after != nil && len(c.AskedAfter(after)) > 0 || c.Breakdown() != "" {
		return
	}
	c.inconclusive(
		"it is unknown whether the client finished the step "+jsonrpc.Text(c.scenario.Steps[position]),
		fmt.Sprintf(`let the client write {"step":%d,"outcome":"done" or "failed"} to standard output`, position),
	)
}

// FailedIn says in words how the client failed in a step of a kind that it is known to
// do, as its driver tells; "" when it did not, or nobody tells.
func (c *Client) FailedIn(position int) string {
	if outcome, told := c.ToldOutcome(position); told && outcome.Failed() && c.ableTo(position) {
		return "a failure of the step " + jsonrpc.Text(
			c.scenario.Steps[position],
		) + ": " + excerpt.OneLine(
			outcome.Error,
		)
	}
	return ""
}

// Unconnected says in words how the client failed to connect, as its driver tells or,
// when that tells nothing, the status of the process does; "" when it did not, or nobody
// tells.
func (c *Client) Unconnected() string {
	at := c.scenario.Steps.First("connect")
	switch told, there := c.ToldOutcome(at); {
	case there && told.Failed():
		return "a failure to connect: " + excerpt.OneLine(told.Error)
	case !c.Tells() && c.Exit.Failed:
		return "nothing more; the client " + c.Exit.Status
	}
	return ""
}

// believe returns the outcomes that the driver of a client tells, and the position of a
// step that makes them doubtful; -1 for none. Whoever tells of one step as done which no
// message shows, and shows nothing that it gave, may do so of all: then none is returned.
func (c *Client) believe(told map[int]scenario.StepOutcome) (believed map[int]scenario.StepOutcome, doubtful int) {
	for position, one := range c.scenario.Steps {
		outcome, there := told[position]
		method := one.Method()
		if !there || outcome.Failed() || outcome.Result != nil || method == "" || !c.complete() {
			continue
		}
		if len(c.Requests(method)) == 0 {
			return nil, position
		}
	}
	return told, -1
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

// ableTo tells whether the client is known to do steps of the kind of one of the scenario:
// it has done another one of the kind here, or in the scenario by which it was met.
func (c *Client) ableTo(position int) bool {
	kind := c.scenario.Steps[position].Kind()
	for at, one := range c.scenario.Steps {
		if outcome, told := c.told[at]; at != position && one.Kind() == kind && told && !outcome.Failed() {
			return true
		}
	}
	met := Beside(c.t, scenario.Meeting)
	return met != nil && met.did(kind)
}

// did tells whether the client has done a step of a kind: as its driver tells or, when
// that tells nothing, by what was sent.
func (c *Client) did(kind string) bool {
	for position, one := range c.scenario.Steps {
		if one.Kind() != kind {
			continue
		}
		if outcome, told := c.told[position]; told {
			return !outcome.Failed()
		}
		switch method := one.Method(); {
		case c.Tells():
			return false
		case method != "":
			return len(c.Requests(method)) > 0
		case one.Verb() == "close":
			return !c.Exit.Ended && !c.Exit.Failed
		}
		return c.Came()
	}
	return false
}

// undone returns the position of the step at which the client ended, as far as anybody
// knows: the first one of which its driver does not tell, or else the first one that it
// is not known to do. It is -1 when there is none.
func (c *Client) undone() int {
	for position, one := range c.scenario.Steps {
		_, told := c.told[position]
		if told || one["as"] != nil || one.Verb() == "answer-with" {
			continue
		}
		if c.Tells() || one.Verb() == "wait-for" || !c.ableTo(position) {
			return position
		}
	}
	return -1
}
