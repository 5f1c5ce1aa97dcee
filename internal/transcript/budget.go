package transcript

import (
	"math"
	"sync"
)

// MemoryBudget is memory, in bytes, that several records share with what is made of
// them. It is safe for concurrent use; a nil MemoryBudget has no end.
type MemoryBudget struct {
	within *MemoryBudget // of which it is a part; nil for none
	size   int           // in all

	mu   sync.Mutex
	left int
}

// NewMemoryBudget returns one of so many bytes.
func NewMemoryBudget(bytes int) *MemoryBudget { return &MemoryBudget{size: bytes, left: bytes} }

// Part returns a budget of so many bytes that are taken from the whole as they are
// needed: others may have taken them before.
func (b *MemoryBudget) Part(bytes int) *MemoryBudget {
	return &MemoryBudget{within: b, size: bytes, left: bytes}
}

// Left returns how many bytes are left.
func (b *MemoryBudget) Left() int {
	if b == nil {
		return math.MaxInt
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(b.left, b.within.Left())
}

// Scarce tells whether less than half of it is left.
func (b *MemoryBudget) Scarce() bool { return b != nil && b.Left() < b.size/2 }

func (b *MemoryBudget) take(bytes int) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.left || !b.within.take(bytes) {
		return false
	}
	b.left -= bytes
	return true
}

func (b *MemoryBudget) give(bytes int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += bytes
	b.within.give(bytes)
}

// Taken returns how many bytes are in use.
func (b *MemoryBudget) Taken() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size - b.left
}
