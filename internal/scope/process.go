package scope

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Process is what the scopes of one process share: how their connections are named,
// and how they end. Its methods may be called at once.
type Process struct {
	prefix      string
	connections atomic.Int64

	patience context.Context // ends when targets have no time any more to end by themselves
	hurry    context.CancelFunc
	ending   sync.WaitGroup
	slots    chan struct{}
}

const (
	// endingAtOnce bounds the processes that are ending while others begin.
	endingAtOnce = 4
	// longRecord is the number of events from which on a connection is ended before the next
	// check begins: that of a target which floods, of which memory holds no two.
	longRecord = 5000
	// Heavy is the memory, in bytes, that messages take for the same.
	Heavy = 4 << 20
	// closeTimeout bounds one ending; a process that ignores everything is
	// killed well before.
	closeTimeout = 10 * time.Second
)

// NewProcess returns what environments share. The names of their connections begin with the
// prefix, which tells those of several processes apart.
func NewProcess(prefix string) *Process {
	patience, hurry := context.WithCancel(context.Background())
	return &Process{prefix: prefix, patience: patience, hurry: hurry, slots: make(chan struct{}, endingAtOnce)}
}

// Hurry has connections and clients ended at once from now on: what was found until
// then is all that the run will find.
func (p *Process) Hurry() { p.hurry() }

// Patience returns a context that ends with Hurry.
func (p *Process) Patience() context.Context { return p.patience }

// Name names the next connection, by what it is for.
func (p *Process) Name(purpose string) string {
	return fmt.Sprintf("%s%s-%d", p.prefix, purpose, p.connections.Add(1))
}

// End ends a connection by a function that has so much time. That takes time (a process must
// be given the chance to end by itself), so it goes on beside the next checks, unless the
// connection has so much to keep that memory holds no two of them.
func (p *Process) End(log *transcript.Log, weight int, end func(context.Context)) {
	if log.Len() > longRecord || weight > Heavy {
		p.end(end)
		return
	}
	p.slots <- struct{}{}
	p.ending.Go(func() {
		defer func() { <-p.slots }()
		p.end(end)
	})
}

func (p *Process) end(end func(context.Context)) {
	ctx, cancel := context.WithTimeout(p.patience, closeTimeout)
	defer cancel()
	end(ctx)
}

// Wait waits until every connection has ended.
func (p *Process) Wait() { p.ending.Wait() }
