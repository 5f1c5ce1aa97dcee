// Package transport is the harness's end of a connection: stdio and Streamable
// HTTP. It says exactly the bytes and headers that it is told to say, legal or
// not, reads with bounds in bytes and time, and writes every message and event
// of the transport into the transcript.
package transport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Limits bound what a connection keeps in memory.
type Limits struct {
	// Message is the longest message in bytes: a line, an HTTP body, a block of
	// an event stream. A longer one ends the connection or stream.
	Message int
	// Buffer is how many bytes of messages wait to be taken before the sender
	// is held up. A single message may be larger.
	Buffer int
}

// DefaultLimits takes any message that a real server sends, and holds up a
// flood early: nothing needs to run ahead of a script by more than a mebibyte.
var DefaultLimits = Limits{Message: 16 << 20, Buffer: 1 << 20}

func (l Limits) orDefault() Limits {
	if l.Message <= 0 {
		l.Message = DefaultLimits.Message
	}
	if l.Buffer <= 0 {
		l.Buffer = DefaultLimits.Buffer
	}
	return l
}

// overhead is what a waiting message costs beside its bytes, so that a flood
// of empty ones is bounded too.
const overhead = 128

// mailbox hands what one goroutine reads to the one place that takes it. It is
// bounded in bytes: put waits while it is full.
type mailbox[T any] struct {
	bound int

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	items    []posted[T]
	held     int
	draining bool
	dropped  int
	end      error
}

type posted[T any] struct {
	value T
	size  int
}

func newMailbox[T any](bound int) *mailbox[T] {
	return &mailbox[T]{bound: bound, changed: make(chan struct{})}
}

func (m *mailbox[T]) announce() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// put adds a value; it reports false when the mailbox has ended.
func (m *mailbox[T]) put(value T, size int) bool {
	size += overhead
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.end == nil && m.held > 0 && m.held+size > m.bound {
		if m.draining {
			m.dropped++
			return true
		}
		changed := m.changed
		m.mu.Unlock()
		<-changed
		m.mu.Lock()
	}
	if m.end != nil {
		return false
	}
	m.items = append(m.items, posted[T]{value, size})
	m.held += size
	m.announce()
	return true
}

// drain lets put drop what does not fit instead of waiting.
func (m *mailbox[T]) drain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draining = true
	m.announce()
}

// lost returns how many values were dropped.
func (m *mailbox[T]) lost() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dropped
}

// finish says what take returns when the mailbox is empty; the first one holds.
func (m *mailbox[T]) finish(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end == nil {
		m.end = err
		m.announce()
	}
}

// take waits for the next value, the end, or the context.
func (m *mailbox[T]) take(ctx context.Context, waiting string) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if len(m.items) > 0 {
			next := m.items[0]
			m.items[0] = posted[T]{} // the queue must not keep it alive
			m.items = m.items[1:]
			m.held -= next.size
			m.announce()
			return next.value, nil
		}
		var none T
		if m.end != nil {
			return none, m.end
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
			m.mu.Lock()
		case <-ctx.Done():
			m.mu.Lock()
			if len(m.items) == 0 && m.end == nil {
				return none, interrupted(ctx, waiting)
			}
		}
	}
}

// Kind is the class of a failure. It is an error itself, so that
// errors.Is(err, transport.ErrTimeout) tells.
type Kind string //nolint:errname // it is the class of errors; the error is Error

// The kinds of failures.
const (
	ErrDNS         Kind = "host name not found"
	ErrRefused     Kind = "connection refused"
	ErrUnreachable Kind = "host not reachable"
	ErrTLS         Kind = "TLS failed"
	ErrClosed      Kind = "connection closed" // before the answer, or by the harness
	ErrTimeout     Kind = "timeout"
	ErrCanceled    Kind = "canceled"
	ErrNotHTTP     Kind = "not HTTP"
	ErrCut         Kind = "cut off" // an answer that ended before its end
	ErrTooLarge    Kind = "too large"
	ErrNotSendable Kind = "not sendable" // net/http refuses the request
)

func (k Kind) Error() string { return string(k) }

// Error is a failure of the transport, in words for people.
type Error struct {
	Kind   Kind
	Doing  string // what was attempted
	Detail string // what happened
	Mend   string // what to do about it, when something can be done
	Err    error  // the cause, if there is one
}

func (e *Error) Error() string { return e.Doing + ": " + e.Reason() }

// Reason is the error without what was being done.
func (e *Error) Reason() string {
	if e.Mend == "" {
		return e.Detail
	}
	return e.Detail + "; " + e.Mend
}

// Unconnected tells whether there was no connection on which anything could be said.
func (e *Error) Unconnected() bool {
	return slices.Contains([]Kind{ErrDNS, ErrRefused, ErrUnreachable, ErrTLS}, e.Kind)
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// interrupted says that a context ended, and how.
func interrupted(ctx context.Context, doing string) *Error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrClosed) {
		return &Error{Kind: ErrClosed, Doing: doing, Detail: "the harness closed the connection", Err: cause}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Kind: ErrTimeout, Doing: doing, Detail: "timed out", Err: cause}
	}
	return &Error{Kind: ErrCanceled, Doing: doing, Detail: "canceled", Err: cause}
}

func tooLarge(doing, what string, limit int) *Error {
	return &Error{Kind: ErrTooLarge, Doing: doing,
		Detail: fmt.Sprintf("%s is longer than the limit of %s", what, bytesText(limit)),
		Mend:   "raise --max-message if this is intended"}
}

// bytesText writes a size in the largest unit that divides it.
func bytesText(size int) string {
	switch {
	case size >= 1<<20 && size%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", size>>20)
	case size >= 1<<10 && size%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", size>>10)
	}
	return fmt.Sprintf("%d bytes", size)
}
