// Page basic, from 2026-07-28: requests that say themselves all that there is to
// know.

package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
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
	life          context.Context // ends with the server
	end           context.CancelCauseFunc
	features      *features
	subscriptions subscriptions
	tasks         list[*asyncTask]
	states        *states
}

func newStateless(s *Server, revisions []string) *stateless {
	e := &stateless{server: s, revisions: revisions, methods: methodsOf(revisions)}
	e.life, e.end = context.WithCancelCause(context.Background())
	e.readMeta = func(_ *connection, params json.RawMessage) (requestMeta, *rpcError) { return readRequestMeta(params) }
	e.abandoned = func(c *call) { c.cancel(errCancelled) }
	e.subscriptions.reached = wanting
	e.features = featuresOf(Revision20260728, s.options.MoreTools, e.subscriptions.announce)
	e.tasks.name, e.tasks.most = "tasks", maxAsyncTasks
	e.states = newStates(s.options.StateLife)
	return e
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
		return meta, malformedRequest("params._meta.%s must be one of %v, but is %q",
			metaLogLevel, logLevels, *meta.LogLevel)
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
	*inFlight
}

func (e *stateless) connect() *connection { return &connection{e, newInFlight(e.life)} }

// begin starts the call for a request, as session.begin does.
func (n *connection) begin(m message, out outlet) *call {
	x := &exchange{connection: n, method: m.method, params: m.params}
	c := newCall(n.ctx, n.server, x, m.id, out)
	handler, err := n.admit(m, c, x)
	return c.run(n.inFlight, handler, m.params, err)
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
		var err error
		if c.retry, err = x.readRetry(); err != nil {
			return method{}, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return handler, n.add(c)
}

func unknownMethod(name string) *rpcError {
	err := methodNotFound("%s", name)
	err.status = http.StatusNotFound
	return err
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
	failed  *rpcError // what the request was answered with, if that is an error
}

// respond encodes the answer. Every result says what type it is of, and who
// answers.
func (x *exchange) respond(c *call, result any, err error) []byte {
	if unanswered, ok := errors.AsType[*inputRequiredError](err); ok {
		return encodeResult(c.id, x.finished(unanswered, resultInputRequired))
	}
	if err != nil {
		x.failed = x.errorOf(err)
		return encodeError(Revision20260728, c.id, x.failed)
	}
	if created, ok := result.(createdTask); ok {
		return encodeResult(c.id, x.finished(created, resultTask))
	}
	complete := x.finished(result, resultComplete)
	if x.handler.hints != nil {
		maps.Copy(complete, x.handler.hints)
	}
	return encodeResult(c.id, complete)
}

// Types of results.
const (
	resultComplete      = "complete"
	resultInputRequired = "input_required"
	resultTask          = "task" // extensions/tasks
)

// finished adds to a result what every result has.
func (x *exchange) finished(result any, kind string) object {
	members, meta := map[string]json.RawMessage{}, object{
		metaServer: object{"name": serverName, "version": serverVersion},
	}
	_ = json.Unmarshal(encode(result), &members) // results are objects
	_ = json.Unmarshal(members["_meta"], &meta)
	complete := object{}
	for name, value := range members {
		complete[name] = value
	}
	complete["resultType"], complete["_meta"] = kind, meta
	return complete
}

// errorOf makes any error fit for an error response.
func (x *exchange) errorOf(err error) *rpcError {
	if ofClient, ok := errors.AsType[*clientError](err); ok {
		return ofClient.code
	}
	return asRPCError(err)
}
