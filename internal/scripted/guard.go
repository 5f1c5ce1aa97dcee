package scripted

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Endpoint is the path of a scripted server over HTTP.
const Endpoint = "/mcp"

// Guard lets a scripted server ask for authorization: by itself as a good server does,
// with one good authorization server. What it says is changed before the client comes,
// what its functions do as it goes.
//
// It refuses requests without a good token, and serves protected resource metadata. What
// it refuses is recorded apart from the session, with all that is said about
// authorization.
type Guard struct {
	// Issuers are the authorization servers there are, in order.
	Issuers []*AuthServer
	// Capitals gives the client the URL of the server with its host in capitals.
	Capitals bool
	// Scope is what challenges ask for; "" for nothing.
	Scope string
	// Supported are the scopes that the metadata lists; nil for none.
	Supported []string
	// Places are the paths at which the metadata stands.
	Places []string
	// Named is the path of the metadata that challenges name; "" for none.
	Named string
	// Context is what the client is given beside: the credentials of a client that is
	// registered already.
	Context Object
	// Canary is a file that comes into being when a client lets a shell read an address;
	// "" for none. The record notes so, and the file is deleted.
	Canary string
	// OnRequest is shown each request to the endpoint before it is let in or refused.
	OnRequest func(*Admission)
	// OnChallenge returns the WWW-Authenticate fields in place of the good challenge.
	OnChallenge func(a *Admission, good oauth.Challenge) []string
	// OnMetadata changes the metadata before it goes out.
	OnMetadata func(v *Visit, metadata Object)
	// OnVisit is shown each request to the server beside its endpoint; it returns true
	// when it has answered.
	OnVisit func(v *Visit) bool

	server *Server
	own    *AuthServer // that the server is itself; nil for none

	mu      sync.Mutex
	trusted []*AuthServer
	record  *transcript.Log
	visits  int
	numbers map[string]int // streams, and requests, by what they are of
}

// Admission is a request to the endpoint that wants to be let in.
type Admission struct {
	Request *http.Request
	Message jsonrpc.Message // of a POST
	Method  string          // of the message, or else of HTTP
	Nth     int             // among the requests of this method, from 1
	Token   *Token          // that was issued and is good; nil for none

	// Open lets it in without a token.
	Open bool
	// Needs are the scopes that the token must have.
	Needs []string
	// Status refuses it, with Error and Scope in the challenge where they are not "".
	Status       int
	Error, Scope string
	// Silent leaves the challenge out.
	Silent bool
	// Location is where a Status redirects to; "" for nowhere.
	Location string
}

// Protect lets the server ask for authorization. It must be served over HTTP.
func (s *Server) Protect() *Guard {
	g := &Guard{
		server: s, Scope: "mcp:basic", Supported: []string{"mcp:basic"},
		Places: []string{oauth.ResourcePath + Endpoint}, Named: oauth.ResourcePath + Endpoint,
		numbers: map[string]int{},
	}
	s.guard = g
	s.AddTool(TestTool, nil, func(c *Call) { c.Answer(Text("tested")) })
	if s.Has(protocol.OwnAuthorization) {
		g.Places, g.Named, g.own = nil, "", g.newIssuer().at("", "")
		g.Trust(g.own)
		return g
	}
	g.Trust(g.NewIssuer(""))
	return g
}

// Trust says whose tokens the server takes from now on, and whom its metadata names.
func (g *Guard) Trust(issuers ...*AuthServer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trusted = issuers
}

// Trusted are those that Trust has named.
func (g *Guard) Trusted() []*AuthServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.trusted
}

// Issuer is the first of the authorization servers.
func (g *Guard) Issuer() *AuthServer { return g.Issuers[0] }

// TestTool is the tool that clients of the official suite call where authorization is
// checked.
const TestTool = "test-tool"

// Guard returns what Protect has made; nil for a server that is open to all.
func (s *Server) Guard() *Guard { return s.guard }

