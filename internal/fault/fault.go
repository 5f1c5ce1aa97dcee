// Package fault injects deliberate changes into the traffic between two peers: faults,
// which break one requirement and must be noticed, and variations, which are
// legal and must not be. Both are data; fixtures/faults and fixtures/variations
// have them, and Load reads them.
//
// The middleman of package record stands between the peers, asks the Wire of a
// connection about each message and event, and does what the Wire says.
package fault

import (
	"time"

	"github.com/mcpconform/mcpconform/internal/record"
)

// Fault is one deliberate change of what a target says or does. A variation is
// one that breaks nothing.
type Fault struct {
	// ID names it in words with hyphens: "version-not-echoed".
	ID string `yaml:"id"`
	// Says tells what such a target does, in the present tense: "Answers initialize with a
	// revision of its own instead of the one that was asked for."
	Says string `yaml:"says"`
	// Seen names an implementation that has really done so, if one is known.
	Seen string `yaml:"seen"`
	// Breaks are the requirements that it breaks; none for a variation.
	Breaks []string `yaml:"breaks"`
	// AlsoBreaks are requirements that cannot be kept beside it, by id, each with
	// the reason: what else is bound to fail.
	AlsoBreaks map[string]string `yaml:"also-breaks"`
	// MayBreak are requirements that it breaks or not, by id, each with what that hangs on:
	// what else happens to be under way.
	MayBreak map[string]string `yaml:"may-break"`
	// Passes are requirements, by id, whose checks may pass on a target of which all
	// else is silenced, each with the reason: what such a target shows nevertheless.
	Passes map[string]string `yaml:"passes"`
	// Role of the target; "server" when it is empty.
	Role string `yaml:"role"`
	// Revision to inject it at; "" for the newest at which what it breaks stands.
	Revision string `yaml:"revision"`
	// Transport to inject it into, into each of several: "stdio", "http", "sse"; none for
	// http, unless what it breaks applies to another one alone.
	Transport Words `yaml:"transport"`
	// Switch names a defect of the reference, for what no change of the wire can
	// express (state, above all). When, without Do, says what shows it: only checks
	// during which that passes are run; all are, when it is not given.
	Switch string `yaml:"switch"`
	// Into says that what a client does is changed in its recording ("recording"), after it
	// has done it, where no server reacts; "" for the traffic between client and server.
	Into string `yaml:"into"`
	// Scenarios are those of a client in which a switch shows: only checks that look at
	// one of them are run.
	Scenarios Words `yaml:"scenarios"`
	// Silences is said of a variation that takes away what checks need, such as a
	// tool: then they may have nothing to go on.
	Silences bool `yaml:"silences"`
	// Protected is said of what is injected into the traffic of a server that asks for
	// access tokens.
	Protected bool `yaml:"protected"`
	// Alone is said of a variation that changes what there is to check, such as the
	// capabilities of a server: beside it others would not be seen.
	Alone bool `yaml:"alone"`
	// Change is what is done on the wire: When and Do, or several of them in
	// Changes.
	Change  `         yaml:",inline"`
	Changes []Change `yaml:"changes"`

	// File and Line are where it is written.
	File string `yaml:"-"`
	Line int    `yaml:"-"`
}

// Change is a match and what is done with what matches.
type Change struct {
	When *Match   `yaml:"when"`
	Do   []Action `yaml:"do"`
}

// Match says what a change is for. All that is given must hold. With Process it
// matches an event of a process, with HTTP and nothing about a message the head
// of an exchange, and else a message.
type Match struct {
	// Direction is Out when it is empty. What is written sees it from the target, which
	// may be a client; a Wire sees it from the server.
	Direction record.Direction `yaml:"direction"`
	// Kind is request, notification, response, result (a response with one) or
	// error (a response with one).
	Kind string `yaml:"kind"`
	// Method of a request or notification: one of these.
	Method Words `yaml:"method"`
	// ResponseTo is the method of the request that a response answers: one of
	// these, "*" for any.
	ResponseTo Words `yaml:"response-to"`
	// Asks is what a server asks of its client, in either era: by a request of one of these
	// methods, or by a request for input in a result. Where, and the edits of what is done,
	// are then about that request.
	Asks Words `yaml:"asks"`
	// Answers is the result that a client gives when it is asked so by one of these
	// methods, in either era: in a response, or in a request that brings input. Where, and
	// the edits of what is done, are then about that result.
	Answers Words `yaml:"answers"`
	// Where are conditions on the message, by JSON pointer. A part of the pointer
	// that is * stands for any member or element: one of them must do.
	Where map[string]Condition `yaml:"where"`
	// Text is a regular expression for the message as it came, byte for byte.
	Text *Pattern `yaml:"text"`
	// Asked are conditions on the request that a response answers.
	Asked map[string]Condition `yaml:"asked"`
	// Nth is the one among those that match on a connection, from 1.
	Nth int `yaml:"nth"`
	// After and Before want that a message which matches has, or has not, passed
	// on the connection before this one.
	After  *Match `yaml:"after"`
	Before *Match `yaml:"before"`
	// Carried is how the message travels: "stdio", "body" (of a POST, or an
	// answer as one JSON body), "post" (an event stream that answers a POST) or
	// "get" (another event stream). In a recording, "outcome" matches what the driver of a
	// client tells of a step, an object, and nothing else does.
	Carried Words `yaml:"carried"`
	// HTTP are conditions on the exchange that carries the message, or, without
	// any about a message, on the head of a request (in) or response (out).
	HTTP *Exchange `yaml:"http"`
	// Process is an event of the target's process over stdio: "start",
	// "input-closed", "terminate" (asked to by a signal).
	Process string `yaml:"process"`
}

