// Page basic: one request of the client, while it is being handled.

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A call is a request of the client in flight: what its handler needs to know,
// and the ways in which it may talk to the client meanwhile.
type call struct {
	server        *Server
	era           era
	session       *session // nil in the stateless era, which has none
	revision      string
	client        clientCapabilities
	features      *features
	id            requestID
	ctx           context.Context // ends when the client cancels, or with the session
	cancel        context.CancelCauseFunc
	out           outlet          // carries what belongs to this request
	progressToken json.RawMessage // nil when the client wants no progress
	task          *task           // the task within which this runs, or nil
	retry         *retry          // what the client brings from requests before, from 2026-07-28

	settled    chan struct{} // closed when finished, or known to take time
	settle     func()
	afterwards []func()    // to be done once the response is on its way
	slow       atomic.Bool // it took time

	mu          sync.Mutex
	finished    bool
	hasProgress bool
	progressed  float64 // the last progress that was sent
}

// An era is the set of rules that a call is under: those of its session, or,
// where there are no sessions, those of the request itself.
type era interface {
	// logsFrom is the least severe level of log messages that the client
	// wants, as index in logLevels.
	logsFrom() int
	// ask puts questions to the client and returns the answers by key.
	ask(c *call, questions []question) (map[string]json.RawMessage, error)
	// respond encodes the answer to the request.
	respond(c *call, result any, err error) []byte
	// forget is told that the call is over.
	forget(c *call)
}

// A question is a request to the client. The key tells it from the others of
// the same call.
type question struct {
	key    string
	method string
	params object
}

// request is the question as results and tasks put it, from 2026-07-28.
func (q question) request() object {
	if q.params == nil {
		return object{"method": q.method}
	}
	return object{"method": q.method, "params": q.params}
}

func newCall(ctx context.Context, s *Server, e era, id requestID, out outlet) *call {
	c := &call{server: s, era: e, id: id, out: out, settled: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.settle = sync.OnceFunc(func() { close(c.settled) })
	return c
}

// atLeast tells whether the call is of a revision, or of a later one.
func (c *call) atLeast(revision string) bool { return c.revision >= revision }

// run lets the handler answer, unless the request is refused, on a goroutine among those in flight, and returns as soon as the
// call is settled: finished, or known to take its time. Until then nothing else is read from a
// pipe, so that quick requests are answered in order.
func (c *call) run(among *inFlight, handler method, params json.RawMessage, refused error) *call {
	switch {
	case refused != nil:
		c.finish(nil, refused)
	case !among.spawn(func() { c.finish(handler.handle(c, params)) }):
		c.finish(nil, errSessionEnded)
	}
	<-c.settled
	return c
}

// readMeta looks for what any request may carry in params._meta.
func (c *call) readMeta(params json.RawMessage) error {
	var common struct {
		Meta struct {
			ProgressToken json.RawMessage `json:"progressToken,omitempty"`
		} `json:"_meta,omitzero"`
	}
	if err := decode(params, &common, "params"); err != nil {
		return invalidParams("%v", err)
	}
	token := common.Meta.ProgressToken
	if token != nil && !requestID(token).valid() {
		return invalidParams("params._meta.progressToken must be a string or an integer")
	}
	c.progressToken = token
	return nil
}

// takesTime says that the answer is not ready. The transport then stops waiting for it:
// HTTP opens an event stream, stdio reads on. A handler must call it before it waits.
func (c *call) takesTime() {
	c.slow.Store(true)
	c.settle()
}

// tookTime tells whether takesTime was called.
func (c *call) tookTime() bool { return c.slow.Load() }

// wait lets time pass, or fails when the call is cancelled.
func (c *call) wait(d time.Duration) error {
	c.takesTime()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// send sends a message that belongs to this call. After the response it sends
// nothing, and reports false.
func (c *call) send(message []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.finished && c.out.send(message)
}

// notify sends a notification that belongs to this call.
func (c *call) notify(method string, params object) {
	if c.ctx.Err() == nil {
		c.send(encodeNotification(method, c.related(params)))
	}
}

// An asker puts a question to the client and returns the answer.
type asker func(method string, params object) (json.RawMessage, error)

// asks puts single questions, under a key.
func (c *call) asks(key string) asker {
	return func(method string, params object) (json.RawMessage, error) {
		answers, err := c.era.ask(c, []question{{key, method, params}})
		return answers[key], err
	}
}

// A clientError is a mistake of the client that is not in the request itself:
// what it does not declare, or how it has answered a question.
type clientError struct {
	text string
	code *rpcError // from 2026-07-28, where it is no business of the model
}

func (e *clientError) Error() string { return e.text }

// lacks is the error of a client without the capabilities that are needed.
func lacks(text string, needed object) *clientError {
	return &clientError{text, missingCapability(text, needed)}
}

// wronglyAnswered is the error of a client whose answer to a question cannot be
// used.
func wronglyAnswered(format string, args ...any) *clientError {
	text := fmt.Sprintf(format, args...)
	return &clientError{text, invalidParams("%s", text)}
}

// related adds what associates a message with the task that it belongs to.
func (c *call) related(params object) object {
	if c.task == nil {
		return params
	}
	if params == nil {
		params = object{}
	}
	params["_meta"] = relatedTask(c.task.id)
	return params
}

// finish answers the request, if it is still to be answered.
func (c *call) finish(result any, err error) {
	c.era.forget(c) // first, so that the client may use the id again
	c.mu.Lock()
	c.finished = true
	if c.wantsAnswer(err) {
		c.out.send(c.era.respond(c, result, err))
	}
	out := c.out
	c.mu.Unlock()
	out.close()
	c.cancel(nil)
	c.conclude()
	c.settle()
}

// conclude does what was to be done after the answer.
func (c *call) conclude() {
	for _, f := range c.afterwards {
		f()
	}
}

// wantsAnswer tells whether the client waits for the answer: not after it has cancelled
// the request, and not when the end of the session stopped it.
func (c *call) wantsAnswer(err error) bool {
	if errors.Is(context.Cause(c.ctx), errCancelled) {
		return false
	}
	return err == nil || !errors.Is(err, errSessionEnded)
}

// asRPCError makes any error fit for an error response.
func asRPCError(err error) *rpcError {
	if known, ok := errors.AsType[*rpcError](err); ok {
		return known
	}
	return internalError("%v", err)
}
