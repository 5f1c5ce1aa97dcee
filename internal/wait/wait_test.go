package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// On a machine that has nothing else to do, a wait takes as long as it says.
func TestAnIdleMachineWaitsByTheClock(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{time.Nanosecond, step, 50 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := WithTimeout(t.Context(), timeout)
			defer cancel()
			<-ctx.Done()
			if took := time.Since(began); took != timeout || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("a wait of %s took %s and ended with %v", timeout, took, ctx.Err())
			}
			if behind := Behind(ctx); behind != 0 {
				t.Errorf("a wait of %s was %s behind", timeout, behind)
			}
			began = time.Now()
			if <-After(t.Context(), timeout); time.Since(began) != timeout {
				t.Errorf("a wait of %s took %s", timeout, time.Since(began))
			}
		})
	}
}

// Where each step ends late, the wait is longer, but not without end.
func TestABusyMachineWaitsLonger(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ late, took time.Duration }{
		"a little": {step, 2 * time.Second},
		"very":     {time.Minute, time.Minute + step},
	} {
		clock := time.Unix(0, 0)
		after := func(length time.Duration) <-chan time.Time {
			clock = clock.Add(length + test.late)
			over := make(chan time.Time, 1)
			over <- clock
			return over
		}
		over, behind := outlasts(context.Background(), time.Second, func() time.Time { return clock }, after)
		if took := clock.Sub(time.Unix(0, 0)); !over || took != test.took || behind != took-time.Second {
			t.Errorf("%s late: the wait of a second took %s, %s behind, wanted %s", name, took, behind, test.took)
		}
	}
}

// What ends before its time says so, and leaves nothing behind.
func TestAWaitEndsEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithTimeout(t.Context(), time.Hour)
		if ctx.Err() != nil {
			t.Error(ctx.Err())
		}
		cancel()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Error(ctx.Err())
		}
		parent, end := context.WithCancel(t.Context())
		ctx, cancel = WithTimeout(parent, time.Hour)
		defer cancel()
		over := After(parent, time.Hour)
		end()
		synctest.Wait()
		select {
		case <-over:
			t.Error("the time is over, though the wait has ended before")
		default:
		}
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Error(ctx.Err())
		}
	})
}
