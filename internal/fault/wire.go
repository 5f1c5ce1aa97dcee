package fault

import "sync"

// Laying says what is laid over a wire.
type Laying struct {
	// Faults are what is done, in their order.
	Faults []*Fault
	// Watched are only looked for: what they would have matched is told.
	Watched []*Fault
	// Matched is told of each match, laid or watched; nil for nobody. It may be
	// called from several goroutines.
	Matched func(*Fault)
}

// Wire is one connection between a peer and a target, as its middleman sees it:
// it decides what becomes of each message and event. Over HTTP a connection is a
// session, or one exchange that belongs to none. It is safe for concurrent use.
type Wire struct {
	laying Laying
	mu     sync.Mutex
}

// NewWire begins a connection.
func NewWire(laying Laying) *Wire { return &Wire{laying: laying} }

// Message says what becomes of a message: the steps that take its place. Without
// a change that is one step, with the message as it came.
func (w *Wire) Message(p Passage) []Step {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []Step{{Direction: p.Direction, Message: p.Raw}}
}

// Head says what becomes of an exchange by its head alone: of a request before
// it is passed on, of a response before its body is read.
func (w *Wire) Head(Head) HeadPlan { return HeadPlan{} }

// Process says what is done at an event of the target's process, and whether the
// event is kept from it.
func (w *Wire) Process(string) (steps []Step, ignored bool) { return nil, false }

// None tells that nothing is laid over the wire and nothing watched: everything
// can be passed on unread.
func (l Laying) None() bool { return len(l.Faults) == 0 && len(l.Watched) == 0 }
