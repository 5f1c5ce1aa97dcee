// Page basic, from 2026-07-28: requests that say themselves all that there is to
// know.

package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
)

// Keys of params._meta and result._meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// stateless is the stateless era of a server: what is the same for everybody.
type stateless struct {
	server        *Server
	revisions     []string // those of this era, oldest first
	methods       map[string]method
	readMeta      func(n *connection, params json.RawMessage) (requestMeta, *rpcError)
	abandoned     func(c *call)   // what becomes of a call whose client has left
	ctx           context.Context // ends with the server
	cancel        context.CancelCauseFunc
	features      *features
	subscriptions subscriptions
	tasks         asyncTasks
	states        *states
}

func newStateless(s *Server, revisions []string) *stateless {
	ctx, cancel := context.WithCancelCause(context.Background())
	e := &stateless{server: s, revisions: revisions, methods: statelessMethods(), ctx: ctx, cancel: cancel}
	e.readMeta = func(_ *connection, params json.RawMessage) (requestMeta, *rpcError) { return readRequestMeta(params) }
	e.abandoned = func(c *call) { c.cancel(errCancelled) }
	e.subscriptions.reached = wanting
	e.features = featuresOf(Revision20260728, s.options.MoreTools, e.subscriptions.announce)
	e.states = newStates(s.options.StateLife)
	return e
}

// statelessMethods says who handles which request.
func statelessMethods() map[string]method {
	return map[string]method{
		"server/discover": handles(
			(*call).discover,
		).cached(aboutServer),
		// server/discover
		"tools/list": handles((*call).listTools).cached(lists), // server/tools
		"tools/call": handles((*call).callTool).asking(),       // server/tools
		"resources/list": handles(
			(*call).listResources,
		).cached(lists),
		// server/resources
		"resources/templates/list": handles(
			(*call).listTemplates,
		).cached(lists),
		// server/resources
		"resources/read": handles(
			(*call).readResource,
		).asking().
			cached(contentsOfResources),
		// server/resources
		"prompts/list": handles(
			(*call).listPrompts,
		).cached(lists),
		// server/prompts
		"prompts/get": handles(
			(*call).getPrompt,
		).asking(),
		// server/prompts
		"completion/complete": handles(
			(*call).complete,
		), // server/utilities/completion
		"subscriptions/listen": handles(
			(*call).listen,
		), // basic/patterns/subscriptions
		"tasks/get": handles(
			(*call).getAsyncTask,
		).needs(tasksOfClient),
		// extensions/tasks
		"tasks/update": handles(
			(*call).updateAsyncTask,
		).needs(tasksOfClient),
		// extensions/tasks
		"tasks/cancel": handles(
			(*call).cancelAsyncTask,
		).needs(tasksOfClient),
		// extensions/tasks
	}
}

// needs makes a method refuse clients that do not declare something.
func (m method) needs(check func(clientCapabilities) error) method {
	handle := m.handle
	m.handle = func(c *call, params json.RawMessage) (any, error) {
		if err := check(c.client); err != nil {
			return nil, err
		}
		return handle(c, params)
	}
	return m
}

// requestMeta is what a request says of itself and its sender.
type requestMeta struct {
	Version       string             `json:"io.modelcontextprotocol/protocolVersion"`
	Client        *implementation    `json:"io.modelcontextprotocol/clientInfo,omitempty"`
	Capabilities  clientCapabilities `json:"io.modelcontextprotocol/clientCapabilities"`
	LogLevel      *string            `json:"io.modelcontextprotocol/logLevel,omitempty"`
	ProgressToken json.RawMessage    `json:"progressToken,omitempty"`
}

func readRequestMeta(params json.RawMessage) (requestMeta, *rpcError) {
	var common struct {
		Meta requestMeta `json:"_meta"`
	}
	err := decode(params, &common, "params")
	meta := common.Meta
	token := meta.ProgressToken
	switch {
	case err != nil:
		malformed := malformedRequest("%v", err)
		_, malformed.incomplete = errors.AsType[missingError](err)
		return meta, malformed
	case token != nil && !requestID(token).valid():
		return meta, malformedRequest("params._meta.progressToken must be a string or an integer")
	case meta.LogLevel != nil && !slices.Contains(logLevels, *meta.LogLevel):
		return meta, malformedRequest(
			"params._meta.%s must be one of %v, but is %q",
			metaLogLevel,
			logLevels,
			*meta.LogLevel,
		)
	}
	return meta, nil
}

// malformedRequest is the error of a request that lacks what each must have.
func malformedRequest(format string, args ...any) *rpcError {
	err := invalidParams(format, args...)
	err.status = http.StatusBadRequest
	return err
}

// missingCapability is the error of a request that needs what the client has
// not declared.
func missingCapability(text string, needed object) *rpcError {
	return &rpcError{
		Code:    codeMissingCapability,
		Message: "Missing required client capability: " + text,
		Data:    object{"requiredCapabilities": needed},
		status:  http.StatusBadRequest,
	}
}

