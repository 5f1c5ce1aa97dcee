package session

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/reach"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Connect opens a fresh connection: nothing has been said on it. In the stateless
// era that is all there is to a session.
func Connect(t *T) *Server {
	server := connect(t)
	server.openedByCheck = true
	return server
}

func connect(t *T) *Server {
	server, err := dial(environmentOf(t))
	if err != nil {
		t.Inconclusive(
			"no connection to the server: "+err.Error(),
			"make sure that the server can be started or reached, then run again",
		)
	}
	use(t, server)
	return server
}

// Session returns a connection that is ready for requests of a client that offers
// everything: in the handshake era the handshake is done. An earlier check may
// have used it; none left anything open on it.
func Session(t *T) *Server {
	return pooled(t, scripted.Everything(t.Revision()), nothingOpen, nothingLeft)
}

// ConnectAside opens a connection for what is none of the protocol: no rule judges it.
func ConnectAside(t *T) *Server {
	server := Connect(t)
	server.aside = true
	return server
}

// FreshSession returns such a connection for a check that leaves something behind, such as
// a log level, and that would be disturbed by what others left. Over stdio, where each
// connection is a process, such checks share one all the same: what does not pass there is
// repeated on a connection of its own.
func FreshSession(t *T) *Server {
	return DeclaringSession(t, scripted.Everything(t.Revision()))
}

// TaskSession returns such a connection for a check that leaves tasks behind, and
// that is not disturbed by those of others.
func TaskSession(t *T) *Server {
	if !t.Transport().Processes() {
		return UnusedSession(t)
	}
	return pooled(t, scripted.Everything(t.Revision()), tasksLeft, nothingLeft)
}

// UnusedSession returns such a connection that no other check has used or will use.
func UnusedSession(t *T) *Server {
	return unused(t, scripted.Everything(t.Revision()))
}

// pooled returns a session of a client with the capabilities from the first pool that has
// one, or else a new one. The check may leave behind what the first of the pools stands for.
func pooled(t *T, capabilities scripted.Capabilities, from ...leftover) *Server {
	environment := environmentOf(t)
	declared := environment.declared(capabilities)
	server := environment.take(declared, from...)
	if server != nil {
		use(t, server)
		server.finish()
	} else {
		server = unused(t, capabilities)
		server.greet()
		server.leftBehind, server.declared = nothingLeft, declared
	}
	server.mayLeave = from[0]
	if environment.Fresh || environment.Apart && server.mayLeave == anythingLeft {
		server.mayLeave = unpooled
	}
	return server
}

// declared tells sessions of clients with different capabilities apart. In the stateless
// era they are those of a request, not of a session.
func (e *Environment) declared(capabilities scripted.Capabilities) string {
	if e.Has(protocol.Statelessness) {
		return ""
	}
	return jsonrpc.Text(capabilities)
}

// greet has a server of both eras serve an ordinary request before a check begins: one
// that settles on an era by what it hears first must not do so by what the check happens
// to send. What comes of it, other checks judge.
func (s *Server) greet() {
	found := s.env.Survey
	if !s.Transport().Processes() || !s.env.Has(protocol.Statelessness) || len(found.Handshakes) == 0 {
		return
	}
	for _, list := range survey.Lists {
		capability, _, _ := strings.Cut(list, "/")
		if _, failed := found.Failed[list]; found.Declares(capability) && !failed {
			_, _ = s.Connection.Call(s.t, list, nil)
			return
		}
	}
}

// AuthorizedSession returns a connection that is ready for requests with a token of a kind, which
// no other check uses.
func AuthorizedSession(t *T, kind oauth.Kind) *Server {
	environment := environmentOf(t)
	to := environment.Target
	to.Header = http.Header{}
	maps.Copy(to.Header, environment.Target.Header)
	to.Header.Set("Authorization", oauth.Bearing(Token(t, kind)))
	name := environment.Process.Name(environment.Revision + "-" + environment.Transport)
	connection, err := reach.Open(&environment.Offer, to, transcript.NewLogIn(environment.Budget, name))
	if err != nil {
		t.Inconclusive(
			"no connection to the server: "+err.Error(),
			"make sure that the server can be reached, then run again",
		)
	}
	server := &Server{Connection: connection, env: environment}
	use(t, server)
	if t.Has(protocol.Handshake) {
		if _, err := server.Handshake(Hello(t, t.Revision())); err != nil {
			t.Inconclusive(
				"no session with "+kind.Says()+": "+err.Error(),
				"make sure that the server accepts such a token",
			)
		}
	}
	return server
}

