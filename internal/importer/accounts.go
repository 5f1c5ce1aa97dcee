package importer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// account is a connection of the protocol over HTTP, as its exchanges are told apart.
type account struct {
	Connection
	whole bool                // all of a transcript
	names map[string]int      // exchanges by method
	used  map[jsonrpc.ID]bool // by requests
}

// posted tells whether the body of a request stands where a message belongs.
func (e *exchange) posted() bool { return e.Request.Method == http.MethodPost && e.speaks() }

// accounts know to which connection an exchange belongs: the one with its session id, the one
// whose stream of HTTP with SSE named where it was posted to, or that of the handshake before.
type accounts struct {
	all         []*account
	own         map[int]*account    // by the transcript that it was
	known       map[string]*account // by session id, or by where is posted to
	last        map[string]*account // without a session, by the connection of the transport
	sessionless []*account          // begun by a handshake that brought no id yet
}

func (a *accounts) begin(header transcript.Header) *account {
	one := &account{names: map[string]int{}, used: map[jsonrpc.ID]bool{}}
	one.Header = header
	a.all = append(a.all, one)
	return one
}

// of finds the connection of an exchange, or begins it.
func (a *accounts) of(e *exchange) *account {
	id := e.header.Get(sessionHeader)
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
	case id != "" && a.known[id] != nil:
		return a.known[id]
	case id != "":
		a.known[id] = a.begin(transcript.Header{Transport: protocol.HTTP, Joined: true})
		return a.known[id]
	case endpoint != "":
		a.known[endpoint] = a.begin(transcript.Header{Transport: protocol.SSE})
		return a.known[endpoint]
	case e.Request.Method == http.MethodPost && a.known[e.Request.URL] != nil:
		return a.known[e.Request.URL]
	case opens:
		a.last[link] = a.begin(transcript.Header{Transport: protocol.HTTP})
		a.sessionless = append(a.sessionless, a.last[link])
	case modern && (a.last[link] == nil || slices.Contains(a.sessionless, a.last[link]) || link == "" && a.last[link].used[e.message.ID]):
		// Without sessions and connections the number of clients is unknown.
		a.last[link] = a.begin(transcript.Header{Transport: protocol.HTTP})
	case a.last[link] != nil:
	case len(a.sessionless) > 0:
		return a.sessionless[len(a.sessionless)-1]
	case modern || e.message.Method == "server/discover":
		a.last[link] = a.begin(transcript.Header{Transport: protocol.HTTP})
	default:
		a.last[link] = a.begin(transcript.Header{Transport: protocol.HTTP, Joined: true})
	}
	return a.last[link]
}

// answered learns the session id that an answer brings.
func (a *accounts) answered(e *exchange) {
	id := headerOf(e.Response.Headers).Get(sessionHeader)
	if id == "" || e.account == nil || e.Own != nil {
		return
	}
	a.known[id] = e.account
	a.sessionless = slices.DeleteFunc(a.sessionless, func(one *account) bool { return one == e.account })
	if a.last[e.Connection] == e.account {
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
	books := &accounts{own: map[int]*account{}, known: map[string]*account{}, last: map[string]*account{}}
	for _, one := range moments {
		e := one.of
		if one.opens {
			e.account = books.of(e)
			e.account.used[e.message.ID] = e.message.Kind == jsonrpc.Request
			method := strings.ToLower(e.Request.Method)
			e.account.names[method]++
			e.stream = fmt.Sprintf("%s-%d", method, e.account.names[method])
		}
		if one.event.IsResponseHead() {
			books.answered(e)
		}
		one.event.Stream = e.stream
		e.account.append(one.event)
	}
	for _, one := range books.all {
		if one.whole {
			if one.Header.Dropped {
				one.append(
					transcript.Event{
						Kind: transcript.Gap,
						At:   one.Events[len(one.Events)-1].At,
						Note: "not all was kept",
					},
				)
			}
		} else {
			one.Header.Lacks = []transcript.Lack{transcript.Encoding}
			one.append(transcript.Event{
				Kind: transcript.Gap, At: one.Events[len(one.Events)-1].At, Note: cut,
			})
		}
		i.Connections = append(i.Connections, one.Connection)
	}
}