// log is the record of what is said about authorization.
func (g *Guard) log() *transcript.Log {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.record == nil {
		g.record = g.server.options.Authorization()
	}
	return g.record
}

// stream names the next visit to a place; there may be too many.
func (g *Guard) stream(issuer int, place Place) (name string, room bool) {
	g.server.came()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.visits++
	kind := streamOf(issuer, place, 0)
	g.numbers[kind]++
	return streamOf(issuer, place, g.numbers[kind]), g.visits <= maxVisits
}

// Opened records what a browser was told to open, and by which arguments.
func (g *Guard) Opened(arguments []string) {
	stream, room := g.stream(0, AtOpening)
	if room {
		text, _ := json.Marshal(Object{"arguments": arguments}) // texts
		g.log().Append(transcript.Event{Kind: transcript.Body, From: protocol.Browser, Stream: stream, Raw: text})
	}
}

// End looks for the canary, when the client has ended.
func (g *Guard) End() {
	if g.Canary == "" || os.Remove(g.Canary) != nil {
		return // it was not created
	}
	g.log().Append(transcript.Event{
		Kind: transcript.Remark, From: protocol.Client, Incident: transcript.ShellRan,
		Note: "a shell has read the address, and created the file " + g.Canary,
	})
}

// serve answers a request unless it is one to the endpoint that is let in.
func (g *Guard) serve(w http.ResponseWriter, incoming *transport.Incoming) (done bool) {
	r := incoming.Request
	if r.URL.Path != Endpoint {
		g.other(w, r, incoming.Body)
		return true
	}
	a := &Admission{Request: r, Method: r.Method}
	if r.Method == http.MethodPost {
		a.Message = jsonrpc.Parse(incoming.Body)
		a.Method = a.Message.Method
	}
	a.Token = g.tokenOf(r.Header)
	g.mu.Lock()
	g.numbers[a.Method]++
	a.Nth = g.numbers[a.Method]
	g.mu.Unlock()
	if g.OnRequest != nil {
		g.OnRequest(a)
	}
	g.decide(a)
	if a.Status == 0 {
		return false
	}
	if v := g.visit(w, r, incoming.Body, 0, AtEndpoint); v != nil {
		g.refuse(v, a)
		return true
	}
	panic(http.ErrAbortHandler) // which is a flood
}

// tokenOf finds the token of a request among those that were issued and are good.
func (g *Guard) tokenOf(header http.Header) *Token {
	text := BearerToken(header)
	for _, issuer := range g.Issuers {
		if token := issuer.Token(text); token != nil && !token.Expired() {
			return token
		}
	}
	return nil
}

// decide says whether a request is let in, unless OnRequest has decided.
func (g *Guard) decide(a *Admission) {
	switch {
	case a.Status != 0, a.Open:
	case a.Token == nil || a.Token.Expired() || !slices.Contains(g.Trusted(), a.Token.Issuer):
		a.Status = http.StatusUnauthorized
		if a.Request.Header.Get("Authorization") != "" {
			a.Error = "invalid_token"
		}
	case slices.ContainsFunc(a.Needs, func(scope string) bool { return !slices.Contains(a.Token.Scopes, scope) }):
		a.Status, a.Error, a.Scope = http.StatusForbidden, "insufficient_scope", strings.Join(a.Needs, " ")
	}
}

// refuse answers a request that is not let in.
func (g *Guard) refuse(v *Visit, a *Admission) {
	header := http.Header{}
	if a.Location != "" {
		header.Set("Location", a.Location)
	}
	if !a.Silent {
		good := g.challenge(v, a)
		fields := []string{good.String()}
		if g.OnChallenge != nil {
			fields = g.OnChallenge(a, good)
		}
		header["Www-Authenticate"] = fields
	}
	v.Answer(a.Status, header, nil)
}

