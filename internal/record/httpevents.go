package record

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/transport"
)

// passEvents passes on an event stream: as it comes where no message is changed, or else
// block by block. A block that nothing changes keeps its lines, each of which ends in \n
// then.
func (a *answer) passEvents() error {
	carried := onPost
	if a.request.Method == http.MethodGet {
		carried = OnGet
	}
	if a.as == asJSON {
		err := a.eachEvent(carried, a.collect)
		if errors.Is(err, io.EOF) {
			return errHeld
		}
		return err
	}
	a.reply.header.Del("Content-Length")
	if !a.connection.changes.ChangesHeads(carried, a.asked) {
		if err := a.inTurn(func() error { return a.open(carried) }); err != nil {
			return err
		}
	}
	if a.connection.changes.OnlyLooks() {
		looks := a.eventTap(func(event *transport.Event) { a.lookAt(carried, event) })
		return a.passPieces(a.response, a.response.Body, looks)
	}
	if err := a.eachEvent(carried, a.passEvent); !errors.Is(err, io.EOF) {
		return err
	}
	return a.inTurn(func() error { return a.open(carried) }) // when nothing has come
}

// eachEvent reads the events of the response, and has each passed on in turn, until an error. The
// end is io.EOF.
func (a *answer) eachEvent(carried string, pass func(carried string, event *transport.Event) error) error {
	reader := transport.NewEventReader(a.response.Body, a.http.options.Limits.Message)
	for {
		event, err := reader.Next()
		if errors.Is(err, io.EOF) {
			a.recordEnd(nil)
		}
		if err == nil {
			err = a.inTurn(func() error { return pass(carried, &event) })
		}
		if err != nil {
			return err
		}
	}
}

// lookAt sees an event that is about to be passed on: who gets it may answer at once.
func (a *answer) lookAt(carried string, event *transport.Event) {
	a.recordEvent(event)
	if !event.Unterminated { // a client drops it
		a.stepsOf(carried, event)
	}
}

// open writes the head of an event stream, unless it is written, and what is to
// be said first.
func (a *answer) open(carried string) error {
	if a.reply.begun {
		return nil
	}
	if err := a.reply.begin(); err != nil {
		return err
	}
	if carried == OnGet || a.asked == "subscriptions/listen" {
		a.connection.listen(a.exchange)
	}
	return a.say(a.said, nil)
}

func (a *answer) passEvent(carried string, event *transport.Event) error {
	a.recordEvent(event)
	if event.Unterminated { // a client drops it
		if err := a.open(carried); err != nil {
			return err
		}
		return a.reply.write(event.Raw, 0)
	}
	steps := a.stepsOf(carried, event)
	if !a.reply.begun {
		for _, step := range steps {
			a.reply.change(step.Head)
			if step.As == asJSON {
				return closing(a.sayAll(steps, asJSON))
			}
		}
		if plan := a.reply.plan; plan.Body != nil {
			return closing(a.sayPlanned())
		}
	}
	if err := a.open(carried); err != nil {
		return err
	}
	return a.say(steps, event)
}

// closing ends a stream in good order, unless there is an error.
func closing(err error) error {
	if err == nil {
		return errClosed
	}
	return err
}

func (a *answer) stepsOf(carried string, event *transport.Event) []Step {
	raw := event.Data
	if raw == nil {
		raw = []byte{}
	}
	return a.connection.changes.Message(
		Passage{Direction: Out, Raw: raw, Carried: carried, Head: &a.head, Exchange: a.stream},
	)
}

// collect answers with the response that an event stream brings, as JSON.
func (a *answer) collect(carried string, event *transport.Event) error {
	a.recordEvent(event)
	if event.Unterminated {
		return nil
	}
	steps := onlyResponse(a.stepsOf(carried, event))
	if slices.ContainsFunc(steps, Step.here) {
		return closing(a.sayAll(steps, asJSON))
	}
	return a.say(steps, nil)
}

// eventText is the event that carries the message of a step; event is the one that
// brought the message, nil for none.
func eventText(step Step, event *transport.Event) []byte {
	if step.Beside {
		event = nil
	}
	switch {
	case step.EventText != nil:
		return []byte(strings.ReplaceAll(*step.EventText, "%s", string(step.Message)))
	case event != nil && step.Event == nil && bytes.Equal(step.Message, event.Data):
		return event.Text()
	}
	var text bytes.Buffer
	fields := step.Event
	if fields == nil {
		fields = &Fields{}
	}
	fields.write(&text)
	data := step.Message
	if event != nil {
		fields.keep(&text, event.Raw)
		if !event.HasData && len(data) == 0 {
			data = nil
		}
	}
	text.Write(transport.EventText(nil, "", data))
	return fields.spell(text.Bytes())
}

// colon begins the value of a field, behind its name; a comment has no name.
var colon = regexp.MustCompile(`(?m)^([a-z]*): `)

// spell gives the lines of an event, which may stand otherwise, their spelling.
func (f *Fields) spell(text []byte) []byte {
	if f.Bare {
		text = colon.ReplaceAll(text, []byte("$1:"))
	}
	if f.End != "" {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte(f.End))
	}
	return text
}

// write writes the fields that are set.
func (f *Fields) write(text *bytes.Buffer) {
	for _, field := range []struct {
		name  string
		value *string
	}{{"", f.Comment}, {"id", f.ID}, {"event", f.Name}, {"retry", f.Retry}} {
		if field.value != nil {
			text.WriteString(field.name + ": " + *field.value + "\n")
		}
	}
}

// keep writes the lines of an event that stay: all but its data and the fields
// that are set.
func (f *Fields) keep(text *bytes.Buffer, event []byte) {
	goes := map[string]bool{
		"data": true, "id": f.ID != nil || f.NoID, "event": f.Name != nil, "retry": f.Retry != nil,
	}
	for line := range bytes.SplitSeq(event, []byte("\n")) {
		if name, _, _ := bytes.Cut(line, []byte(":")); !goes[string(name)] {
			text.Write(line)
			text.WriteByte('\n')
		}
	}
}
