package proxy

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/sessions"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// books know which exchange over HTTP belongs to which connection of the protocol. Only the
// reader of the queue uses them.
type books struct {
	upstream *url.URL
	grade    transcript.Grade
	options  RelayOptions

	closing   bool // what ends now ends because the relay does
	named     sessions.Connections[*account]
	stateless bool // there was one without a handshake
	all       []*account
}

// account is one connection of the protocol.
type account struct {
	*track
	streams transcript.Streams
	open    int  // exchanges that are under way
	over    bool // it ends with the last of them

	stateless    bool // it is all that passes over one connection of the transport
	besideOthers bool // and there are others

	named string // the host in the endpoint of HTTP with SSE, where that is the relay: some servers take it from the Host field
}

// maxAccounts bounds the connections that are followed at the same time: beyond it the
// one is ended in which nothing has happened for the longest.
const maxAccounts = 4096

func (b *books) begin(header transcript.Header) *account {
	if header.Grade == "" {
		header.Grade = b.grade
	}
	if len(b.all) >= maxAccounts {
		b.end(slices.MinFunc(b.all, func(a, b *account) int { return a.last.Compare(b.last) }))
	}
	a := &account{track: b.options.Recorder.begin(header, b.options.Budget), streams: transcript.Streams{}}
	b.all = append(b.all, a)
	a.log.Append(transcript.Event{Kind: transcript.Open, From: protocol.Client, Note: "to " + b.upstream.Redacted()})
	return a
}

// beginStateless begins the record of what passes over one connection of the transport where
// there are no sessions: a client may have several, and what is sent over one belong to what
// was sent over another. Where there are others, nothing is to be missed in any of them.
func (b *books) beginStateless() *account {
	a := b.begin(transcript.Header{Transport: protocol.HTTP, Agreement: b.options.Recorder.discovered()})
	a.stateless = true
	if b.stateless {
		for _, one := range b.all {
			if one.stateless && !one.besideOthers {
				one.besideOthers = true
				one.log.Append(gap(0, transcript.Elsewhere))
			}
		}
	}
	b.stateless = true
	return a
}

// end ends the record of a connection.
func (b *books) end(a *account) {
	b.named.Forget(a)
	b.all = slices.DeleteFunc(b.all, func(one *account) bool { return one == a })
	a.close()
	ended := a.connection()
	if b.options.Ended == nil {
		ended.Release()
		return
	}
	b.options.Ended(ended)
}

func (b *books) close() {
	for len(b.all) > 0 {
		b.end(b.all[0])
	}
}

// quietTime is how long nothing happens in a connection before its file is closed, until
// more comes.
const quietTime = 10 * time.Second

// tidy ends what is idle for so long.
func (b *books) tidy(idle time.Duration) {
	now := time.Now()
	for _, one := range slices.Clone(b.all) {
		switch quiet := now.Sub(one.last); {
		case one.open == 0 && quiet > idle:
			b.end(one)
		case quiet > quietTime:
			one.rest()
		}
	}
}

// unreachable records that the server was not.
func (b *books) unreachable(err error) {
	a := b.begin(transcript.Header{Transport: protocol.HTTP, Unjudged: true})
	a.log.Append(transcript.Event{Kind: transcript.Failure, Note: err.Error()})
	b.end(a)
}

// link is one connection of the transport.
type link struct {
	books  *books
	last   *account // to which its exchanges without a session belong
	beside *account // to which belongs what is not for the MCP endpoint
	asked  []*exchange
	left   bool // the client has closed its side
}

// exchange is a request and its answer. What is recorded of it waits until it is known to
// which connection it belongs.
type exchange struct {
	link    *link
	request *http.Request
	account *account
	stream  string
	held    []transcript.Event
	status  int
	moved   bool // the client gets the body with the origin of the relay
	ended   bool
}

func (l *link) begin(request *http.Request) *exchange {
	e := &exchange{link: l, request: request}
	l.asked = append(l.asked, e)
	b := l.books
	switch a, id, known := b.named.Of(request.Method, request.URL.RequestURI(), request.Header); {
	case known:
		e.belongs(a)
	case id != "":
		a = b.begin(transcript.Header{Transport: protocol.HTTP, Joined: true})
		b.named.Name(id, a)
		e.belongs(a)
	case request.URL.Path != b.upstream.Path || request.Method == http.MethodOptions:
		e.belongs(l.besides())
	case protocol.Has(request.Header.Get(transport.VersionHeader), protocol.Statelessness):
		if l.last == nil {
			l.last = b.beginStateless()
		}
		e.belongs(l.last)
	}
	return e
}

// besides has what is not for the MCP endpoint.
func (l *link) besides() *account {
	if l.beside == nil {
		header := transcript.Header{Transport: protocol.HTTP, Unjudged: true}
		if l.books.options.RewriteMetadata { // which is here
			header.Grade = transcript.Messages
		}
		l.beside = l.books.begin(header)
	}
	return l.beside
}

// serverURL is the URL of the request as the server knows it: what the server names, such as
// an endpoint, is to be found in it.
func (e *exchange) serverURL() string {
	request, upstream := e.request, e.link.books.upstream
	switch {
	case request.URL.IsAbs() || request.Method == http.MethodConnect:
		return request.URL.String()
	case e.account != nil && e.account.named == request.Host && request.Host != "":
		return "http://" + request.Host + request.URL.RequestURI()
	}
	return upstream.Scheme + "://" + upstream.Host + request.URL.RequestURI()
}