// Exchange are conditions on one HTTP exchange.
type Exchange struct {
	Method Words                `yaml:"method"` // GET, POST, DELETE, ...
	Path   *Condition           `yaml:"path"`   // of the request's URL
	Query  map[string]Condition `yaml:"query"`  // of the request's URL: first value, by name
	Status int                  `yaml:"status"` // of the response
	Header map[string]Condition `yaml:"header"` // of the head that is judged: first value, by name
	// Request are conditions on the request's header, when the head is a
	// response's.
	Request map[string]Condition `yaml:"request"`
}

// Action is one thing that is done with what matches. Exactly one verb is
// given; what stands beside it belongs to it. Actions are done in their order.
type Action struct {
	// Edits of the message. Pointers may hold *, for all members or elements.
	Replace *string `yaml:"replace"` // pointer; With is put there
	Add     *string `yaml:"add"`     // pointer of a new member or element ("-" appends); With is put there; parents are made
	Remove  *string `yaml:"remove"`  // pointer
	Rename  *string `yaml:"rename"`  // pointer of a member; To is its new name
	With    *Value  `yaml:"with"`
	To      string  `yaml:"to"`

	// Changes of the text of the message.
	Substitute *Pattern `yaml:"substitute"` // regular expression; By takes the place of each match
	By         string   `yaml:"by"`
	Raw        *string  `yaml:"raw"`     // the whole message, as text
	Hex        *string  `yaml:"hex"`     // the whole message, as bytes
	Encode     string   `yaml:"encode"`  // utf-16, latin-1, bom
	Rewrite    Words    `yaml:"rewrite"` // the same JSON, spelled otherwise: see package spelling

	// Extend adds, in each object of the message where the schema of every revision allows
	// one: unknown members ("members"), metadata ("meta"). Seed varies their names and
	// values.
	Extend Words `yaml:"extend"`
	Seed   int   `yaml:"seed"`

	// Alias gives what the message names another name, here and from now on.
	Alias *Alias `yaml:"alias"`

	// What becomes of the message.
	Drop      bool             `yaml:"drop"`      // it is not passed on
	Repeat    int              `yaml:"repeat"`    // so many more times
	Delay     time.Duration    `yaml:"delay"`     // others may overtake it
	Hold      *Match           `yaml:"hold"`      // until a message that matches has passed
	Answer    *Value           `yaml:"answer"`    // of a request: not passed on; answered with this result (and what every result has), or
	Refuse    *Value           `yaml:"refuse"`    // with this error
	Send      *Value           `yaml:"send"`      // another message, whole; Direction and Place say which way, and when
	Request   *record.Request  `yaml:"request"`   // of a client, over HTTP: another request, with the headers of the one at hand
	Direction record.Direction `yaml:"direction"` // of Send; that of the match when empty
	Place     string           `yaml:"place"`     // of Send and Write: "after" (default) or "before" the message
	Stream    string           `yaml:"stream"`    // of Send over HTTP: "get" for the stream of what comes unasked (GET, subscriptions/listen), "others" for all others of them; default: the one of the message

	// How it stands on stdio.
	Split int     `yaml:"split"` // a newline after so many bytes
	End   *string `yaml:"end"`   // what follows it instead of a newline
	Chunk int     `yaml:"chunk"` // written in pieces of so many bytes; over HTTP too
	Write *string `yaml:"write"` // bytes beside the messages: to standard output, or with To "stderr" there

	// How it stands on HTTP.
	Status    int                `yaml:"status"`     // of the response
	Header    map[string]*string `yaml:"header"`     // set on the head, null removes; %s is the value that it had
	Challenge map[string]*string `yaml:"challenge"`  // parameters of the Bearer challenge of a response, null removes; %s as in header
	Query     map[string]*string `yaml:"query"`      // in a recording: parameters in the URL of a request, null removes; %s as in header
	Form      map[string]*string `yaml:"form"`       // in a recording: those in its body
	Body      *string            `yaml:"body"`       // instead of the body
	Respond   *record.Respond    `yaml:"respond"`    // to a request, without asking the target
	Event     *record.Fields     `yaml:"event"`      // fields of the event that carries the message
	EventText *string            `yaml:"event-text"` // the whole event, as text with its blank line; %s is the message
	As        string             `yaml:"as"`         // "json" or "events": how an answer is carried
	Cut       bool               `yaml:"cut"`        // the connection breaks here
	Close     bool               `yaml:"close"`      // the stream ends in good order after this message
	KeepOpen  bool               `yaml:"keep-open"`  // the stream does not end

	// What the process does. A message that was on its way to it does not come to it.
	Exit   *int `yaml:"exit"`   // it exits with this status
	Hang   bool `yaml:"hang"`   // it does nothing more
	Ignore bool `yaml:"ignore"` // the process event is not passed on to the target
}
