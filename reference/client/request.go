// Page basic: requests to the server, and how long to wait for the answer.

package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// A transport carries messages to the server. What the server sends it gives to
// the client's receive.
type transport interface {
	// request sends a request. It returns when that is written; when the answer
	// cannot come any more, the request is finished with an error.
	request(ctx context.Context, r *request) error
	// send sends a notification, or the response to a request.
	send(ctx context.Context, message []byte) error
	// agreed says that the handshake is over, and which revision is spoken.
	agreed(revision string)
	// hear listens to what the server says of itself, in a session.
	hear()
	// knows tells whether the server, as it is reached now, may have the request.
	knows(r *request) bool
	// cancelsByClosing tells whether to leave a request of the stateless era is
	// to cancel it.
	cancelsByClosing() bool
	// close ends the connection in good order.
	close()
}

// A question is what is asked of the server.
type question struct {
	method   string
	params   object
	progress bool           // whether to ask for progress
	timeout  time.Duration  // 0 for the usual
	endless  bool           // goes on until it is cancelled
	session  int            // the only session in which it can be asked; 0 for any
	again    bool           // it was sent before, in a session that is over
	headers  http.Header    // beside the usual ones, over HTTP
	begun    func(*request) // called before it is sent
}

// A request is a question that was sent.
type request struct {
	question
	id      jsonrpc.ID
	message []byte
	ctx     context.Context // of the exchange over HTTP
	leave   context.CancelFunc
	via     any         // what carries it: the pipes over stdio, the stream over HTTP+SSE
	moved   atomic.Bool // it was sent again, in a new session
	given   atomic.Bool // it was given up, and the server told so
	unsent  atomic.Bool // it was given up before it was written

	once     sync.Once
	answered chan struct{} // closed when result or err are there
	result   object
	err      error
}

// finish takes the answer, which is the first of those that come.
func (r *request) finish(result object, err error) {
	r.once.Do(func() {
		r.result, r.err = result, err
		close(r.answered)
	})
}

func (r *request) isAnswered() bool {
	select {
	case <-r.answered:
		return true
	default:
		return false
	}
}

var errNotConnected = errors.New("there is no connection to the server")

// timeoutError says that an answer did not come in time.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("no answer came within %s", e.after) }

// request asks the server and waits for the answer. A request that is given up
// is cancelled.
func (c *client) request(ctx context.Context, q question) (object, error) {
	transport := c.connection()
	if transport == nil {
		return nil, errNotConnected
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if q.timeout == 0 {
		q.timeout = c.options.Timeouts.Request
	}
	if !q.endless {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, q.timeout, &timeoutError{q.timeout})
		defer stop()
	}

	r := c.newRequest(q)
	defer c.forget(r)
	if q.begun != nil {
		q.begun(r)
	}
	if err := transport.request(ctx, r); err != nil && ctx.Err() == nil {
		r.finish(nil, err)
	}
	begunIn(ctx)
	select {
	case <-r.answered:
	case <-ctx.Done():
		c.giveUp(r, context.Cause(ctx))
		r.finish(nil, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	return r.result, r.err
}

// newRequest gives a question an id and, where there is no session that knows
// it, says who asks.
func (c *client) newRequest(q question) *request {
	params := object{}
	maps.Copy(params, q.params)
	meta := object{}
	given, _ := params["_meta"].(object)
	maps.Copy(meta, given)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.progress {
		meta["progressToken"] = nextToken(c)
	}
	if c.revision >= Revision20260728 || q.method == "server/discover" {
		c.introduce(meta)
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	q.params = params
	r := &request{question: q, id: c.part.newID(c, q), answered: make(chan struct{})}
	var sent any
	if len(params) > 0 {
		sent = params
	}
	r.message = jsonrpc.NewRequest(r.id, r.method, sent)
	r.ctx, r.leave = context.WithCancel(c.ctx)
	c.open[r.id] = r
	return r
}

// nextID is an id that no other request has, in whichever session. The caller
// holds c.mu.
func nextID(c *client, _ question) jsonrpc.ID {
	c.lastID++
	return jsonrpc.IntID(c.lastID)
}

// nextToken is what the progress of one request is reported with. The caller
// holds c.mu.
func nextToken(c *client) any {
	c.lastToken++
	return fmt.Sprintf("progress-%d", c.lastToken)
}

// forget makes an answer that comes from now on a late one.
func (c *client) forget(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, r.id)
}

// notify sends a notification.
func (c *client) notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, jsonrpc.NewNotification(method, params))
}

// send sends what wants no answer, unless the session is over.
func (c *client) send(ctx context.Context, message []byte) error {
	transport := c.connection()
	if transport == nil {
		return errNotConnected
	}
	return transport.send(ctx, message)
}

// connection is the one to the server; nil where there is none.
func (c *client) connection() transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.transport
}

// lost ends all open requests of a connection that is gone; nil stands for all connections.
func (c *client) lost(via any, err error) {
	c.mu.Lock()
	var open []*request
	for _, r := range c.open {
		if via == nil || r.via == via {
			open = append(open, r)
		}
	}
	c.mu.Unlock()
	for _, r := range open {
		r.finish(nil, err)
	}
}
