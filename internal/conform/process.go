package conform

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Process is what the environments of one process share: how their connections are named,
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
	// longRecord is the number of events, and heavy the memory in bytes that
	// messages take, from which on a connection is ended before the next check
	// begins: that of a target which floods, of which memory holds no two.
	longRecord = 5000
	heavy      = 4 << 20
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

// name names the next connection, by what it is for.
func (p *Process) name(purpose string) string {
	return fmt.Sprintf("%s%s-%d", p.prefix, purpose, p.connections.Add(1))
}

// close ends a connection. That takes time (a process must be given the chance to end by
// itself), so it goes on beside the next checks.
func (p *Process) close(server *Server) {
	if server.Log().Len() > longRecord || server.Weight() > heavy {
		p.end(server)
		return
	}
	p.slots <- struct{}{}
	p.ending.Go(func() {
		defer func() { <-p.slots }()
		p.end(server)
	})
}

// end closes a connection and judges it. What was received is not kept
// meanwhile: the record tells it.
func (p *Process) end(server *Server) {
	environment, log := server.env, server.Log()
	ctx, cancel := context.WithTimeout(p.patience, closeTimeout)
	defer cancel()
	server.Close(ctx)
	server.Forget()
	server.Connection = nil
	if server.aside {
		environment.recordOnly(log)
		return
	}
	environment.judge(log)
}

// wait waits until every connection has ended.
func (p *Process) wait() { p.ending.Wait() }
