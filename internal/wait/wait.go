// Package wait bounds waits for a peer by the time in which this process could run:
// on a machine that is busy with other things, the peer gets as little of it.
package wait

import (
	"context"
	"errors"
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
	go func() {
		if outlasts(ctx, timeout, time.Now, time.After) {
			cancel(context.DeadlineExceeded)
		}
	}()
	return bounded{ctx}, func() { cancel(context.Canceled) }
}

// After is time.After for the wait for a peer. What waits for it until then ends with the
// context.
func After(ctx context.Context, timeout time.Duration) <-chan time.Time {
	over := make(chan time.Time, 1)
	go func() {
		if outlasts(ctx, timeout, time.Now, time.After) {
			over <- time.Now()
		}
	}()
	return over
}

// outlasts waits, step by step, and tells whether that came to its end before the context.
func outlasts(
	ctx context.Context, timeout time.Duration, now func() time.Time, after func(time.Duration) <-chan time.Time,
) bool {
	until := now().Add(most * timeout)
	for left := timeout; left > 0 && now().Before(until); left -= step {
		select {
		case <-ctx.Done():
			return false
		case <-after(min(step, left)):
		}
	}
	return true
}

// bounded is a context whose cause says whether its time was over.
type bounded struct{ context.Context }

// Err is context.DeadlineExceeded when the time was over.
func (b bounded) Err() error {
	if errors.Is(context.Cause(b.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return b.Context.Err()
}
