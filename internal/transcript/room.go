package transcript

import (
	"math"
	"sync"
)

// Room is memory, in bytes, that several records share with what is made of
// them. It is safe for concurrent use; a nil Room has no end.
type Room struct {
	mu   sync.Mutex
	left int
}

// NewRoom returns room for so many bytes.
func NewRoom(bytes int) *Room { return &Room{left: bytes} }

// Left returns how many bytes are left.
func (r *Room) Left() int {
	if r == nil {
		return math.MaxInt
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

func (r *Room) take(bytes int) bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes > r.left {
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
}
