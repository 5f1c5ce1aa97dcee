package clientrun

import (
	"mime"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// StreamedAndPlain is the name of the scenario whose server answers a first call by an event
// stream and a second one by JSON, with the ids of the calls and what its checks verify.
const (
	StreamedAndPlain = "answers-in-both-forms"
	StreamedCall     = "streamed-call"
	PlainCall        = "plain-call"
	bothAnswers      = "transports.http.request.both-answers"
)

// needStreams makes a check inconclusive that is about to blame the client for what it did
// not do, where the server spoke by an event stream and the client reads none: that is one
// cause, of which the checks of both answers tell.
func (c *Client) needStreams() {
	if reads := lookingOf(c.t).readsStreams; reads == nil || !c.heardStream() || reads() {
		return
	}
	c.undecided("the client reads no answer on an event stream", "fix the failures of "+bothAnswers+" first")
}

// seesStreams lets needStreams look, unless the check is one of both answers itself.
func seesStreams(t *T) {
	both := runnerOf(t).scenarios[StreamedAndPlain]
	if !t.Transport().Exchanges() || both == nil || slices.Contains(t.Declared.Requirements, bothAnswers) {
		return
	}
	lookingOf(t).readsStreams = func() bool { return AlsoRun(t, both).readsStreams() }
}

// heardStream tells whether the server spoke by an event stream.
func (c *Client) heardStream() bool {
	return slices.ContainsFunc(c.Events(), func(event transcript.Event) bool {
		if !event.IsResponseHead() {
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
	if streamed, reported := c.outcomes[StreamedCall]; reported {
		plain, there := c.outcomes[PlainCall]
		return !streamed.Failed() || !there || plain.Failed()
	}
	calls := c.Calls(scripted.AddNumbers)
	return len(calls) != 1 || AnswerTo(calls[0]) == nil || len(c.RequestsAfter(AnswerTo(calls[0]))) > 0
}
