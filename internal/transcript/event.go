// Package transcript is the record of a connection: every message and every
// transport event in order, with the raw bytes. A log is appended to while the
// connection lives and read by rules and reports afterwards; it is written and
// read as JSON lines.
package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Kind tells what an event is.
type Kind string

// The kinds of events.
const (
	Open    Kind = "open"    // the connection begins; Note says to what
	Message Kind = "message" // a JSON-RPC message, or the bytes that stood where one belongs
	Body    Kind = "body"    // a body that need not be a message: an error page, a form, a document of OAuth; or the beginning of one that was cut off
	Head    Kind = "head"    // the head of an HTTP request or response
	Block   Kind = "block"   // an event-stream block that carries no message (comment, priming id, …)
	End     Kind = "end"     // a stream ended; Note says how
	Stderr  Kind = "stderr"  // text on the target's standard error
	Signal  Kind = "signal"  // the harness closed stdin, signalled or killed the target
	Exit    Kind = "exit"    // the target's process ended; Note says how
	Failure Kind = "failure" // the transport failed; Note says how
	Remark  Kind = "remark"  // the harness notes something (a check begins)
	Close   Kind = "close"   // the connection is over
	Gap     Kind = "gap"     // something was not kept here; Note says what and why, Size how many bytes, if that is known
)

// Complete is the note of an End that the target came to by itself, in good
// order.
const Complete = "complete"

// The notes of an End that the client came to: it left a stream before its end.
const (
	ClientLeft    = "the client left"
	HarnessClosed = "closed by the harness"
)

// InputClosed is the note of a Signal that was none: the standard input of the target was
// closed.
const InputClosed = "closed its standard input"

// Elsewhere is the note of a Gap at which nothing of the connection itself is missing.
const Elsewhere = "what passed over other connections of the client is recorded elsewhere"

// Event is one thing that happened on a connection.
type Event struct {
	Sequence   int            `json:",omitzero"` // position in its connection, from 0
	At         time.Time      `json:",omitzero"` // when the harness saw or did it
	Connection string         `json:",omitzero"` // which connection
	Stream     string         `json:",omitzero"` // "stdio", or an HTTP exchange such as "post-3", "get-1"
	From       protocol.Party `json:",omitzero"` // who sent it
	Kind       Kind           `json:",omitzero"`
	Raw        []byte         `json:",omitzero"` // the bytes of a message (data of an event), block or stderr text
	Size       int            `json:",omitzero"` // how many bytes there were, when Raw was cut; else 0
	HTTP       *HTTP          `json:",omitzero"` // for Head
	SSE        *SSE           `json:",omitzero"` // for Block, and for a Message that came as an event
	Note       string         `json:",omitzero"` // in words, for people
	Deliberate string         `json:",omitzero"` // why the harness sent something illegal on purpose
	Made       string         `json:",omitzero"` // why the harness sent or changed this, where it stands between two peers: it is neither's
	Breaks     string         `json:",omitzero"` // the requirement that the peer of who is judged breaks with it; it is not written
	Incident   Incident       `json:",omitzero"` // what the note is about, for programs; workers are told, no file is
}

// Incident is something that was done beside the protocol, and is asked for.
type Incident int

// The incidents; of most events there is none.
const (
	NoIncident        Incident = iota
	DecoyFetched               // the client looked up what only a decoy names
	ShellRan                   // a shell of the client read an address
	ServerKilled               // the client killed its server
	ServerLeftRunning          // the client ended before its server did
	Signalled                  // the harness sent the target's process a signal
)

// A Place is where an event stands: a connection, and the position in it. The zero value is
// nowhere.
type Place struct {
	Connection string
	Sequence   int
}

// Place is where the event stands.
func (e Event) Place() Place { return Place{e.Connection, e.Sequence} }

// IsIllegal tells whether who is judged need not answer to the event as to a legal one: it was
// sent on purpose, or breaks a requirement itself.
func (e Event) IsIllegal() bool { return e.Deliberate != "" || e.Breaks != "" }

