// Page basic/patterns/subscriptions, from 2026-07-28: requests that go on, whose
// answers are announcements.

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// A subscription is what one step listens to. Its request is another one after
// each restart of the server.
type subscription struct {
	ctx          context.Context
	to           object
	stop         context.CancelCauseFunc
	id           jsonrpc.ID
	acknowledged chan object // takes the first acknowledgement
	ended        chan error
	over         chan struct{} // closed with its end
}

// listen subscribes. It is done when the server has acknowledged, and goes on
// until it is cancelled or the session ends.
func (c *client) listen(ctx context.Context, s step) (any, error) {
	if !c.stateless() {
		return nil, fmt.Errorf("%s has no subscriptions/listen: tell this client to subscribe", c.speaks())
	}
	// The subscription outlives the step, unless that is cancelled.
	going, stop := context.WithCancelCause(ctx)
	one := &subscription{
		ctx:          going,
		to:           s.To,
		stop:         stop,
		acknowledged: make(chan object, 1),
		ended:        make(chan error, 1),
		over:         make(chan struct{}),
	}
	c.mu.Lock()
	c.subscribed = append(c.subscribed, one)
	c.beside(func() { c.listenOnce(one) })
	c.mu.Unlock()
	if e, isPending := ctx.Value(pendingKey{}).(*pendingStep); isPending {
		e.tail.Go(func() { <-one.over })
	}
	timeout := time.NewTimer(c.options.Timeouts.Request)
	defer timeout.Stop()
	select {
	case agreed := <-one.acknowledged:
		return agreed, nil
	case err := <-one.ended:
		return nil, err
	case <-timeout.C:
		stop(&timeoutError{c.options.Timeouts.Request})
		return nil, &timeoutError{c.options.Timeouts.Request}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// listenOnce sends the request of a subscription, and waits for its end.
func (c *client) listenOnce(one *subscription) {
	_, err := c.request(one.ctx, question{
		method:  "subscriptions/listen",
		params:  object{"notifications": one.to},
		endless: true,
		begun: func(r *request) {
			c.mu.Lock()
			defer c.mu.Unlock()
			one.id = r.id
		},
	})
	if errors.Is(err, errRestarting) && one.ctx.Err() == nil {
		return // it is taken up again
	}
	one.stop(nil)
	c.mu.Lock()
	c.subscribed = slices.DeleteFunc(c.subscribed, func(other *subscription) bool { return other == one })
	c.mu.Unlock()
	if err == nil {
		err = errors.New("the server has ended the subscription")
	}
	c.log.Printf("a subscription is over: %v", err)
	one.ended <- err
	close(one.over)
}

// acknowledged takes the news that a subscription stands.
func (c *client) acknowledged(params object) {
	meta, _ := params["_meta"].(object)
	id := jsonrpc.IDOf(meta[metaSubscription])
	agreed, _ := params["notifications"].(object)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.subscribed {
		if one.id == id && meta[metaSubscription] != nil {
			select {
			case one.acknowledged <- agreed:
			default:
			}
			return
		}
	}
	c.log.Printf("ignored: the acknowledgement of no subscription, with the id %s", id)
}

// endSubscriptions cancels what is still listened to.
func (c *client) endSubscriptions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.subscribed {
		one.stop(errClosing)
	}
}

// renewSubscriptions subscribes once more, since the server has forgotten it.
func (c *client) renewSubscriptions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosing() || !c.part.subscribesAgain() {
		return
	}
	for _, one := range c.subscribed {
		one.to = c.part.renewedFilter(one.to)
		c.beside(func() { c.listenOnce(one) })
	}
}
