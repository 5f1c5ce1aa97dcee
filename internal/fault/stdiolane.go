package fault

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
)

// lane is one way between the two.
type lane struct {
	from    io.Reader
	waiting sync.WaitGroup // steps that wait
	over    chan struct{}  // closed when no more will come this way
	ended   func()

	mu     sync.Mutex
	to     io.Writer
	closed bool
}

func newLane(from io.Reader, to io.Writer) *lane {
	l := &lane{from: from, to: to, over: make(chan struct{})}
	l.ended = sync.OnceFunc(func() { close(l.over) })
	return l
}

// await waits before a step. It reports false when the step cannot be done any
// more: what it waits for a message that will not come.
func (l *lane) await(ctx context.Context, wait Wait) bool {
	if (Wait{Time: wait.Time}).done(ctx) != nil {
		return false
	}
	if wait.Until == nil {
		return true
	}
	select {
	case <-wait.Until:
		return true
	case <-l.over:
	case <-ctx.Done():
	}
	return false
}

// write writes bytes; in pieces of so many, unless that is 0.
func (l *lane) write(text []byte, chunk int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	l.mu.Lock()
	defer l.mu.Unlock()
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
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed = true; l.to != nil {
		if closer, can := l.to.(io.Closer); can {
			_ = closer.Close() // the other side may have closed it
		}
	}
}
