package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// Exit tells how a process ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it
	Signal string // name of the signal that ended it, such as "SIGKILL"; else empty
}

// String returns for instance "exited with status 3" or "killed by SIGTERM".
func (e Exit) String() string {
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// Past returns for instance "exited with status 3" or "was killed by SIGTERM".
func (e Exit) Past() string {
	if e.Signal != "" {
		return "was " + e.String()
	}
	return e.String()
}

// Grace says how long each step of a shutdown waits before the next.
type Grace struct {
	Input     time.Duration // after closing standard input
	Terminate time.Duration // after SIGTERM
}

// DefaultGrace is long enough for an interpreter to run its exit handlers on a
// loaded machine and short enough to pay for every target that hangs.
var DefaultGrace = Grace{Input: 2 * time.Second, Terminate: 2 * time.Second}

// killWait bounds the wait after SIGKILL, which only the kernel can delay
// (a process in uninterruptible sleep). It covers the rest of output as well.
const killWait = 5 * time.Second

// Step is what it took to end a process.
type Step string

// The steps of a shutdown over stdio, in the order that the specification
// gives (basic/lifecycle#stdio).
const (
	Exited      Step = "had already exited"
	InputClosed Step = "exited after its standard input was closed"
	Terminated  Step = "exited after SIGTERM"
	Killed      Step = "had to be killed with SIGKILL"
)

// Ending is the result of a shutdown.
type Ending struct {
	Exit   Exit
	Step   Step // the step after which the process exited
	Strays int  // descendants outside of its group that had to be killed
}

// ErrStuck is returned when a process outlives SIGKILL.
var ErrStuck = errors.New("the process does not exit, not even after SIGKILL")

// Shutdown ends the process as the specification says: closes its standard
// input, waits, sends SIGTERM, waits, sends SIGKILL; signals go to the whole
// group. When the context ends, SIGKILL comes at once. A second call waits for
// the same end and returns the same step.
func (p *Process) Shutdown(ctx context.Context, grace Grace) (Ending, error) {
	if !isClosed(p.done) {
		p.advance(InputClosed)
		p.CloseInput()
		if !p.within(ctx, grace.Input) && p.send(syscall.SIGTERM, Terminated) == nil {
			p.within(ctx, grace.Terminate)
		}
	}
	err := p.Kill()

	p.mu.Lock()
	defer p.mu.Unlock()
	return Ending{Exit: p.exit, Step: p.ending, Strays: p.strays}, err
}

// CloseInput closes the standard input of the process, and ends a write that
// is under way. It does nothing when the input is closed.
func (p *Process) CloseInput() {
	p.mu.Lock()
	closed := p.inputClosed
	p.inputClosed = true
	p.mu.Unlock()
	if closed {
		return
	}
	p.tell(func(watcher Watcher) { // before it can exit for that
		if watcher.InputClosed != nil {
			watcher.InputClosed()
		}
	})
	_ = p.Stdin.Close() // when it has exited there is nothing to close
}

var steps = []Step{Exited, InputClosed, Terminated, Killed}

// advance records a step, unless the process is over or a later one is recorded.
func (p *Process) advance(step Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advanceLocked(step)
}

func (p *Process) advanceLocked(step Step) {
	if !p.reaped && slices.Index(steps, step) > slices.Index(steps, p.ending) {
		p.ending = step
	}
}

func (p *Process) within(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// Signal sends a signal to the process and its group. The error is
// os.ErrProcessDone when the process has exited.
func (p *Process) Signal(signal syscall.Signal) error { return p.send(signal, Exited) }

func (p *Process) send(signal syscall.Signal, step Step) error {
	p.mu.Lock()
	if p.reaped {
		p.mu.Unlock()
		return os.ErrProcessDone
	}
	err := p.leader.signal(signal)
	if err == nil {
		p.advanceLocked(step)
	}
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("sending %s: %w", signalName(signal), err)
	}
	p.tell(func(watcher Watcher) {
		if watcher.Signal != nil {
			watcher.Signal(signalName(signal))
		}
	})
	return nil
}

// Kill ends the process and its group with SIGKILL, and returns when they are
// gone. It does nothing when they are. The error can only be ErrStuck.
func (p *Process) Kill() error {
	if isClosed(p.done) {
		return nil
	}
	_ = p.send(syscall.SIGKILL, Killed) // fails when the process has just exited
	if !p.within(context.Background(), killWait) && !p.gone() {
		return fmt.Errorf("%w: process %d", ErrStuck, p.PID())
	}
	return nil // what it has started may take longer: that is looked after
}

// gone tells whether the process itself is; what it has started may not be.
func (p *Process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reaped
}

// ExitOf reads how a process ended. The error of waiting says no more than the
// state when there is one.
func ExitOf(state *os.ProcessState, err error) Exit {
	if state == nil {
		return Exit{Code: -1, Signal: fmt.Sprintf("an unknown cause (%v)", err)}
	}
	return Exit{Code: state.ExitCode(), Signal: endingSignal(state)}
}
