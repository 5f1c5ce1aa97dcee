// Package replay plays what was recorded of one peer to another: the client of a recording to a
// server, and the server of a recording to a client. It maps the values that a peer chooses
// anew, and compares what comes with what was recorded.
//
// What cannot be played is told before, and what does not match the recording is not answered from
// elsewhere.
package replay

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Tape is a recorded connection that can be played.
type Tape struct {
	Name      string
	Transport string
	Revision  string // that was spoken; "" where it is unknown

	talk     *rules.Conversation
	header   transcript.Header
	heads    map[string]transcript.Event // of requests over HTTP, by stream
	statuses map[string]int              // of their answers
	replies  map[string]http.Header      // heads of their answers
	ended    int                         // the event at which the client ends the session; 0 for none
	ending   map[string]bool             // requests over HTTP without the head of an answer by then, by stream
	apart    map[int]bool                // events at which the client sends a request over HTTP without a message
	sessions map[string]bool             // that the server assigned
	tools    map[string]map[string]any   // that the server listed, by name
	excluded map[int]exclusion           // messages that are not played, by index
}

// Open reads a recorded connection. The error says in one line why it cannot be played.
func Open(name string, header transcript.Header, events []transcript.Event) (*Tape, error) {
	switch {
	case header.Joined:
		return nil, fmt.Errorf("%s: the connection had begun before it was recorded", name)
	case header.Dropped || lacks(events):
		return nil, fmt.Errorf("%s: the recording lacks a part of the connection", name)
	case slices.ContainsFunc(events, func(one transcript.Event) bool { return one.Made != "" && one.IsContent() }):
		return nil, fmt.Errorf("%s: the recorder has changed messages", name)
	}
	cell := check.Cell{Role: protocol.ServerRole, Revision: header.Revision, Transport: header.Transport}
	if !slices.Contains(protocol.Released(), cell.Revision) {
		released := protocol.Released()
		cell.Revision = released[len(released)-1]
	}
	t := &Tape{
		Name: name, Transport: header.Transport, Revision: header.Revision, header: header,
		talk:  rules.NewConversation(cell, events, true),
		heads: map[string]transcript.Event{}, statuses: map[string]int{}, replies: map[string]http.Header{},
		ending: map[string]bool{}, apart: map[int]bool{}, sessions: map[string]bool{},
		tools: map[string]map[string]any{}, excluded: map[int]exclusion{},
	}
	if t.talk.Negotiated {
		t.Revision = t.talk.Revision
	}
	if !slices.ContainsFunc(t.talk.Messages, fromClient) {
		return nil, fmt.Errorf("%s: the client says nothing in it", name)
	}
	t.readHeads(events)
	t.readEnd(events)
	t.forgetWhatFollowed(events)
	t.readTools()
	t.exclude()
	return t, nil
}

// Spoken leaves out the connections over Streamable HTTP in which nothing was answered where there
// are others over HTTP with SSE: clients try the former first.
func Spoken(tapes []*Tape) []*Tape {
	if !slices.ContainsFunc(tapes, func(one *Tape) bool { return one.Transport == protocol.SSE }) {
		return tapes
	}
	return slices.DeleteFunc(slices.Clone(tapes), func(one *Tape) bool {
		return one.Transport == protocol.HTTP &&
			!slices.ContainsFunc(one.talk.Messages, func(message *rules.Message) bool {
				return len(message.Answers) > 0
			})
	})
}

// lacks tells whether something is missing between events. What is missing behind them all could
// not be played anyway.
func lacks(events []transcript.Event) bool {
	gap := slices.IndexFunc(events, func(one transcript.Event) bool {
		return one.Kind == transcript.Gap && one.Note != transcript.Elsewhere
	})
	return gap >= 0 && slices.ContainsFunc(events[gap:], transcript.Event.IsContent)
}

func fromClient(message *rules.Message) bool { return message.Event.From == protocol.Client }

// readHeads reads what requests over HTTP said beside their messages.
func (t *Tape) readHeads(events []transcript.Event) {
	for _, event := range events {
		switch {
		case event.IsRequestHead():
			if _, there := t.heads[event.Stream]; !there {
				t.heads[event.Stream] = event
			}
			if protocol.Over(t.Transport).Exchanges() && event.HTTP.Method != http.MethodPost &&
				event.HTTP.Header.Get(scripted.LastEventID) == "" {
				t.apart[event.Sequence] = true
			}
		case event.Kind == transcript.Head && event.HTTP != nil && event.HTTP.Status >= http.StatusOK:
			t.statuses[event.Stream], t.replies[event.Stream] = event.HTTP.Status, event.HTTP.Header
			if session := event.HTTP.Header.Get(scripted.SessionHeader); session != "" {
				t.sessions[session] = true
			}
		}
	}
}

// readEnd reads which requests were under way when the client ended the session, and the server
// let it.
func (t *Tape) readEnd(events []transcript.Event) {
	at := slices.IndexFunc(events, func(event transcript.Event) bool {
		return event.IsRequestHead() && event.HTTP.Method == http.MethodDelete &&
			t.statuses[event.Stream] >= http.StatusOK && t.statuses[event.Stream] < http.StatusMultipleChoices
	})
	if at < 0 {
		return
	}
	t.ended = events[at].Sequence
	for _, event := range events[:at] {
		if event.Kind == transcript.Head {
			t.ending[event.Stream] = event.From == protocol.Client
		}
	}
}

