package fault

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// IntoRecording is what Into says of a fault of a client that is injected into the recording
// of a good one: what the client sends is changed when it has sent it, and no server reacts.
const IntoRecording = "recording"

// Parted returns what of an injection is injected into live traffic, and what into
// recordings.
func (l Injection) Parted() (live, recorded Injection) {
	into := func(recording bool) Injection {
		kept := func(one *Fault) bool { return (one.Into == IntoRecording) != recording }
		return Injection{
			Faults:  slices.DeleteFunc(slices.Clone(l.Faults), kept),
			Watched: slices.DeleteFunc(slices.Clone(l.Watched), kept),
			Matched: l.Matched,
		}
	}
	return into(false), into(true)
}

// In returns what of an injection is for a scenario.
func (l Injection) In(scenario string) Injection {
	elsewhere := func(one *Fault) bool { return len(one.Scenarios) > 0 && !slices.Contains(one.Scenarios, scenario) }
	l.Faults = slices.DeleteFunc(slices.Clone(l.Faults), elsewhere)
	l.Watched = slices.DeleteFunc(slices.Clone(l.Watched), elsewhere)
	return l
}

// Recorded returns the events of a connection of a client as they would be if it had the
// faults.
func (l Injection) Recorded(events []transcript.Event) []transcript.Event {
	r := &recording{
		wire: NewWire(l), heads: map[string]*record.Head{}, gone: map[string]bool{},
		unanswered: map[jsonrpc.ID]bool{},
	}
	for _, event := range events {
		r.take(event)
		r.release()
	}
	for i := range r.events {
		r.events[i].Sequence = i
	}
	return r.events
}

// Outcomes returns what the driver of a client tells, a line for each step, as it would be
// if the client had the faults.
func (l Injection) Outcomes(output []byte) []byte {
	wire := NewWire(l)
	wire.injected = slices.DeleteFunc(wire.injected, func(one *change) bool {
		return !slices.Contains(one.found.match.Carried, CarriedOutcome)
	})
	var changed []byte
	for line := range strings.Lines(string(output)) {
		told := record.Passage{Direction: record.In, Raw: []byte(strings.TrimSpace(line)), Carried: CarriedOutcome}
		for _, step := range wire.Message(told) {
			if len(step.Message) > 0 {
				changed = append(append(changed, step.Message...), '\n')
			}
		}
	}
	return changed
}

// CarriedOutcome is how a line travels in which the driver of a client tells how a step
// went. It is matched by its members, and no message otherwise.
const CarriedOutcome = "outcome"

// recording is one connection of a client while faults are injected into what was recorded of it.
type recording struct {
	wire       *Wire
	events     []transcript.Event
	heads      map[string]*record.Head // of requests, by exchange
	gone       map[string]bool         // exchanges that have not taken place
	unanswered map[jsonrpc.ID]bool     // over stdio: requests that were not sent
	held       []held
	left       bool // the client has hung up
	added      int  // exchanges
}

// held is what comes later than it was recorded.
type held struct {
	until  <-chan struct{}
	events []transcript.Event
}

// release puts down what was held until now.
func (r *recording) release() {
	r.held = slices.DeleteFunc(r.held, func(one held) bool {
		select {
		case <-one.until:
			r.events = append(r.events, one.events...)
			return true
		default:
			return false
		}
	})
}

// ofClient tells whether what was recorded comes from the client, or the browser that it
// has opened.
func ofClient(event transcript.Event) bool {
	return event.From == protocol.Client || event.From == protocol.Browser
}

func (r *recording) take(event transcript.Event) {
	if exchange := event.Stream; r.gone[exchange] || r.left && ofClient(event) {
		r.gone[exchange] = r.gone[exchange] || event.Kind == transcript.Head
		return
	}
	switch {
	case event.Kind == transcript.Head:
		r.head(event)
	case event.Kind == transcript.Message:
		r.message(event)
	case event.Kind == transcript.Body && ofClient(event):
		r.message(event)
	default:
		r.events = append(r.events, event)
	}
}

func directionOf(event transcript.Event) record.Direction {
	if ofClient(event) {
		return record.In
	}
	return record.Out
}

// head injects into the head of a request or response.
func (r *recording) head(event transcript.Event) {
	written := *event.HTTP
	head := &record.Head{
		Direction: directionOf(event), Method: written.Method, Status: written.Status, Header: written.Header,
	}
	if head.Direction == record.In {
		head.URL, _ = url.Parse(written.URL)
		r.heads[event.Stream] = head
	} else if asked := r.heads[event.Stream]; asked != nil {
		head.Method, head.URL, head.Request = asked.Method, asked.URL, asked.Header
	}
	plan := r.wire.Head(*head)
	if plan.Drop {
		r.forget(event.Stream)
		return
	}
	if plan.Cut {
		r.left = true
	}
	if plan.Status != 0 {
		written.Status = plan.Status
	}
	written.Header = withHeader(written.Header, plan.Header)
	written.URL = withQuery(written.URL, plan.Query)
	event.HTTP = &written
	r.events = append(r.events, event)
}

// forget takes away an exchange, with what was recorded of it.
func (r *recording) forget(exchange string) {
	r.gone[exchange] = true
	r.events = slices.DeleteFunc(r.events, func(event transcript.Event) bool { return event.Stream == exchange })
}

