package conform

import (
	"mime"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// StreamedAndPlain is the name of the scenario whose server answers a first call by an event
// stream and a second one by JSON, with the positions of the steps and what its checks verify.
const (
	StreamedAndPlain = "answers-in-both-forms"
	StreamedCall     = 1
	PlainCall        = 2
	bothAnswers      = "transports.http.request.both-answers"
)

// needStreams makes a check inconclusive that is about to blame the client for what it did
// not do, where the server spoke by an event stream and the client reads none: that is one
// cause, of which the checks of both answers tell.
func (c *Client) needStreams() {
	if reads := runningOf(c.t).readsStreams; reads == nil || !c.heardStream() || reads() {
		return
	}
	c.inconclusive("the client reads no answer on an event stream", "fix the failures of "+bothAnswers+" first")
}

// seesStreams lets needStreams look, unless the check is one of both answers itself.
func seesStreams(t *T) {
	both := environmentOf(t).scenarios[StreamedAndPlain]
	if t.Transport() != protocol.HTTP || both == nil || slices.Contains(t.Declared.Requirements, bothAnswers) {
		return
	}
	runningOf(t).readsStreams = func() bool { return Beside(t, both).readsStreams() }
}

// heardStream tells whether the server spoke by an event stream.
func (c *Client) heardStream() bool {
	return slices.ContainsFunc(c.Events(), func(event transcript.Event) bool {
		if event.Kind != transcript.Head || event.From != protocol.Server || event.HTTP == nil {
			return false
		}
		media, _, _ := mime.ParseMediaType(event.HTTP.Header.Get("Content-Type"))
		return media == "text/event-stream"
	})
}

// readsStreams tells of the client in StreamedAndPlain whether it takes the answer on the
// stream, or does no better with JSON. It is nil where that was not played.
func (c *Client) readsStreams() bool {
	if c == nil {
		return true
	}
	if streamed, told := c.told[StreamedCall]; told {
		plain, there := c.told[PlainCall]
		return !streamed.Failed() || !there || plain.Failed()
	}
	calls := c.Calls(scripted.AddNumbers)
	return len(calls) != 1 || AnswerTo(calls[0]) == nil || len(c.AskedAfter(AnswerTo(calls[0]))) > 0
}
