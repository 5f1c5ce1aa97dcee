package transcript

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

// Bounds of one connection's record. A hostile peer sends without end; what is
// beyond them is counted, not kept.
const (
	MaxEvents = 12_500   // six times what a list of 100,000 tools in pages of 100 needs
	MaxBytes  = 24 << 20 // of whole messages; several workers stay within 256 MiB
	maxBeyond = 4 << 20  // of what comes after them, cut, so that the end of the scenario is told
	keptOfBig = 4 << 10  // of a message that no longer fits: enough to recognise it
)

// Log is the record of one connection. It is safe for concurrent use.
type Log struct {
	connection string
	budget     *MemoryBudget
	tell       func(Event) // of each event, whole, even of those that are not kept; may be nil

	mu         sync.Mutex
	events     []Event
	bytes      int // of everything that the peer can make long
	dropped    int // from the first one on all are
	taken      int // of the room
	overBudget bool
}

// NewLog begins the record of a connection.
func NewLog(connection string) *Log { return NewLogIn(nil, connection) }

// NewLogIn begins the record of a connection in room that others share. The
// log holds its part until Release.
func NewLogIn(budget *MemoryBudget, connection string) *Log {
	return &Log{connection: connection, budget: budget}
}

// Tell sets the function that is called with each event, in order, even with those for
// which the record has no room. It must be set before anything is appended; tell must not
// use the log, and not keep Raw.
func (l *Log) Tell(tell func(Event)) { l.tell = tell }

// Connection names the connection.
func (l *Log) Connection() string { return l.connection }

// Place is where the event with a sequence number stands.
func (l *Log) Place(sequence int) Place { return Place{l.connection, sequence} }

// Append adds an event; sequence, connection and, when it is not set, time are
// filled in. Raw is copied. It returns the event's sequence number.
func (l *Log) Append(event Event) int {
	event.Raw = bytes.Clone(event.Raw)
	return l.Keep(event)
}

// Keep is Append for events whose bytes do not change any more: Raw is not copied.
func (l *Log) Keep(event Event) int {
	if event.At.IsZero() {
		event.At = time.Now()
	}
	event.Connection = l.connection

	l.mu.Lock()
	defer l.mu.Unlock()
	event.Sequence = len(l.events) + l.dropped
	if l.tell != nil {
		l.tell(event)
	}
	if l.bytes+len(event.Raw) > MaxBytes {
		event = event.Cut(keptOfBig)
	}
	if l.dropped > 0 || len(l.events) >= MaxEvents || l.bytes+weight(event) > MaxBytes+maxBeyond ||
		!l.take(weight(event)+perEvent) {
		l.dropped++
		return event.Sequence
	}
	l.bytes += weight(event)
	l.events = append(l.events, event)
	return event.Sequence
}

// perEvent is about how many bytes an event takes beside what it keeps.
const perEvent = 400

// Take takes room for what is made of the record. It reports false when there
// is not so much.
func (l *Log) Take(bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(bytes)
}

func (l *Log) take(bytes int) bool {
	if !l.budget.take(bytes) {
		l.overBudget = true
		return false
	}
	l.taken += bytes
	return true
}

// Left returns how many bytes of the room are left.
func (l *Log) Left() int { return l.budget.Left() }

// Give gives back room that Take took.
func (l *Log) Give(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken -= bytes
	l.budget.give(bytes)
}

// Release gives back all room, also that of the events: they are about to be
// forgotten.
func (l *Log) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.budget.give(l.taken)
	l.taken = 0
}

// Crowd notes that something had no room.
func (l *Log) Crowd() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overBudget = true
}

// OverBudget tells whether something had no room.
func (l *Log) OverBudget() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.overBudget
}

// weight is how many bytes an event keeps of what the peer sent, about.
func weight(event Event) int {
	const frame = 64 // of a text, beside its bytes
	size := len(event.Raw) + len(event.Note)
	if event.HTTP != nil {
		size += len(event.HTTP.URL)
		for name, values := range event.HTTP.Header {
			size += frame + len(name)
			for _, value := range values {
				size += frame + len(value)
			}
		}
	}
	if event.SSE != nil {
		size += len(event.SSE.Name)
		if event.SSE.ID != nil {
			size += len(*event.SSE.ID)
		}
		for _, text := range slices.Concat(event.SSE.Comments, event.SSE.Flaws) {
			size += frame + len(text)
		}
	}
	return size
}

// Events returns the events so far, in order. The slice is the caller's, what
// it points at is not to be changed.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// Since returns the events from a sequence number on.
func (l *Log) Since(sequence int) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events[min(sequence, len(l.events)):])
}

// Len returns how many events there were, dropped ones included.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events) + l.dropped
}

// Dropped returns how many events did not fit.
func (l *Log) Dropped() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}
