package importer

import (
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/sessions"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// account is a connection of the protocol over HTTP, as its exchanges are told apart.
type account struct {
	Connection
	whole   bool // all of a transcript
	streams transcript.Streams
	used    map[jsonrpc.ID]bool // by requests
}

// posted tells whether the body of a request stands where a message belongs.
func (e *exchange) posted() bool { return e.Request.Method == http.MethodPost && e.speaks() }

// accounts know to which connection an exchange belongs: the one with its session id, the one
// whose stream of HTTP with SSE named where it was posted to, or that of the handshake before.
type accounts struct {
	sessions.Connections[*account]
	all  []*account
	own  map[int]*account    // by the transcript that it was
	last map[string]*account // without a session, by the connection of the transport
}

func (a *accounts) begin(header transcript.Header) *account {
	one := &account{streams: transcript.Streams{}, used: map[jsonrpc.ID]bool{}}
	one.Header = header
	a.all = append(a.all, one)
	return one
}

// of finds the connection of an exchange, or begins it.
func (a *accounts) of(e *exchange) *account {
	known, id, isKnown := a.Of(e.Request.Method, e.Request.URL, e.header)
	opens := e.message.Kind == jsonrpc.Request && e.message.Method == "initialize"
	modern := protocol.Has(e.header.Get(transport.VersionHeader), protocol.Statelessness)
	endpoint := e.endpointEvent()
	link := e.Connection
	switch {
	case e.Own != nil:
		if a.own[e.Own.Recording] == nil {
			header := transcript.Header{Transport: protocol.HTTP, Joined: true}
			if e.Own.Header != nil {
				header = *e.Own.Header
			}
			a.own[e.Own.Recording] = a.begin(header)
			a.own[e.Own.Recording].whole = e.Own.Header != nil
		}
		return a.own[e.Own.Recording]
	case isKnown:
		return known
	case id != "":
		begun := a.begin(transcript.Header{Transport: protocol.HTTP, Joined: true})
		a.Name(id, begun)
		return begun
	case endpoint != "":
		begun := a.begin(transcript.Header{Transport: protocol.SSE})
		a.Endpoint(endpoint, begun)
		return begun
	case opens:
		a.last[link] = a.begin(transcript.Header{Transport: protocol.HTTP})
		a.Sessionless = append(a.Sessionless, a.last[link])
	case modern && (a.last[link] == nil || slices.Contains(a.Sessionless, a.last[link]) || link == "" && a.last[link].used[e.message.ID]):
		// Without sessions and connections the number of clients is unknown.
		a.last[link] = a.begin(transcript.Header{Transport: protocol.HTTP})
	case a.last[link] != nil:
	case len(a.Sessionless) > 0:
		return a.Sessionless[len(a.Sessionless)-1]
	case modern || e.message.Method == "server/discover":
		a.last[link] = a.begin(transcript.Header{Transport: protocol.HTTP})
	default:
		a.last[link] = a.begin(transcript.Header{Transport: protocol.HTTP, Joined: true})
	}
	return a.last[link]
}

// answered learns the session id that an answer brings.
func (a *accounts) answered(e *exchange) {
	begins := e.account != nil && e.Own == nil && a.Answered(headerOf(e.Response.Headers), e.account)
	if begins && a.last[e.Connection] == e.account {
		delete(a.last, e.Connection)
	}
}

// exchanges puts those of a HAR into connections.
func (i *Imported) exchanges(all []*exchange, isOwn bool) {
	endpoints := map[string]bool{}
	for _, one := range all {
		if one.speaks() {
			endpoints[one.endpoint()] = true
		}
	}
	var moments []moment
	for _, one := range all {
		if !endpoints[one.endpoint()] || one.Request.Method == http.MethodOptions {
			i.skip(one.line)
			continue
		}
		moments = append(moments, one.moments(isOwn)...)
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return a.at.Compare(b.at) })
	books := &accounts{own: map[int]*account{}, last: map[string]*account{}}
	for _, one := range moments {
		e := one.of
		if one.opens {
			e.account = books.of(e)
			e.account.used[e.message.ID] = e.message.Kind == jsonrpc.Request
			e.stream = e.account.streams.Next(e.Request.Method)
		}
		if one.event.IsResponseHead() {
			books.answered(e)
		}
		one.event.Stream = e.stream
		e.account.append(one.event)
	}
	for _, one := range books.all {
		gap := transcript.Event{Kind: transcript.Gap, At: one.Events[len(one.Events)-1].At, Note: cut}
		if one.whole {
			gap.Note = "not all was kept"
		} else {
			one.Header.Lacks = []transcript.Lack{transcript.Encoding}
		}
		if !one.whole || one.Header.Dropped {
			one.append(gap)
		}
		i.Connections = append(i.Connections, one.Connection)
	}
}
