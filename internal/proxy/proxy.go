// Package proxy stands between two real peers, over stdio or HTTP, and changes nothing: it
// copies bytes, and lets others read a copy. What they make of it, a record of each
// connection, never holds up the traffic: what they cannot follow is left out of the
// record, which says so.
package proxy

import (
	"sync"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// queueSize bounds, in bytes, what is copied and not yet read by the recorder.
const queueSize = 6 << 20

// perChunk is about what a chunk takes beside its bytes.
const perChunk = 200

// queue has what passed, in the order in which it came, until one reader after all others
// has looked at it: an answer is never read before what it answers. It is safe for
// concurrent use.
type queue struct {
	mu     sync.Mutex
	filled *sync.Cond
	work   []job
	size   int
	closed bool
	done   chan struct{}
}

type job struct {
	size int
	do   func()
}

func newQueue() *queue {
	q := &queue{done: make(chan struct{})}
	q.filled = sync.NewCond(&q.mu)
	go q.run()
	return q
}

// put adds a job that holds so many bytes. It reports false when there is no room.
func (q *queue) put(size int, do func()) bool {
	size += perChunk
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.size+size > queueSize {
		return false
	}
	q.size += size
	q.work = append(q.work, job{size, do})
	q.filled.Signal()
	return true
}

// close lets what was put be done, and waits for it.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.filled.Signal()
	q.mu.Unlock()
	<-q.done
}

func (q *queue) run() {
	defer close(q.done)
	for {
		q.mu.Lock()
		for len(q.work) == 0 && !q.closed {
			q.filled.Wait()
		}
		work := q.work
		q.work = nil
		q.mu.Unlock()
		if len(work) == 0 {
			return
		}
		for _, one := range work {
			one.do()
			q.mu.Lock()
			q.size -= one.size
			q.mu.Unlock()
		}
	}
}

// side is what one peer sends over one connection of the transport, as the recorder reads
// it.
type side struct {
	queue *queue
	take  func(chunk []byte) // in the order of the queue; it must not keep the chunk
	end   func(err error)    // nothing more comes; nil after a good end
	lose  func(bytes int)    // something was left out before what comes next

	mu   sync.Mutex
	lost int // bytes, since the last chunk that had room
}

// pass hands a copy of a chunk to the recorder; a nil side records nothing.
func (s *side) pass(chunk []byte) {
	if s == nil || len(chunk) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lost, copied := s.lost, append([]byte(nil), chunk...)
	if s.queue.put(len(copied), func() { s.guard(lost, func() { s.take(copied) }) }) {
		s.lost = 0
	} else {
		s.lost += len(chunk)
	}
}

// over says that nothing more comes.
func (s *side) over(err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.lost
	s.queue.put(-perChunk, func() { s.guard(lost, func() { s.end(err) }) }) // which there is always room for
}

// guard keeps what goes wrong in the recorder from what passes.
func (s *side) guard(lost int, do func()) {
	defer func() {
		if recover() != nil {
			s.take = func([]byte) {}
			s.end = func(error) {}
			s.lose(0)
		}
	}()
	if lost > 0 {
		s.lose(lost)
	}
	do()
}

// gap is the event of something that was left out.
func gap(bytes int, note string) transcript.Event {
	return transcript.Event{Kind: transcript.Gap, Size: bytes, Note: note}
}

// What is said of a gap.
const (
	behind = "the recorder could not follow"
	broken = "the recorder failed"
)

func whyLost(bytes int) string {
	if bytes == 0 {
		return broken
	}
	return behind
}
