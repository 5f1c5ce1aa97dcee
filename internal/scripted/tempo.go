package scripted

import (
	"sync"
	"time"
)

const (
	// farSlower is how many times as long as the slowest answer so far one is waited for.
	farSlower = 20
	// leastWait is the shortest wait for an answer.
	leastWait = time.Second
)

// Tempo is how long a target has taken for its answers, by method. Who waits by it takes
// what did not come for late, not for missing. Connections share it; it is safe for
// concurrent use, and nil knows nothing.
type Tempo struct {
	mu      sync.Mutex
	slowest map[string]time.Duration
}

// note takes how long an answer took, unless the method is one that may take as long as it
// likes.
func (t *Tempo) note(method string, took time.Duration) {
	if t == nil || IsUnhurried(method) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slowest == nil {
		t.slowest = map[string]time.Duration{}
	}
	t.slowest[method] = max(t.slowest[method], took)
}

// patience is how long an answer is waited for: most where nothing is known.
func (t *Tempo) patience(method string, most time.Duration) time.Duration {
	if t == nil {
		return most
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	slowest, known := t.slowest[method]
	if !known {
		return most
	}
	return min(most, max(leastWait, farSlower*slowest))
}

// enoughSilence is how many requests in a row say that no later one will be answered either.
const enoughSilence = 2

// Unanswered is how many requests a client has left without an answer, by method: one that waits
// for its user, who is not there, answers none. Sessions share it; it is safe for concurrent
// use, and nil knows nothing.
type Unanswered struct {
	mu     sync.Mutex
	inARow map[string]int
}

// note takes whether an answer came.
func (u *Unanswered) note(method string, came bool) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.inARow == nil {
		u.inARow = map[string]int{}
	}
	if u.inARow[method]++; came {
		u.inARow[method] = 0
	}
}

// patience is how long an answer is waited for: most until there was enough silence.
func (u *Unanswered) patience(method string, most time.Duration) time.Duration {
	if u == nil {
		return most
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.inARow[method] < enoughSilence {
		return most
	}
	return min(most, leastWait)
}