// IsClientLeaving tells whether the client left a stream before its end.
func (e Event) IsClientLeaving() bool {
	return e.Kind == End && (e.Note == ClientLeft || e.Note == HarnessClosed)
}

// IsRequestHead tells whether the event is the head of an HTTP request of the client, and has
// HTTP.
func (e Event) IsRequestHead() bool { return e.isHeadOf(protocol.Client) }

// IsResponseHead tells whether the event is the head of an HTTP response of the server, and has
// HTTP.
func (e Event) IsResponseHead() bool { return e.isHeadOf(protocol.Server) }

func (e Event) isHeadOf(party protocol.Party) bool {
	return e.Kind == Head && e.From == party && e.HTTP != nil
}

// Streams number the exchanges over HTTP of a connection by their methods: post-1, get-1.
type Streams map[string]int

// Next is the name of the next exchange of a method.
func (s Streams) Next(method string) string {
	method = strings.ToLower(method)
	s[method]++
	return fmt.Sprintf("%s-%d", method, s[method])
}

// IsContent reports a message, or a body that is none.
func (e Event) IsContent() bool { return e.Kind == Message || e.Kind == Body }

// KindOfBody tells whether the body of an answer over HTTP is a message, or the bytes
// that stand where one belongs: what ends a session, accepts a notification, or refuses a
// request, has no message, or may say so in words of a gateway.
func KindOfBody(method string, status int, body []byte) Kind {
	free := method == http.MethodDelete || status == http.StatusAccepted || status >= http.StatusBadRequest
	if free && !namesJSONRPC(body) {
		return Body
	}
	return Message
}

// namesJSONRPC tells whether a body means to be a message: it has the member "jsonrpc",
// perhaps written with escapes.
func namesJSONRPC(body []byte) bool {
	if bytes.Contains(body, []byte(`"jsonrpc"`)) {
		return true
	}
	var members map[string]json.RawMessage
	return bytes.Contains(body, []byte(`\u`)) && json.Unmarshal(body, &members) == nil && members["jsonrpc"] != nil
}

// Cut returns the event with at most so many bytes of Raw, in memory of its own.
func (e Event) Cut(most int) Event {
	if len(e.Raw) > most {
		e.Size = max(e.Size, len(e.Raw))
		e.Raw = bytes.Clone(e.Raw[:most])
	}
	return e
}

// HTTP is the head of a request or of a response.
type HTTP struct {
	Method string      `json:"method,omitempty"` // request
	URL    string      `json:"url,omitempty"`    // request
	Status int         `json:"status,omitempty"` // response
	Header http.Header `json:"header,omitempty"`
}

// SSE is what an event-stream block says beside its data.
type SSE struct {
	ID       *string  `json:"id,omitempty"` // nil when there is no id field
	Name     string   `json:"event,omitempty"`
	Retry    *int     `json:"retry,omitempty"` // milliseconds
	HasData  bool     `json:"data,omitempty"`  // a data field, even an empty one
	Comments []string `json:"comments,omitempty"`
	Flaws    []string `json:"flaws,omitempty"` // malformed or unknown fields, in words
}

// Text is the block as it stands in a stream, with its data, which may have several lines.
func (s *SSE) Text(data []byte) []byte {
	var text bytes.Buffer
	for _, comment := range s.Comments {
		text.WriteString(":" + comment + "\n")
	}
	if s.ID != nil {
		text.WriteString("id: " + *s.ID + "\n")
	}
	if s.Name != "" {
		text.WriteString("event: " + s.Name + "\n")
	}
	if s.Retry != nil {
		fmt.Fprintf(&text, "retry: %d\n", *s.Retry)
	}
	if s.HasData {
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			text.WriteString("data: ")
			text.Write(line)
			text.WriteByte('\n')
		}
	}
	text.WriteByte('\n')
	return text.Bytes()
}