// A connection is where requests come from: the process of stdio, or one POST.
// It knows what is in flight, and nothing else: no request leaves a trace that
// another could find.
type connection struct {
	*stateless
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	mu    sync.Mutex
	calls map[string]*call // by the key of their id
}

func (e *stateless) connect() *connection {
	n := &connection{stateless: e, calls: map[string]*call{}}
	n.ctx, n.cancel = context.WithCancelCause(e.ctx)
	return n
}

// stop ends all requests in flight.
func (n *connection) stop() {
	n.mu.Lock() // spawn must not slip in between
	defer n.mu.Unlock()
	n.cancel(errSessionEnded)
}

func (n *connection) spawn(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return false
	}
	n.running.Go(f)
	return true
}

// begin starts the call for a request, as session.begin does.
func (n *connection) begin(m message, out outlet) *call {
	x := &exchange{connection: n, method: m.method, params: m.params}
	c := newCall(n.ctx, n.server, x, m.id, out)
	handler, err := n.admit(m, c, x)
	if err != nil {
		c.finish(nil, err)
		return c
	}
	c.run(handler, m.params, n.spawn)
	return c
}

// admit decides whether a request may be handled, and by whom.
func (n *connection) admit(m message, c *call, x *exchange) (method, error) {
	meta, malformed := n.readMeta(n, m.params)
	if malformed != nil {
		return method{}, malformed
	}
	if !slices.Contains(n.revisions, meta.Version) {
		return method{}, n.server.unsupportedVersion(meta.Version)
	}
	handler, known := n.methods[m.method]
	if !known {
		return method{}, unknownMethod(m.method)
	}
	c.revision, c.client, c.features, c.progressToken = meta.Version, meta.Capabilities, n.features, meta.ProgressToken
	x.meta, x.handler = meta, handler
	if handler.asks {
		if err := x.readRetry(); err != nil {
			return method{}, err
		}
	}

	n.mu.Lock()
	defer n.mu.Unlock()
	if _, used := n.calls[m.id.key()]; used {
		return method{}, invalidRequest("a request with the id %s is already in flight", m.id)
	}
	if len(n.calls) >= maxCalls {
		return method{}, internalError("more than %d requests are in flight", maxCalls)
	}
	n.calls[m.id.key()] = c
	return handler, nil
}

func unknownMethod(name string) *rpcError {
	err := methodNotFound("%s", name)
	err.status = http.StatusNotFound
	return err
}

// find returns the call for a request in flight.
func (n *connection) find(id requestID) (*call, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, inFlight := n.calls[id.key()]
	return c, inFlight
}

func (n *connection) forget(c *call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls[c.id.key()] == c {
		delete(n.calls, c.id.key())
	}
}

// logsFrom is the level that the request asks for. Without one it wants none.
func (x *exchange) logsFrom() int {
	if x.meta.LogLevel == nil {
		return len(logLevels)
	}
	return slices.Index(logLevels, *x.meta.LogLevel)
}

// An exchange is one request and its answer: the era of a single call.
type exchange struct {
	*connection
	method  string
	params  json.RawMessage
	meta    requestMeta
	handler method
	retry   retry
	failed  *rpcError // what the request was answered with, if that is an error
}

// respond encodes the answer. Every result says what type it is of, and who
// answers.
func (x *exchange) respond(c *call, result any, err error) []byte {
	if err != nil {
		if unanswered, ok := asInputRequired(err); ok {
			return encodeResult(c.id, x.finished(unanswered, resultInputRequired))
		}
		x.failed = x.errorOf(err)
		return encodeError(Revision20260728, c.id, x.failed)
	}
	if created, ok := result.(createAsyncTaskResult); ok {
		return encodeResult(c.id, x.finished(created, resultTask))
	}
	return encodeResult(c.id, x.withHints(x.finished(result, resultComplete)))
}

// Types of results.
const (
	resultComplete      = "complete"
	resultInputRequired = "input_required"
	resultTask          = "task" // extensions/tasks
)

// finished adds to a result what every result has.
func (x *exchange) finished(result any, kind string) map[string]json.RawMessage {
	members, meta := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	_ = json.Unmarshal(encode(result), &members) // results are objects
	_ = json.Unmarshal(members["_meta"], &meta)
	members["resultType"] = encode(kind)
	if meta[metaServer] == nil {
		meta[metaServer] = encode(implementation{Name: serverName, Version: serverVersion})
	}
	members["_meta"] = encode(meta)
	return members
}

// errorOf makes any error fit for an error response.
func (x *exchange) errorOf(err error) *rpcError {
	if ofClient, ok := asClientError(err); ok {
		return ofClient.code
	}
	return asRPCError(err)
}
