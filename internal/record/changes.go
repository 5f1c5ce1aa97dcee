// Package record stands between two real peers, over stdio, Streamable HTTP or HTTP with SSE,
// passes on what they send as it came, and records it. ServeCommand and HTTP are the two middlemen.
//
// It never judges what passes, and changes only what the Changes of a connection ask for.
package record

import (
	"net/http"
	"net/url"
	"time"
)

// Direction of a message, as the server sees it.
type Direction string

// The two directions.
const (
	In  Direction = "in"  // to the server
	Out Direction = "out" // from the server
)

// Opposite returns the other direction.
func (d Direction) Opposite() Direction {
	if d == In {
		return Out
	}
	return In
}

// Request is an HTTP request of a client that is made up. It has no body, and its response is
// discarded.
type Request struct {
	Method string             `yaml:"method"`
	Header map[string]*string `yaml:"header"` // set, null removes; %s is the value that it had
}

// Respond is an answer over HTTP that is made up.
type Respond struct {
	Status int               `yaml:"status"`
	Header map[string]string `yaml:"header"`
	Body   string            `yaml:"body"`
}

// Fields are those of an event beside its data; "" writes an empty field.
type Fields struct {
	ID      *string `yaml:"id"`
	Name    *string `yaml:"name"`
	Retry   *string `yaml:"retry"`
	Comment *string `yaml:"comment"`
	NoID    bool    `yaml:"no-id"` // without the id that it had
	End     string  `yaml:"end"`   // of each of its lines: "\n" (default), "\r" or "\r\n"
	Bare    bool    `yaml:"bare"`  // without the space after the colons
}

// Head is the head of an HTTP request or response as a middleman sees it.
type Head struct {
	Direction Direction // In for a request, Out for a response
	Method    string
	URL       *url.URL    // of the request
	Status    int         // of a response
	Header    http.Header // of this head
	Request   http.Header // of the request, when this is a response
}

// Changes decide what becomes of what passes on one connection. They are asked from
// several goroutines.
type Changes interface {
	// Message returns the steps that take the place of a message. Without a change
	// that is one step, with the message as it came.
	Message(Passage) []Step
	// Head says what becomes of an exchange by its head alone: of a request before it
	// is passed on, of a response before its body is read.
	Head(Head) HeadPlan
	// Process says what is done at an event of the server's process ("start",
	// "input-closed", "terminate"), and whether the event is kept from it.
	Process(event string) (steps []Step, ignored bool)
	// Changed is the way of what the peer says that is changed.
	Changed() Direction
	// OnlyLooks tells whether no message is ever changed.
	OnlyLooks() bool
	// ChangesHeads tells whether a change of a message that an event stream brings, in
	// answer to a request of some method, may change the head of that stream, which
	// must then wait for the first message.
	ChangesHeads(carried, asked string) bool
}

// Passage is a message on its way, or a block of an event stream that carries
// none (a comment, an id to resume at), whose Raw is empty.
type Passage struct {
	Direction Direction
	Raw       []byte
	Carried   string // see Match.Carried
	Head      *Head  // of the head that carries it; nil over stdio
	Exchange  string // that carries it, over HTTP
}

// Step is one thing for the middleman to do with a message; steps are done in
// their order. One that has no message and no text is done where it stands.
type Step struct {
	Direction Direction // of Message
	Message   []byte    // nil for none; what came for a block without a message
	Beside    bool      // Message goes beside the one that came, not in its place
	Stream    string    // "get": on the GET stream; "others": on all other GET streams; "" where the message came
	Answers   bool      // Message takes the place of the target's answer
	Wait      Wait      // first; what follows may overtake this step
	End       *string   // over stdio: what follows instead of a newline
	Chunk     int       // written in pieces of so many bytes; 0: whole
	Text      []byte    // over stdio: bytes beside the messages
	Stderr    bool      // Text goes to standard error
	Request   *Request  // over HTTP: another request to the server
	Event     *Fields   // over an event stream: changed fields of the event
	EventText *string   // over an event stream: the whole event; %s is the message
	As        string    // over HTTP: "json" or "events", how the answer is carried
	Head      HeadPlan  // over HTTP: what becomes of the head, when it is not written yet
	Cut       bool      // the connection breaks
	Close     bool      // the stream ends in good order
	KeepOpen  bool      // the stream does not end by itself
	Exit      *int      // the process exits
	Hang      bool      // nothing more is passed on, either way
}

// Wait is what a step waits for: a time, a message, or nothing.
type Wait struct {
	Time  time.Duration
	Until <-chan struct{} // closed when it has passed; nil for none
}

// HeadPlan is what becomes of an HTTP exchange, by its head.
type HeadPlan struct {
	Respond *Respond // a request is answered so, and not passed on
	Status  int      // of the response; 0: its own
	Header  map[string]*string
	// Challenge are parameters of the Bearer challenge.
	Challenge map[string]*string
	Body      *string            // instead of the body; nil: its own
	Query     map[string]*string // in a recording: parameters in the URL of a request
	As        string
	Wait      time.Duration // before the head is passed on
	Chunk     int           // the body is written in pieces of so many bytes
	Drop      bool          // a request never reaches the target, and is not answered
	Cut       bool          // the connection breaks instead
	KeepOpen  bool          // the body does not end
}
