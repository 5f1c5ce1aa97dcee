// Package wait bounds waits for a peer by the time in which this process could run:
// on a machine that is busy with other things, the peer gets as little of it.
package wait

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

const (
	// step is what a wait is counted in: one that ends late counts for no more.
	step = 20 * time.Millisecond
	// most is how many times as long as it counts a wait may take by the clock.
	most = 4
)

// WithTimeout is context.WithTimeout for the wait for a peer. Contexts that are derived
// from it end with context.Canceled, and context.DeadlineExceeded as the cause.
func WithTimeout(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	behind := &atomic.Int64{}
	go func() {
		if over, late := outlasts(ctx, timeout, time.Now, time.After); over {
			behind.Store(int64(late))
			cancel(context.DeadlineExceeded)
		}
	}()
	return bounded{ctx, behind}, func() { cancel(context.Canceled) }
}

// Behind is how much longer than it counts a wait took by the clock that WithTimeout gave,
// and that is over: how late the timers of this process came. It is zero for others.
func Behind(ctx context.Context) time.Duration {
	if waited, is := ctx.(bounded); is {
		return time.Duration(waited.behind.Load())
	}
	return 0
}

// After is time.After for the wait for a peer. What waits for it until then ends with the
// context.
func After(ctx context.Context, timeout time.Duration) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		if over, _ := outlasts(ctx, timeout, time.Now, time.After); over {
			ended <- time.Now()
		}
	}()
	return ended
}

// outlasts waits, step by step, and tells whether that came to its end before the context,
// and how much later than by the clock.
func outlasts(
	ctx context.Context, timeout time.Duration, now func() time.Time, after func(time.Duration) <-chan time.Time,
) (over bool, behind time.Duration) {
	began := now()
	until := began.Add(most * timeout)
	for left := timeout; left > 0 && now().Before(until); left -= step {
		select {
		case <-ctx.Done():
			return false, 0
		case <-after(min(step, left)):
		}
	}
	return true, max(0, now().Sub(began)-timeout)
}

// bounded is a context whose cause says whether its time was over.
type bounded struct {
	context.Context

	behind *atomic.Int64
}

// Err is context.DeadlineExceeded when the time was over.
func (b bounded) Err() error {
	if errors.Is(context.Cause(b.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return b.Context.Err()
}
