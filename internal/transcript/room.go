package transcript

import (
	"math"
	"sync"
)

// Room is memory, in bytes, that several records share with what is made of
// them. It is safe for concurrent use; a nil Room has no end.
type Room struct {
	within *Room // of which it is a part; nil for none

	mu   sync.Mutex
	left int
}

// NewRoom returns room for so many bytes.
func NewRoom(bytes int) *Room { return &Room{left: bytes} }

// Part returns room for so many bytes that are taken from the whole as they are
// needed: others may have taken them before.
func (r *Room) Part(bytes int) *Room { return &Room{within: r, left: bytes} }

// Left returns how many bytes are left.
func (r *Room) Left() int {
	if r == nil {
		return math.MaxInt
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(r.left, r.within.Left())
}

func (r *Room) take(bytes int) bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes > r.left || !r.within.take(bytes) {
		return false
	}
	r.left -= bytes
	return true
}

func (r *Room) give(bytes int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += bytes
	r.within.give(bytes)
}