// DeclaringSession returns such a connection of a client that declares the capabilities:
// in the handshake, or with each request. A server that answers with no revision of the
// protocol is taken to speak the one under test; another check judges the answer.
func DeclaringSession(t *T, capabilities scripted.Capabilities) *Server {
	if !t.Transport().Processes() {
		return unused(t, capabilities)
	}
	server := pooled(t, capabilities, anythingLeft, nothingLeft)
	if t.Has(protocol.Statelessness) {
		server.Speak(t.Revision(), capabilities)
	}
	return server
}

func unused(t *T, capabilities scripted.Capabilities) *Server {
	server := connect(t)
	if !t.Has(protocol.Handshake) {
		server.Speak(t.Revision(), capabilities)
		return server
	}
	handshake, err := server.Handshake(scripted.Hello(t.Revision(), capabilities))
	if err != nil {
		t.Inconclusive("no session: "+err.Error(), "fix the failures under lifecycle first")
	}
	if handshake.Revision != t.Revision() && slices.Contains(protocol.Released(), handshake.Revision) {
		t.Inconclusive(
			"no session at this revision: the server answered with "+handshake.Revision,
			"see the version negotiation checks",
		)
	}
	return server
}

func dial(environment *Environment) (*Server, error) {
	connection, err := environment.Dial()
	if err != nil {
		return nil, err
	}
	return &Server{Connection: connection, env: environment}, nil
}

// Dial opens a fresh connection of a client that offers everything. Who opens it closes
// it, and has it judged.
func (e *Environment) Dial() (*scripted.Connection, error) {
	return reach.Open(&e.Offer, e.Target, transcript.NewLogIn(e.Budget, e.Process.Name(e.Revision+"-"+e.Transport)))
}

// leftover is what checks may have left on a session that others use after them.
type leftover int

const (
	unpooled    leftover = iota // anything: the session is for one check
	nothingLeft                 // nothing by which the server is another one than before
	nothingOpen                 // everything is answered
	tasksLeft
	anythingLeft // anything: a check that does not pass on it is repeated on a session of its own
	leftovers    // how many there are
)

// pool keeps sessions on which checks left no more than its leftover.
type pool struct {
	mu   sync.Mutex
	idle []*Server
}

// take returns a session of a client with the capabilities, from the first pool that has
// one; nil for none.
func (e *Environment) take(declared string, from ...leftover) *Server {
	for _, left := range from {
		if server := e.pools[left].take(declared); server != nil {
			return server
		}
	}
	return nil
}

// keep puts a session away for other checks, after one in which these events were. It
// reports false when no other can use it.
func (e *Environment) keep(server *Server, events []transcript.Event, outcome Outcome) bool {
	e.inherit(server, events, outcome)
	if !server.reusable() || e.Budget.Scarce() { // its record takes room until it ends
		return false
	}
	something, open := leaves(events, e.Has(protocol.Statelessness))
	untouched := server.leftBehind == nothingLeft && !outcome.Doubtful && !something
	if !untouched || server.mayLeave == tasksLeft {
		server.leftBehind = server.mayLeave
	}
	if server.leftBehind == anythingLeft && (outcome.Ending != Passed || open) {
		return false
	}
	e.pools[server.leftBehind].put(server)
	return true
}

func (p *pool) take(declared string) *Server {
	return p.takeIf(func(one *Server) bool { return one.declared == declared })
}

// takeIf returns one that is fit, and used last; nil for none.
func (p *pool) takeIf(fit func(*Server) bool) *Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, server := range slices.Backward(p.idle) {
		if !fit(server) {
			continue
		}
		p.idle = slices.Delete(p.idle, at, at+1)
		if server.reusable() {
			return server
		}
		// It died while idle: its transcript is judged like any other.
		server.end()
	}
	return nil
}

// alive is what went over the connections that are kept for other checks, and are there.
func (e *Environment) alive() (logs [][]transcript.Event) {
	for left := range e.pools {
		pool := &e.pools[left]
		pool.mu.Lock()
		for _, server := range pool.idle {
			if server.Alive() {
				logs = append(logs, server.Log().Events())
			}
		}
		pool.mu.Unlock()
	}
	return logs
}

func (p *pool) put(server *Server) {
	server.looksBack = false
	server.AnswerAll()
	if server.env.Has(protocol.PerRequestMeta) {
		server.Speak(server.env.Revision, scripted.Everything(server.env.Revision))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, server)
}

func (p *pool) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, server := range p.idle {
		server.end()
	}
	p.idle = nil
}

// reusable tells whether another check may use the session. One that has said
// much is retired: rules read transcripts, and short ones tell more.
func (s *Server) reusable() bool {
	return s.mayLeave != unpooled && s.Alive() && s.Idle() && s.Log().Len() < retireAfter && s.Weight() < scope.Heavy
}

const retireAfter = 2000