func (g *Guard) challenge(v *Visit, a *Admission) oauth.Challenge {
	good := oauth.Challenge{Scheme: "Bearer"}
	add := func(name, value string) {
		if value != "" {
			good.Params = append(good.Params, oauth.Param{Name: name, Value: value, Quoted: true})
		}
	}
	if g.Named != "" {
		add("resource_metadata", Origin(v.Request)+g.Named)
	}
	scope := a.Scope
	if scope == "" {
		scope = g.Scope
	}
	add("scope", scope)
	add("error", a.Error)
	return good
}

// Origin is that of the server, as the client names it.
func Origin(r *http.Request) string { return "http://" + strings.ToLower(r.Host) }

// other answers a request beside the endpoint.
func (g *Guard) other(w http.ResponseWriter, r *http.Request, body []byte) {
	if place := placeOf(r); g.own != nil && place != AtResourceMetadata && place != AtElsewhere {
		g.own.answer(w, r, body)
		return
	}
	v := g.visit(w, r, body, 0, placeOf(r))
	switch {
	case v == nil:
		panic(http.ErrAbortHandler) // which is a flood
	case g.OnVisit != nil && g.OnVisit(v):
	case slices.Contains(g.Places, r.URL.Path) && r.Method == http.MethodGet:
		metadata := g.Metadata(Origin(r))
		if g.OnMetadata != nil {
			g.OnMetadata(v, metadata)
		}
		v.AnswerJSON(http.StatusOK, metadata)
	}
	v.Answer(http.StatusNotFound, nil, nil)
}

// Metadata is the protected resource metadata of the server at an origin.
func (g *Guard) Metadata(origin string) Object {
	var issuers []any
	for _, one := range g.Trusted() {
		issuers = append(issuers, one.Issuer)
	}
	metadata := Object{
		"resource": origin + Endpoint, "authorization_servers": issuers, "bearer_methods_supported": []any{"header"},
	}
	if g.Supported != nil {
		metadata["scopes_supported"] = g.Supported
	}
	return metadata
}

// Decoy returns a URL on a port of its own to which clients must not send a token. What
// comes there is recorded with all that is about authorization.
func (g *Guard) Decoy() string {
	return g.listen(func(w http.ResponseWriter, r *http.Request) {
		if v := g.visit(w, r, readVisit(r), 0, AtDecoy); v != nil {
			v.AnswerJSON(http.StatusOK, Object{})
		}
	})
}

// listen serves on a port of its own of localhost, until the server closes.
func (g *Guard) listen(handle http.HandlerFunc) (origin string) {
	listeners, err := ListenLocal(g.server.life)
	if err != nil {
		g.server.unready = err
		return "http://localhost:1"
	}
	counted := func(w http.ResponseWriter, r *http.Request) {
		g.server.opened(1)
		defer g.server.opened(-1)
		handle(w, r)
	}
	server := &http.Server{ReadHeaderTimeout: decoyTime, Handler: http.HandlerFunc(counted)}
	for _, listener := range listeners {
		g.server.working.Go(func() { _ = server.Serve(listener) }) // until it is closed
	}
	context.AfterFunc(g.server.life, func() { _ = server.Close() })
	return LocalURL(listeners)
}

// ListenLocal listens at the name localhost, on one port of both families where there are
// both.
func ListenLocal(ctx context.Context) ([]net.Listener, error) {
	const attempts = 8 // the port may be taken in the other family
	var listening net.ListenConfig
	for attempt := 1; ; attempt++ {
		first, err := listening.Listen(ctx, "tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		second, err := listening.Listen(ctx, "tcp6", net.JoinHostPort("::1", port(first)))
		switch {
		case err == nil:
			return []net.Listener{first, second}, nil
		case !strings.Contains(err.Error(), "in use"), attempt == attempts:
			return []net.Listener{first}, nil
		}
		_ = first.Close()
	}
}

func port(listener net.Listener) string {
	address, _ := listener.Addr().(*net.TCPAddr)
	return strconv.Itoa(address.Port)
}

// LocalURL is the origin of what ListenLocal returned.
func LocalURL(listeners []net.Listener) string {
	return "http://" + net.JoinHostPort("localhost", port(listeners[0]))
}
