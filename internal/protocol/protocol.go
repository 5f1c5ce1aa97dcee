// Package protocol is the one list of what the Model Context Protocol has several of:
// revisions and their features, transports, the roles of a target, and the parties of a
// connection. It imports nothing of ours, so that every other package can ask it, except
// the reference implementations, which know nothing of the harness.
//
// Code that depends on the revision asks for the feature that it means, never for a date:
//
//	if protocol.Has(revision, protocol.Sessions) { ...
//
// What embeds or carries a revision has a method Has of the same meaning. A connection, or a
// check, is asked in the same way what its Transport can do; where there is but the name of
// one, Over has the value:
//
//	if protocol.Over(cell.Transport).Processes() { ...
//
// Revisions, roles and transports are plain strings, because that is what peers, flags,
// files and reports write: a string type of our own in a value decoded from JSON would
// silently differ from the same text on the wire.
//
// # A new revision
//
// Add its date, and give each feature that it ends or begins its span; the table in the
// tests names the place in the specification for each. Code that asks for features need
// not change.
package protocol

// The roles of a target: which side the implementation under test plays.
const (
	ServerRole              = "server"
	ClientRole              = "client"
	AuthorizationServerRole = "authorization-server" // issues the tokens
)

// Roles lists the roles in which a target can be checked, and which requirements oblige.
// The slice is the caller's own.
func Roles() []string { return []string{ServerRole, ClientRole, AuthorizationServerRole} }

// The transports, by the names that flags, files and reports use.
const (
	Stdio = "stdio"
	HTTP  = "http" // Streamable HTTP, since 2025-03-26
	SSE   = "sse"  // HTTP with SSE, of 2024-11-05
)

// Transports lists the transports over which the harness checks a target. The slice is the
// caller's own.
func Transports() []string { return []string{Stdio, HTTP, SSE} }

// Transport is a transport as a value that says what it can do.
type Transport struct{ name string }

// Over is the transport of a name. One that is unknown can do nothing.
func Over(name string) Transport { return Transport{name} }

// Processes tells whether each connection has a process of its own, which ends with it.
func (t Transport) Processes() bool { return t.name == Stdio }

// Exchanges tells whether each message goes out in an HTTP exchange of its own, which brings
// what belongs to it, and can be closed. What belongs to none comes in one that begins with
// a GET.
func (t Transport) Exchanges() bool { return t.name == HTTP }

// SharesStream tells whether all that a server says comes on one event stream, which the
// client opens first.
func (t Transport) SharesStream() bool { return t.name == SSE }

// InOrder tells whether all that a party sends arrives in the order in which it was sent: of
// two requests over HTTP, one may overtake the other.
func (t Transport) InOrder() bool { return t.name == Stdio }

// Sessions tells whether a server may give a session an id.
func (t Transport) Sessions() bool { return t.name == HTTP }

// Mirrors tells whether headers repeat what a message says, at revisions that have that.
func (t Transport) Mirrors() bool { return t.name == HTTP }

// Carries tells whether messages of a revision may come over a transport. HTTP with SSE
// is of 2024-11-05, and later revisions of its era are spoken over it.
func Carries(transport, revision string) bool {
	return transport != SSE || Has(revision, Handshake)
}

// Reaches tells whether targets of a role are checked over a transport: an authorization server
// has HTTP alone.
func Reaches(transport, role string) bool {
	return role != AuthorizationServerRole || transport == HTTP
}

// Party is one end of a connection: who sends, or receives, a message.
type Party string

// The parties of a connection.
const (
	Client              Party = "client"
	Server              Party = "server"
	AuthorizationServer Party = "authorization-server" // issues tokens
	Browser             Party = "browser"              // of the client's user
)

// Other returns the other end of a connection between a client and a server.
func (p Party) Other() Party {
	if p == Client {
		return Server
	}
	return Client
}
