package scripted

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Target says how a server under test is reached, over one transport.
type Target struct {
	Transport string
	Command   target.Command // for stdio: started anew for every connection
	URL       string         // for HTTP
	Peer      protocol.Party // for HTTP: who is reached, for the transcript; the server when it is empty
	Header    http.Header    // for HTTP: sent with every request
	Reply     time.Duration  // how long one answer may take
	Start     time.Duration  // how long a target that is starting may take to say something, if longer
	Work      time.Duration  // how long the answer to a request may take that has the target work, if longer
	Tempo     *Tempo         // by which answers are waited for, as far as Reply allows; nil for none
	Limits    transport.Limits
	Pace      *transport.Pace // for HTTP: shared by the connections of a process
}

// Connection is an open connection of some transport.
type Connection struct {
	*Client
	HTTP  *HTTP  // over Streamable HTTP; else nil
	SSE   *SSE   // over HTTP with SSE; else nil
	Stdio *Stdio // over stdio; else nil
}

// Dial opens a connection on which nothing has been said. Over stdio that
// starts the target's process; over HTTP nothing is sent yet.
func Dial(to Target, log *transcript.Log) (*Connection, error) {
	switch to.Transport {
	case protocol.Stdio:
		process, err := target.Start(to.Command)
		if err != nil {
			return nil, err
		}
		client := OverStdio(transport.NewStdio(process, log, to.Limits), log, to.Reply)
		client.start, client.work, client.tempo = to.Start, to.Work, to.Tempo
		return &Connection{Client: client.Client, Stdio: client}, nil
	case protocol.HTTP, protocol.SSE:
		wire, err := transport.NewHTTP(
			transport.HTTPOptions{URL: to.URL, Header: to.Header, Limits: to.Limits, Peer: to.Peer, Pace: to.Pace},
			log,
		)
		if err != nil {
			return nil, err
		}
		if to.Transport == protocol.SSE {
			client := OverSSE(wire, log, to.Reply)
			client.start, client.work, client.tempo = to.Start, to.Work, to.Tempo
			return &Connection{Client: client.Client, SSE: client}, nil
		}
		client := OverHTTP(wire, log, to.Reply)
		client.start, client.work, client.tempo = to.Start, to.Work, to.Tempo
		return &Connection{Client: client.Client, HTTP: client}, nil
	}
	return nil, fmt.Errorf("unknown transport %q", to.Transport)
}

// Handshake is what a server says of itself: in answer to initialize, or, in the
// stateless era, to server/discover.
type Handshake struct {
	Agreed       bool     // there is a result, valid or not
	Revision     string   // that the server answered with, or that was asked for and is listed; "" for none
	Supported    []string // revisions, of an answer to server/discover
	Answer       Received
	Capabilities map[string]any
	ServerInfo   map[string]any
	Instructions string
}

// Initialize performs the handshake: initialize, its answer, and the
// initialized notification (basic/lifecycle#initialization). A server that names no
// revision in its answer is taken to speak the one that was asked for.
func (c *Connection) Initialize(ctx context.Context, params any) (Handshake, error) {
	answer, err := c.Call(ctx, "initialize", params)
	if err != nil {
		return Handshake{}, fmt.Errorf("initialize: %w", err)
	}
	handshake, err := ReadHandshake(answer)
	if err != nil {
		return handshake, err
	}
	hello, _ := params.(map[string]any)
	asked, _ := hello["protocolVersion"].(string)
	c.SetVersion(cmp.Or(handshake.Revision, asked))
	if err := c.Notify(ctx, "notifications/initialized", nil); err != nil {
		return handshake, fmt.Errorf("notifications/initialized: %w", err)
	}
	return handshake, nil
}

// RefusedError says that a server answered initialize, or server/discover, with an
// error.
type RefusedError struct {
	Method  string
	Refusal jsonrpc.Error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf(
		"%s failed: error %d: %s",
		e.Method,
		e.Refusal.Code,
		excerpt.Short([]byte(e.Refusal.Message)),
	)
}

// Supported are the revisions that the server named in its error, if it did.
func (e *RefusedError) Supported() []string {
	data, _ := e.Refusal.Data.(map[string]any)
	return revisionsIn(data["supported"])
}

// maxRevisions bounds how many revisions that a server lists are read.
const maxRevisions = 64

func revisionsIn(member any) []string {
	list, _ := member.([]any)
	var revisions []string
	for _, element := range list[:min(len(list), maxRevisions)] {
		if revision, isText := element.(string); isText {
			revisions = append(revisions, excerpt.Short([]byte(revision)))
		}
	}
	return revisions
}

// ReadHandshake reads the answer to initialize.
func ReadHandshake(answer Received) (Handshake, error) {
	handshake := Handshake{Answer: answer}
	if refusal, refused := answer.Error(); refused {
		return handshake, &RefusedError{Method: "initialize", Refusal: refusal}
	}
	member, _ := answer.Result()
	result, isObject := member.(map[string]any)
	if !isObject {
		return handshake, fmt.Errorf("initialize was answered without a result object: %s", excerpt.Short(answer.Raw))
	}
	handshake.Agreed = true
	handshake.Revision, _ = result["protocolVersion"].(string)
	handshake.Capabilities, _ = result["capabilities"].(map[string]any)
	handshake.ServerInfo, _ = result["serverInfo"].(map[string]any)
	handshake.Instructions, _ = result["instructions"].(string)
	return handshake, nil
}

// Modern tells whether the refusal is one that only a server of the stateless era
// knows (2026-07-28, basic/index#error-codes).
func (e *RefusedError) Modern() bool {
	switch e.Refusal.Code {
	case jsonrpc.HeaderMismatch, jsonrpc.MissingCapability, jsonrpc.UnsupportedRevision:
		return true
	}
	return false
}

// Discover makes the client one of the stateless era and asks the server what it
// is (2026-07-28, server/discover). A server that does not support the revision
// says so with a *RefusedError, or by what it lists.
func (c *Connection) Discover(ctx context.Context, revision string, capabilities Capabilities) (Handshake, error) {
	c.Speak(revision, capabilities)
	c.SetVersion(revision)
	answer, err := c.Once(ctx, "server/discover", nil)
	if err != nil {
		return Handshake{}, fmt.Errorf("server/discover: %w", err)
	}
	return ReadDiscovery(answer, revision)
}

// ReadDiscovery reads the answer to server/discover that was asked at a revision.
func ReadDiscovery(answer Received, revision string) (Handshake, error) {
	found := Handshake{Answer: answer}
	if refusal, refused := answer.Error(); refused {
		return found, &RefusedError{Method: "server/discover", Refusal: refusal}
	}
	member, _ := answer.Result()
	result, isObject := member.(map[string]any)
	if !isObject {
		return found, fmt.Errorf("server/discover was answered without a result object: %s", excerpt.Short(answer.Raw))
	}
	found.Supported = revisionsIn(result["supportedVersions"])
	found.Capabilities, _ = result["capabilities"].(map[string]any)
	meta, _ := result["_meta"].(map[string]any)
	found.ServerInfo, _ = meta[mcp.MetaServerInfo].(map[string]any)
	found.Instructions, _ = result["instructions"].(string)
	if found.Supported == nil && found.Capabilities == nil {
		return found, fmt.Errorf(
			"server/discover was answered with neither supportedVersions nor capabilities: %s",
			excerpt.Short(answer.Raw),
		)
	}
	found.Agreed = true
	if slices.Contains(found.Supported, revision) {
		found.Revision = revision
	}
	return found, nil
}
