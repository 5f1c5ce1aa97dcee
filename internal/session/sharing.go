package session

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// TogetherWith names the checks over stdio that run in one worker with this one; "" for none.
func (e *Environment) TogetherWith(declared *Declaration) string {
	if e.sharesProcesses() {
		return declared.Together
	}
	return ""
}

// SharesProcesses tells whether connections are processes, and checks share them wherever
// what does not pass can be repeated on one of its own.
func SharesProcesses(t *T) bool { return environmentOf(t).sharesProcesses() }

func (e *Environment) sharesProcesses() bool {
	return protocol.Over(e.Transport).Processes() && !e.Fresh && !e.Apart
}

// Opened opens a connection by a hello. Where connections are processes it looks at how another
// check has opened one by the same, if one has.
func Opened(t *T, hello Object) *Answer {
	if server := environmentOf(t).openedBy(jsonrpc.Text(hello)); server != nil {
		use(t, server)
		server.from, server.mark, server.looksBack, server.mayLeave = 0, 0, true, server.leftBehind
		return &Answer{
			Pending: &scripted.Pending{ID: server.opened.id, Method: "initialize", Delivery: &scripted.Delivery{}},
			server:  server, calling: calling{inherits: true}, over: true, received: server.opened.answer,
		}
	}
	return Connect(t).Call("initialize", hello)
}

// openedBy takes a connection that was opened by the hello; nil for none.
func (e *Environment) openedBy(hello string) *Server {
	for left := range e.pools {
		if server := e.pools[left].takeIf(func(one *Server) bool { return one.opened.hello == hello }); server != nil {
			return server
		}
	}
	return nil
}

// events are what the check saw on the connection: no more than how it was opened, where it
// looks at that alone.
func (s *Server) events() []transcript.Event {
	events := s.Log().Since(s.from)
	if s.looksBack {
		at := slices.IndexFunc(events, func(event transcript.Event) bool {
			return event.Place() == s.opened.answer.At
		})
		events = events[:at+1]
	}
	return events
}

// inherit makes a session for others of a connection over stdio, which is a process, that a
// check has opened in its own way and passed on, if the server agreed to the revision. After
// the usual hello nothing is left on it; after another one, a check that does not pass on it
// is repeated.
func (e *Environment) inherit(server *Server, events []transcript.Event, outcome Outcome) {
	if !server.openedByCheck || !e.sharesProcesses() || outcome.Ending != Passed || !e.Has(protocol.Handshake) {
		return
	}
	how := readOpening(events)
	how.answer = server.answerTo(how.id)
	if (Reply{Received: how.answer}).Object()["protocolVersion"] != e.Revision {
		return
	}
	server.openedByCheck, server.opened, server.declared = false, how, how.capabilities
	server.leftBehind, server.mayLeave = anythingLeft, anythingLeft
	if how.plain && how.hello == jsonrpc.Text(scripted.Hello(e.Revision, scripted.Everything(e.Revision))) {
		server.leftBehind, server.mayLeave = nothingLeft, nothingOpen
	}
}

// answerTo returns the response to a request, if it has come.
func (s *Server) answerTo(id jsonrpc.ID) scripted.Received {
	all := s.Connection.Received(0)
	at := slices.IndexFunc(all, func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && received.ID == id
	})
	if at < 0 {
		return scripted.Received{}
	}
	return all[at]
}

// opened is how a client opened a connection.
type opened struct {
	hello        string // the params of initialize, as JSON
	capabilities string // that it declared there, as JSON
	id           jsonrpc.ID
	answer       scripted.Received
	initialized  bool // notifications/initialized came
	plain        bool // nothing else came before the end of the handshake
}

func readOpening(events []transcript.Event) opened {
	how := opened{plain: true}
	for _, event := range events {
		if !event.IsContent() || event.From != protocol.Client || how.initialized {
			continue
		}
		message := jsonrpc.Parse(event.Raw)
		switch {
		case message.Method == "initialize" && how.hello == "":
			params, _ := message.Params().(map[string]any)
			how.id, how.hello = message.ID, jsonrpc.Text(params)
			how.capabilities = jsonrpc.Text(params["capabilities"])
			how.plain = how.plain && how.id.IsInteger()
		case message.Method == "notifications/initialized":
			how.initialized = true
			how.plain = how.plain && message.Params() == nil
		default:
			how.plain = false
		}
	}
	return how
}

// finish ends the handshake that a check has left where it looked at it.
func (s *Server) finish() {
	if s.opened.hello != "" && !s.opened.initialized {
		s.opened.initialized = true
		_ = s.Connection.Notify(s.t, "notifications/initialized", nil) // what comes of it shows in what follows
	}
}
