// Page basic: the requests of one client that are being handled, in either era.

package server

import (
	"context"
	"sync"
)

// maxCalls bounds the requests of one client that run at the same time.
const maxCalls = 128

// inFlight is the requests of one client that run, and all goroutines for them.
type inFlight struct {
	ctx     context.Context // ends with the session or the connection
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	mu    sync.Mutex
	calls map[string]*call // by the key of their id
}

func newInFlight(ctx context.Context) *inFlight {
	f := &inFlight{calls: map[string]*call{}}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f
}

// stop makes everything stop waiting. What runs may take a moment to return; running tells when.
func (f *inFlight) stop() {
	f.mu.Lock() // spawn must not slip in between
	defer f.mu.Unlock()
	f.cancel(errSessionEnded)
}

// spawn runs something on a goroutine, unless it was stopped.
func (f *inFlight) spawn(run func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return false
	}
	f.running.Go(run)
	return true
}

// add puts a call on the list. No two may have the same id. The caller holds f.mu.
func (f *inFlight) add(c *call) error {
	if _, used := f.calls[c.id.key()]; used {
		return invalidRequest("a request with the id %s is already in flight", c.id)
	}
	if len(f.calls) >= maxCalls {
		return internalError("more than %d requests are in flight", maxCalls)
	}
	f.calls[c.id.key()] = c
	return nil
}

// forget takes a call off the list.
func (f *inFlight) forget(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls[c.id.key()] == c {
		delete(f.calls, c.id.key())
	}
}