// belongs says to which connection the exchange belongs.
func (e *exchange) belongs(a *account) {
	e.account = a
	a.open++
	e.stream = a.streams.Next(e.request.Method)
	for _, event := range e.held {
		event.Stream = e.stream
		a.log.Append(event)
	}
	e.held = nil
}

// decide finds the connection of what has no session: that of the handshake before, or a
// new one.
func (e *exchange) decide(body []byte) {
	if e.account != nil {
		return
	}
	b, l := e.link.books, e.link
	switch {
	case opens(body):
		l.last = b.begin(transcript.Header{Transport: protocol.HTTP})
		b.named.Sessionless = append(b.named.Sessionless, l.last) // until the answer brings an id
	case l.last != nil:
	case len(b.named.Sessionless) == 1:
		l.last = b.named.Sessionless[0]
	case body == nil && e.status/100 == 4: // refused, and nothing has begun
		e.belongs(l.besides())
		return
	default:
		l.last = b.begin(transcript.Header{Transport: protocol.HTTP, Joined: true})
	}
	e.belongs(l.last)
}

// opens tells whether a body begins a connection of the protocol.
func opens(body []byte) bool {
	if !bytes.Contains(body, []byte("initialize")) && !bytes.Contains(body, []byte("discover")) {
		return false
	}
	message := jsonrpc.Parse(body)
	return message.Kind == jsonrpc.Request && (message.Method == "initialize" || message.Method == "server/discover")
}

func (e *exchange) record(event transcript.Event) {
	if event.At.IsZero() {
		event.At = time.Now()
	}
	if event.Stream = e.stream; e.account == nil {
		e.held = append(e.held, event)
		return
	}
	e.account.log.Append(event)
}

// answered takes the head of the answer.
func (e *exchange) answered(status int, header http.Header) {
	e.status = status
	begins := e.account != nil && !e.account.header.Unjudged && e.link.books.named.Answered(header, e.account)
	if begins && e.link.last == e.account {
		e.link.last = nil // the next has an id
	}
	head := &transcript.HTTP{Status: status, Header: header}
	event := transcript.Event{Kind: transcript.Head, From: protocol.Server, HTTP: head}
	if e.link.books.options.RewriteMetadata &&
		slices.ContainsFunc(header.Values("WWW-Authenticate"), e.link.books.namesServer) {
		event.Note = movedNote
	}
	e.record(event)
}

// origin is that of the server.
func (b *books) origin() string { return b.upstream.Scheme + "://" + b.upstream.Host }

// namesServer tells whether a challenge names metadata at the server.
func (b *books) namesServer(challenge string) bool {
	at := namesMetadata.FindStringIndex(challenge)
	return at != nil && isBelow(challenge[at[1]:], b.origin())
}

// event takes a block of an event stream. One that names the endpoint of HTTP with SSE
// begins a connection.
func (e *exchange) event(event *transport.Event) {
	names := e.request.Method == http.MethodGet && event.Name == transport.EndpointEvent && !event.Unterminated
	if names && e.account == nil {
		e.belongs(e.link.books.begin(transcript.Header{Transport: protocol.SSE}))
	}
	if e.account == nil && event.Dispatched() {
		e.decide(nil)
	}
	recorded := event.Record()
	if names {
		if at, err := e.request.URL.Parse(string(event.Data)); err == nil {
			e.link.books.named.Endpoint(at.RequestURI(), e.account)
			switch upstream := e.link.books.upstream; {
			case e.link.books.options.Forward:
			case at.Scheme == upstream.Scheme && at.Host == upstream.Host:
				recorded.Note = movedNote
			case at.Scheme == "http" && at.Host == e.request.Host:
				e.account.named = at.Host
			}
		}
	}
	e.record(recorded)
}

// end records how the answer ended.
func (e *exchange) end(note string) {
	if e.ended {
		return
	}
	e.ended = true
	switch {
	case e.link.books.closing:
		note = "the recording ended"
	case e.link.left:
		note = transcript.ClientLeft // a server may end its answer in good order after the client has left
	}
	e.decide(nil)
	e.record(transcript.Event{Kind: transcript.End, From: protocol.Server, Note: note})
	a := e.account
	a.open--
	deleted := e.request.Method == http.MethodDelete && e.status/100 == 2
	stream := protocol.Over(a.header.Transport).SharesStream() && e.request.Method == http.MethodGet
	if a.over = a.over || deleted || stream; a.over && a.open == 0 {
		e.link.books.end(a)
	}
}

// over says that the connection of the transport is.
func (l *link) over() {
	for _, e := range l.asked {
		e.end("the connection was closed before the answer had ended")
	}
	for _, a := range []*account{l.last, l.beside} {
		if a != nil && a.open == 0 && (a == l.beside || l.books.isStateless(a)) {
			l.books.end(a)
		}
	}
}

// isStateless tells whether a connection of the protocol has nothing beyond that of the
// transport.
func (b *books) isStateless(a *account) bool {
	return !b.named.IsNamed(a) && protocol.Over(a.header.Transport).Exchanges() && a.header.Revision == ""
}