// endsDuring tells whether the client ended the session while a request had no response: what
// comes of it is a race.
func (t *Tape) endsDuring(request *rules.Message) bool {
	before := func(message *rules.Message) bool { return message.Event.Sequence < t.ended }
	return before(request) && !slices.ContainsFunc(request.Answers, before)
}

// forgetWhatFollowed forgets answers to subscriptions whose streams the client left: a server may
// answer because of that, after the client is gone.
func (t *Tape) forgetWhatFollowed(events []transcript.Event) {
	left := map[string]bool{}
	for _, event := range events {
		if event.IsClientLeaving() && protocol.Over(t.Transport).Exchanges() {
			left[event.Stream] = true
		}
	}
	for _, message := range t.talk.Messages {
		if message.Method == "subscriptions/listen" && left[message.Event.Stream] {
			message.Answers = nil
		}
	}
}

// readTools reads which tools the server listed.
func (t *Tape) readTools() {
	listed := slices.Clone(t.header.Tools)
	for _, message := range t.talk.Messages {
		if message.Request != nil && message.Request.Method == "tools/list" {
			listed = append(listed, mcp.Objects(message.ResultObject(), "tools")...)
		}
	}
	for _, tool := range listed {
		t.tools[mcp.Text(tool, "name")] = tool
	}
}

// Hidden is what stands where a recorder has hidden a secret.
const Hidden = "***"

// exclusion says why a message is not played.
type exclusion struct {
	Why    string
	Hidden bool // for a secret that is hidden in it
}

// exclude finds the messages of the client that cannot be played.
func (t *Tape) exclude() {
	for _, message := range t.talk.Messages {
		if !fromClient(message) {
			continue
		}
		status := t.statuses[message.Event.Stream]
		switch {
		case message.Event.Size > len(message.Event.Raw):
			t.excluded[message.Index] = exclusion{Why: "the recording has only its beginning"}
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			t.excluded[message.Index] = exclusion{Why: fmt.Sprintf(
				"it was turned away with HTTP %d; --header gives the replay a token", status)}
		case bytes.Contains(message.Raw, []byte(Hidden)):
			why := "a secret is hidden in it; --map '" + Hidden + "=VALUE' puts one there"
			t.excluded[message.Index] = exclusion{why, true}
		}
	}
}

// reveal plays what was left out for a hidden secret alone.
func (t *Tape) reveal() {
	maps.DeleteFunc(t.excluded, func(_ int, one exclusion) bool { return one.Hidden })
}

// step names a request, as in "tools/call echo".
func step(message *rules.Message) string {
	if of := subject(message.Method, message.ParamsObject()); of != "" {
		return message.Method + " " + of
	}
	return message.Method
}

// subject is what a request is about: a tool, a prompt, a resource; "" for none.
func subject(method string, params map[string]any) string {
	switch method {
	case "tools/call", "prompts/get":
		return mcp.Text(params, "name")
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return mcp.Text(params, "uri")
	}
	return ""
}

// dates are written so in arguments, most of the time.
var dates = lazy.MustCompile(`\b20[0-9]{2}-[01][0-9]-[0-3][0-9](T[0-9:.]+(Z|[+-][0-9:]+)?)?\b`)

// Notes say before a client is played what will not be as it was.
func (t *Tape) Notes() (notes []string) {
	tell := func(format string, values ...any) {
		if text := fmt.Sprintf(format, values...); !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	for _, message := range t.talk.Messages {
		reason, left := t.excluded[message.Index]
		switch {
		case left && message.Batch == nil:
			tell("%s is not played: %s", orWhat(message), reason.Why)
		case !fromClient(message) && message.Kind == jsonrpc.Request && message.Method != "ping":
			tell("%s of the server is answered as it was recorded", message.Method)
		case fromClient(message) && message.Method == "tools/call" && !left:
			if date := dates.FindString(jsonrpc.Text(message.ParamsObject()["arguments"])); date != "" {
				tell("%s has the date %s, which stays as it is", step(message), date)
			}
		}
	}
	const back = "%s came back for a stream; the replay does so where the live server ends one before its answer"
	for _, stream := range slices.Sorted(maps.Keys(t.heads)) {
		if t.heads[stream].HTTP.Header.Get(scripted.LastEventID) != "" {
			tell(back, stream)
		}
	}
	for stream, head := range t.heads {
		if head.HTTP.Header.Get("Authorization") != "" && t.statuses[stream] < http.StatusBadRequest {
			tell("the client has a token, which the recording hides; --header gives the replay one")
			break
		}
	}
	for _, reason := range t.header.Lacks {
		tell("%s", reason.Reason())
	}
	return notes
}

// orWhat names a message that may be none.
func orWhat(message *rules.Message) string {
	if message.Method != "" {
		return step(message)
	}
	return "a " + string(message.Kind)
}

// MaxMessages bounds how many messages of the server a live connection takes; some more than
// were recorded pass.
const MaxMessages = 10_000

// FromServer counts the messages of the server.
func (t *Tape) FromServer() (messages int) {
	for _, message := range t.talk.Messages {
		if !fromClient(message) {
			messages++
		}
	}
	return messages
}

// Forbidden names the tools that are called and may not be.
func (t *Tape) Forbidden(may func(tool map[string]any) bool) (names []string) {
	for _, message := range t.talk.Messages {
		if !fromClient(message) || message.Method != "tools/call" || t.excluded[message.Index].Why != "" {
			continue
		}
		name := mcp.Text(message.ParamsObject(), "name")
		tool := t.tools[name]
		if tool == nil {
			tool = map[string]any{"name": name}
		}
		if !may(tool) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
