// Doing the steps, one after another.

package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A pendingStep is one that was begun and is not waited for.
type pendingStep struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	once    sync.Once
	started chan struct{}  // closed when its first request is on its way
	tail    sync.WaitGroup // what goes on when it is done
	done    chan struct{}  // closed when it is over
}

type pendingKey struct{}

// begunIn marks the pending step of ctx, if any, as started: its request is on its way.
func begunIn(ctx context.Context) {
	if e, isPending := ctx.Value(pendingKey{}).(*pendingStep); isPending {
		e.once.Do(func() { close(e.started) })
	}
}

// preparing is the context of requests that a pending step needs before its own.
func preparing(ctx context.Context) context.Context {
	return context.WithValue(ctx, pendingKey{}, nil)
}

// lasting is the context of a request that goes on when the step that it is of
// is cancelled.
func lasting(whole, pendingStep context.Context) context.Context {
	return context.WithValue(whole, pendingKey{}, pendingStep.Value(pendingKey{}))
}

func (c *client) newPendingStep() *pendingStep {
	e := &pendingStep{started: make(chan struct{}), done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(c.ctx)
	e.ctx, e.cancel = context.WithValue(ctx, pendingKey{}, e), cancel
	return e
}

// failed is a step that could not be begun.
func failed() *pendingStep {
	e := &pendingStep{cancel: func(error) {}, done: make(chan struct{})}
	close(e.done)
	return e
}

// drive does all steps.
func (c *client) drive() error {
	known := verbs()
	pendingSteps := map[string]*pendingStep{}
	for i, s := range c.steps {
		if c.ctx.Err() != nil {
			break
		}
		var result any
		var err error
		switch {
		case s.As != "" && c.background == nil:
			err = errNotConnected
			pendingSteps[s.As] = failed()
		case s.As != "":
			pendingSteps[s.As] = c.begin(i, s, known[s.Do])
			continue
		case s.Do == awaitVerb:
			err = pendingSteps[s.What].await(c.ctx)
		case s.Do == cancelVerb:
			err = pendingSteps[s.What].stop(c.ctx)
		case s.Do == closeVerb:
			c.close(pendingSteps)
		default:
			result, err = c.do(c.ctx, s, known[s.Do])
		}
		c.report.tell(i, result, err)
		if err != nil {
			c.log.Printf("step %d, %s: %v", i, s.Do, err)
		}
		if err != nil && s.Do == "connect" {
			c.close(pendingSteps)
			return fmt.Errorf("cannot connect: %w", err)
		}
	}
	c.close(pendingSteps)
	return errors.Join(c.ctx.Err(), c.report.err)
}

func (c *client) do(ctx context.Context, s step, v verb) (any, error) {
	if err := c.part.hasAPI(s); err != nil {
		return nil, err
	}
	return v.run(c, ctx, s)
}

// begin does a step beside the others. It returns when the request is on its
// way, so that what is done next comes after it.
func (c *client) begin(number int, s step, v verb) *pendingStep {
	e := c.newPendingStep()
	c.mu.Lock()
	c.beside(func() {
		result, err := c.do(e.ctx, s, v)
		c.report.tell(number, result, err)
		close(e.done)
	})
	c.mu.Unlock()
	select {
	case <-e.started:
	case <-e.done:
	case <-c.ctx.Done():
	}
	return e
}

// await waits for the end of what was begun, however that goes.
func (e *pendingStep) await(ctx context.Context) error {
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop cancels what was begun, and returns when the server is told so.
func (e *pendingStep) stop(ctx context.Context) error {
	e.cancel(errCancelled)
	over := make(chan struct{})
	go func() {
		<-e.done
		e.tail.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// quiet bounds how long the end of a session waits for what is still being said.
const quiet = 5 * time.Second

// close ends the session in good order: what is begun is cancelled, what is
// being said is said to its end.
func (c *client) close(pendingSteps map[string]*pendingStep) {
	if c.background == nil {
		return // there is no session
	}
	c.mu.Lock()
	close(c.closing) // from now on nothing is begun
	c.mu.Unlock()
	for _, e := range pendingSteps {
		e.cancel(errClosing)
	}
	c.endSubscriptions()
	said := make(chan struct{})
	background := c.background
	go func() {
		background.Wait()
		close(said)
	}()
	patience := time.NewTimer(quiet)
	defer patience.Stop()
	select {
	case <-said:
	case <-patience.C:
		c.log.Printf("not all was said within %s", quiet)
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	c.background = nil
	c.mu.Unlock()
	c.disconnect()
}

// beside does something while the steps go on. The end of the session waits for
// it, unless that has begun. The caller holds c.mu.
func (c *client) beside(do func()) {
	if c.background == nil || c.isClosing() {
		go do()
		return
	}
	c.background.Go(do)
}

// end is closed when the session is to end.
func (c *client) end() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

// disconnect leaves the server.
func (c *client) disconnect() { c.leave(c.detach()) }

// detach takes the connection from the client, which sends nothing on it any more. It
// returns nil where there is none.
func (c *client) detach() transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	connection := c.transport
	c.transport = nil
	return connection
}

// leave ends a connection that was detached.
func (c *client) leave(connection transport) {
	if connection != nil {
		connection.close()
		c.lost(nil, errClosing)
	}
}

// waitFor waits until the server has sent one more of a method.
func (c *client) waitFor(ctx context.Context, s step) (any, error) {
	timeout := time.NewTimer(c.options.Timeouts.Request)
	defer timeout.Stop()
	for {
		c.mu.Lock()
		news := c.news
		came := c.received[s.Method] > c.taken[s.Method]
		if came {
			c.taken[s.Method]++
		}
		c.mu.Unlock()
		if came {
			return nil, nil
		}
		select {
		case <-news:
		case <-timeout.C:
			return nil, fmt.Errorf("the server has sent no %s within %s", s.Method, c.options.Timeouts.Request)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