// message injects into a message, or a body of the client.
func (r *recording) message(event transcript.Event) {
	head := r.heads[event.Stream]
	passage := record.Passage{
		Direction: directionOf(event), Raw: event.Raw, Head: head, Carried: carriedIn(event, head),
	}
	if head != nil {
		passage.Exchange = event.Stream
	}
	message := jsonrpc.Parse(event.Raw)
	if message.Kind == jsonrpc.Response && head == nil && !ofClient(event) && r.unanswered[message.ID] {
		return
	}
	kept := false
	for _, step := range r.wire.Message(passage) {
		if step.Cut || step.Hang {
			r.left = true
		}
		if step.Message == nil {
			continue
		}
		if kept || step.Beside || step.Answers {
			r.insert(event, step)
			continue
		}
		kept = true
		r.rehead(event.Stream, step.Head)
		changed := event
		changed.Raw = step.Message
		changed.At = changed.At.Add(step.Wait.Time)
		if step.Wait.Until != nil {
			r.held = append(r.held, held{step.Wait.Until, r.taken(changed)})
			continue
		}
		r.events = append(r.events, changed)
	}
	if !kept && ofClient(event) {
		if head != nil {
			r.forget(event.Stream)
		} else if message.Kind == jsonrpc.Request {
			r.unanswered[message.ID] = true
		}
	}
}

// rehead changes the head of a request whose body was changed.
func (r *recording) rehead(exchange string, plan record.HeadPlan) {
	for i, event := range r.events {
		if event.Stream == exchange && event.Kind == transcript.Head && ofClient(event) {
			written := *event.HTTP
			written.Header, written.URL = withHeader(written.Header, plan.Header), withQuery(written.URL, plan.Query)
			r.events[i].HTTP = &written
		}
	}
}

// taken is an event with what was recorded of its exchange before.
func (r *recording) taken(event transcript.Event) []transcript.Event {
	if r.heads[event.Stream] == nil {
		return []transcript.Event{event}
	}
	var taken []transcript.Event
	r.events = slices.DeleteFunc(r.events, func(one transcript.Event) bool {
		if one.Stream != event.Stream {
			return false
		}
		taken = append(taken, one)
		return true
	})
	return append(taken, event)
}

func carriedIn(event transcript.Event, head *record.Head) string {
	switch {
	case head == nil:
		return "stdio"
	case event.SSE != nil && head.Method == http.MethodGet:
		return "get"
	case event.SSE != nil:
		return "post"
	}
	return "body"
}

// insert adds a message beside one that was recorded: over HTTP, from the client, in an
// exchange of its own, which the server accepts.
func (r *recording) insert(beside transcript.Event, step record.Step) {
	event := beside
	event.Raw, event.At = step.Message, beside.At.Add(time.Microsecond)
	if event.From = protocol.Client; step.Direction == record.Out {
		event.From = protocol.Server
	}
	head := r.heads[beside.Stream]
	if head == nil || event.From == protocol.Server {
		r.events = append(r.events, event)
		return
	}
	r.added++
	event.SSE, event.Stream = nil, beside.Stream+"-"+strconv.Itoa(r.added)
	begin, answer, end := event, event, event
	begin.Kind, begin.Raw, begin.HTTP = transcript.Head, nil, &transcript.HTTP{
		Method: http.MethodPost, URL: head.URL.String(), Header: headerOf(head.Header, step.Message),
	}
	answer.Kind, answer.Raw, answer.From = transcript.Head, nil, protocol.Server
	answer.HTTP = &transcript.HTTP{Status: http.StatusAccepted}
	end.Kind, end.Raw, end.From, end.Note = transcript.End, nil, protocol.Server, transcript.Complete
	r.events = append(r.events, begin, event, answer, end)
}

// headerOf is the header of a request with the headers that repeat what the body says.
func headerOf(like http.Header, body []byte) http.Header {
	header, message := like.Clone(), jsonrpc.Parse(body)
	if header.Get("Mcp-Method") != "" {
		header.Set("Mcp-Method", message.Method)
	}
	return header
}

// withHeader returns a header with the changes; %s is the value that it had.
func withHeader(header http.Header, changes map[string]*string) http.Header {
	if len(changes) == 0 {
		return header
	}
	changed := header.Clone()
	for name, value := range changes {
		before := changed.Get(name)
		if changed.Del(name); value != nil {
			changed.Set(name, strings.ReplaceAll(*value, "%s", before))
		}
	}
	return changed
}

// withQuery returns a URL with changes of its query.
func withQuery(address string, changes map[string]*string) string {
	changed, err := url.Parse(address)
	if err != nil || len(changes) == 0 {
		return address
	}
	changed.RawQuery = string(withParameters([]byte(changed.RawQuery), changes))
	return changed.String()
}

// withParameters returns a query, or a form, with the changes; %s is the value that one had.
func withParameters(text []byte, changes map[string]*string) []byte {
	values, err := url.ParseQuery(string(text))
	if err != nil || len(changes) == 0 {
		return text
	}
	for name, value := range changes {
		before := values.Get(name)
		if values.Del(name); value != nil {
			values.Set(name, strings.ReplaceAll(*value, "%s", before))
		}
	}
	return []byte(values.Encode())
}
