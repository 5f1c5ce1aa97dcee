package scripted

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Received is a message that came from the target.
type Received struct {
	jsonrpc.Message
	At     transcript.Place
	Stream string           // of the transcript
	Event  *transport.Event // when it came in an event stream
	Index  int              // its position in all that was received
}

// Bounds of what one connection keeps in memory beside its transcript.
const (
	maxReceived = 10_500    // a flood of 10,000 notifications passes
	maxWeight   = 112 << 20 // bytes, decoded; one more message of any size passes
)

// The target sends more than the harness takes, which ends a connection.
var (
	ErrFlood      = errors.New("the target sent more than the harness keeps of one connection")
	ErrUnreadable = errors.New("the target sent a message that is too long for the harness")
)

// TooMuch tells whether a connection ended because the target sent more than
// the harness takes, which says nothing of what it would have sent.
func TooMuch(err error) bool {
	return errors.Is(err, ErrFlood) || errors.Is(err, ErrUnreadable) || errors.Is(err, transport.ErrTooLarge)
}

// Lost tells whether an error means that nothing came, in time or at all.
func Lost(err error) bool {
	_, broken := errors.AsType[*transport.Error](err)
	return broken || errors.Is(err, ErrTimeout) || errors.Is(err, ErrNoAnswer) ||
		errors.Is(err, ErrConnection)
}

var errOtherwise = errors.New("something else happened")

// inbox keeps everything that was received. Nothing is consumed: each waiter
// looks from its own mark on.
type inbox struct {
	log *transcript.Log // whose room the messages take

	mu      sync.Mutex
	all     []Received
	weight  int
	over    error         // why nothing more can come
	changed chan struct{} // closed and replaced at every change
}

func newInbox(log *transcript.Log) *inbox { return &inbox{log: log, changed: make(chan struct{})} }

func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.all)
}

func (b *inbox) weighs() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.weight
}

func (b *inbox) since(mark int) []Received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all[min(mark, len(b.all)):])
}

// ended tells why nothing more can come; nil while something can.
func (b *inbox) ended() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// add keeps a message; it reports false when nothing more is taken.
func (b *inbox) add(received Received) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over != nil {
		return false
	}
	if len(b.all) == maxReceived || b.weight > maxWeight || !b.log.Take(received.weight()) {
		b.log.Crowd()
		b.over = ErrFlood
		b.wake()
		return false
	}
	received.Index = len(b.all)
	b.all = append(b.all, received)
	b.weight += received.weight()
	b.wake()
	return true
}

// forget lets go of all messages; their number stays.
func (b *inbox) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = make([]Received, len(b.all)) // not cleared: a reader may still hold the slice
	b.log.Give(b.weight)
	b.weight = 0
}

// weight is how many bytes a message keeps, the whole block when it came in one.
func (r Received) weight() int {
	if r.Event != nil {
		return r.Weight + len(r.Event.Raw)
	}
	return r.Weight
}

// finish says that nothing more can come, and why. The first reason stays.
func (b *inbox) finish(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over == nil {
		b.over = err
		b.wake()
	}
}

func (b *inbox) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// await returns the first message from mark on that matches. It gives up with
// the context's error, with the reason for which nothing more can come, or,
// when otherwise is closed first, with errOtherwise.
func (b *inbox) await(
	ctx context.Context,
	mark int,
	match func(Received) bool,
	otherwise <-chan struct{},
) (Received, error) {
	for {
		// Whether otherwise is closed is looked at before the messages: what it
		// announces the end of has been added by then.
		ended := closed(otherwise)
		found, next, changed, over := b.scan(mark, match)
		switch {
		case found != nil:
			return *found, nil
		case over != nil:
			return Received{}, over
		case ended:
			return Received{}, errOtherwise
		}
		mark = next
		select {
		case <-changed:
		case <-otherwise:
		case <-ctx.Done():
			return Received{}, ctx.Err()
		}
	}
}

func (b *inbox) scan(mark int, match func(Received) bool) (*Received, int, <-chan struct{}, error) {
	b.mu.Lock()
	all, changed, over := b.all, b.changed, b.over
	b.mu.Unlock()
	for ; mark < len(all); mark++ {
		if match(all[mark]) {
			return &all[mark], mark, changed, nil
		}
	}
	return nil, mark, changed, over
}

func closed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
