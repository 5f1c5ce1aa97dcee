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
