package record

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// lane is one way between the two.
type lane struct {
	from io.Reader

	mu      sync.Mutex
	changed *sync.Cond // pending or queue
	pending int        // what is done beside
	queue   []func()   // what is done in order

	writing sync.Mutex
	to      io.Writer
	closed  bool
}

func newLane(from io.Reader, to io.Writer) *lane {
	l := &lane{from: from, to: to}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// settle waits for what is done beside.
func (l *lane) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.pending > 0 {
		l.changed.Wait()
	}
}

// beside does something beside what passes.
func (l *lane) beside(work func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.besideLocked(work)
}

func (l *lane) besideLocked(work func()) {
	l.pending++
	go func() {
		work()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pending--
		l.changed.Broadcast()
	}()
}

// maxQueue bounds what is to be done in order before who asks for it is held up.
const maxQueue = 256

// awaitRoom waits until not too much is to be done in order.
func (l *lane) awaitRoom() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) >= maxQueue {
		l.changed.Wait()
	}
}

// clear waits until all that was to be done in order is done.
func (l *lane) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 {
		l.changed.Wait()
	}
}

// inOrder does something beside what passes, after all that was begun so before.
func (l *lane) inOrder(work func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue = append(l.queue, work); len(l.queue) == 1 {
		l.besideLocked(l.workInOrder)
	}
}

func (l *lane) workInOrder() {
	for {
		l.mu.Lock()
		next := l.queue[0]
		l.mu.Unlock()
		next()
		l.mu.Lock()
		l.queue = l.queue[1:]
		left := len(l.queue)
		l.changed.Broadcast()
		l.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// barrier is closed when all that is done in order is done.
func (l *lane) barrier() <-chan struct{} {
	done := make(chan struct{})
	l.inOrder(func() { close(done) })
	return done
}

// write writes bytes; in pieces of so many, unless that is 0.
func (l *lane) write(text []byte, chunk int) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.writeLocked(text, chunk)
}

func (l *lane) writeLocked(text []byte, chunk int) error {
	for len(text) > 0 && !l.closed {
		size := len(text)
		if chunk > 0 {
			size = min(size, chunk)
		}
		if _, err := l.to.Write(text[:size]); err != nil {
			return err
		}
		text = text[size:]
	}
	return nil
}

// writeLong writes a line of which more is to be read, with nothing in between.
func (l *lane) writeLong(beginning []byte, rest *bufio.Reader) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.writeLocked(beginning, 0); err != nil {
		return err
	}
	for {
		piece, err := rest.ReadSlice('\n')
		if failed := l.writeLocked(piece, 0); failed != nil {
			return failed
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// close closes the way out, as far as that can be.
func (l *lane) close() {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.closed = true; l.to != nil {
		if closer, can := l.to.(io.Closer); can {
			_ = closer.Close() // the other side may have closed it
		}
	}
}
