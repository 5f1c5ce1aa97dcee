// Page basic/utilities/cancellation, which is basic/patterns/cancellation from
// 2026-07-28.

package client

import (
	"context"
	"errors"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

const cancelledMethod = "notifications/cancelled"

var (
	errCancelled = errors.New("cancelled by the user")
	errClosing   = errors.New("the session ends")
)

// farewell bounds the messages that end a request, a task or a session.
const farewell = 2 * time.Second

// giveUp tells the server that the answer to a request is not wanted any more.
// The opening of a session is never cancelled.
func (c *client) giveUp(r *request, reason error) {
	if r.moved.Load() || r.method == "server/discover" && c.speaks() == "" {
		r.leave() // what goes on is another request, or no server that knows of cancelling
		return
	}
	_, asTask := r.params["task"]
	if asTask && !c.stateless() || c.part.neverCancelled(r.method) {
		return // a task is cancelled by a request of its own
	}
	transport := c.connection()
	over := transport == nil // the session is
	if over || !transport.knows(r) || transport.cancelsByClosing() && c.stateless() {
		r.leave()
		return
	}
	r.given.Store(true)
	ctx, stop := context.WithTimeout(c.ctx, farewell)
	defer stop()
	if err := c.notify(ctx, cancelledMethod, object{"requestId": r.id, "reason": reason.Error()}); err != nil {
		c.log.Printf("cannot cancel %s: %v", r.method, err)
	}
}

func neverCancelled(method string) bool { return method == "initialize" }

// cancelledByServer takes a cancellation: of a request of the server's own or,
// over stdio from 2026-07-28, of a subscription. Anything else is ignored.
func (c *client) cancelledByServer(params object) {
	id := jsonrpc.IDOf(params["requestId"])
	c.mu.Lock()
	stop := c.answering[id]
	subscribed := c.open[id]
	c.mu.Unlock()
	c.part.requestCancelled(c, id)
	reason, _ := params["reason"].(string)
	switch {
	case stop != nil:
		c.log.Printf("the server has cancelled its request %s: %s", id, reason)
		c.part.stopAnswering(c, id, stop)
	case subscribed != nil && subscribed.method == "subscriptions/listen":
		subscribed.finish(nil, errors.New("the server has ended the subscription"))
	default:
		c.log.Printf("ignored: the cancellation of no open request, with the id %s", id)
		c.part.unknownNotification(c, cancelledMethod)
	}
}
