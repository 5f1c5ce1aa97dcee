// Page basic: one request of the client, while it is being handled.

package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// A call is a request of the client in flight: what its handler needs to know,
// and the ways in which it may talk to the client meanwhile.
type call struct {
	session       *session
	id            requestID
	ctx           context.Context // ends when the client cancels, or with the session
	cancel        context.CancelCauseFunc
	out           outlet          // carries what belongs to this request
	progressToken json.RawMessage // nil when the client wants no progress
	task          *task           // the task within which this runs, or nil

	settled     chan struct{} // closed when finished, or known to take time
	settle      func()
	afterwards  []func() // to be done once the response is on its way
	mu          sync.Mutex
	finished    bool
	slow        bool // it took time
	hasProgress bool
	progressed  float64 // the last progress that was sent
}

func newCall(s *session, id requestID, out outlet) *call {
	c := &call{session: s, id: id, out: out, settled: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	c.settle = sync.OnceFunc(func() { close(c.settled) })
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

// takesTime says that the answer is not at hand. The transport then stops
// waiting for it: HTTP opens an event stream, stdio reads on. Whatever makes a
// handler wait calls it first.
func (c *call) takesTime() {
	c.mu.Lock()
	c.slow = true
	c.mu.Unlock()
	c.settle()
}

// tookTime tells whether takesTime was called.
func (c *call) tookTime() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slow
}

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

// ask sends a request that belongs to this call, and waits for the answer.
func (c *call) ask(method string, params object) (json.RawMessage, error) {
	c.takesTime()
	params = c.related(params)
	if c.task != nil {
		return c.task.ask(c.ctx, method, params)
	}
	return c.session.ask(c.ctx, c.send, method, params)
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
	c.session.forget(c) // first, so that the client may use the id again
	c.mu.Lock()
	c.finished = true
	if c.wantsAnswer(err) {
		if err != nil {
			c.out.send(encodeError(c.session.speaks(), c.id, asRPCError(err)))
		} else {
			c.out.send(encodeResult(c.id, result))
		}
	}
	c.mu.Unlock()
	c.out.close()
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

// wantsAnswer tells whether anybody waits for the answer: not after the client
// has cancelled the request, and not when the end of the session stopped it.
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
