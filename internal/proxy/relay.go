package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Relay stands between clients and a server over HTTP: for each connection of a client it
// has one to the server, and copies the bytes of both. To a server over TLS, or where it is
// told to, it writes the name of the server into the Host field; everything else stays as it came.
type Relay struct {
	upstream *url.URL
	grade    transcript.Grade
	queue    *queue
	books    *books
	life     context.Context // ends with Close
	stop     context.CancelFunc
	working  sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// RelayOptions say how a relay works.
type RelayOptions struct {
	// ServerHost writes the host of the server into the Host field of requests, where that
	// would name the relay. It is always so over TLS.
	ServerHost bool
	Recorder   *Recorder
	// Budget is the memory for what is judged of all connections; nil for no bound.
	Budget *transcript.MemoryBudget
	// Ended is told of each connection that is over; it must not block, and release each in the end. Nil for nobody.
	Ended func(*Connection)
}

// NewRelay returns one before the server at a URL, whose path is the MCP endpoint: what is
// sent elsewhere is recorded, and not judged. Close must be called.
func NewRelay(upstream string, options RelayOptions) (*Relay, error) {
	parsed, err := url.Parse(upstream)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("the URL of the server %q must be http://HOST/PATH or https://HOST/PATH", upstream)
	}
	grade := transcript.Bytes
	if options.ServerHost || parsed.Scheme == "https" {
		grade = transcript.Heads
	}
	r := &Relay{upstream: parsed, grade: grade, queue: newQueue(), open: map[net.Conn]bool{}}
	r.life, r.stop = context.WithCancel(context.Background())
	r.books = newBooks(parsed, grade, options)
	return r, nil
}

// Grade says what the relay changes.
func (r *Relay) Grade() transcript.Grade { return r.grade }

// acceptAgain is how long to wait when no connection can be accepted for the moment.
const acceptAgain = 100 * time.Millisecond

// Serve serves the clients that come to a listener until it is closed.
func (r *Relay) Serve(listener net.Listener) error {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if passing, is := errors.AsType[interface {
			error
			Temporary() bool
		}](err); is && passing.Temporary() { // there are too many open files, which ends
			select {
			case <-time.After(acceptAgain):
				continue
			case <-r.life.Done():
				return nil
			}
		}
		if err != nil {
			return err
		}
		if !r.hold(client) {
			_ = client.Close()
			continue
		}
		go func() {
			defer r.drop(client)
			r.serve(client)
		}()
	}
}

// Close breaks the connections that are open, and ends the records.
func (r *Relay) Close() {
	r.queue.put(-perChunk, func() { r.books.closing = true })
	r.stop()
	r.mu.Lock()
	r.closed = true
	for conn := range r.open {
		_ = conn.Close() // both ends get to know
	}
	r.mu.Unlock()
	r.working.Wait()
	r.queue.put(-perChunk, r.books.close)
	r.queue.close()
}

// Tidy ends the records of sessions in which nothing has happened for so long, and of which
// nothing is under way.
func (r *Relay) Tidy(idle time.Duration) {
	r.queue.put(-perChunk, func() { r.books.tidy(idle) })
}

// hold keeps a connection among those that Close breaks.
func (r *Relay) hold(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.open[conn] = true
	r.working.Add(1)
	return true
}

func (r *Relay) drop(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, conn)
	r.working.Done()
}

// connectTime bounds the wait for the server: a client has waited by then.
const connectTime = 30 * time.Second

// serve copies one connection of a client until both ends are over. A server that cannot be
// reached is to the client a connection that breaks.
func (r *Relay) serve(client net.Conn) {
	ctx, cancel := context.WithTimeout(r.life, connectTime)
	server, err := r.dial(ctx)
	cancel()
	if err != nil {
		reset(client)
		r.queue.put(-perChunk, func() { r.books.unreachable(err) })
		return
	}
	if !r.hold(server) {
		_ = server.Close()
		_ = client.Close()
		return
	}
	defer r.drop(server)
	asks, answers := r.books.connection(r.queue)
	var known atomic.Value // the relay, as the client calls it
	known.Store(client.LocalAddr().String())
	var toServer io.Writer = &hostReader{to: server, host: &known}
	if r.grade == transcript.Heads {
		toServer = &hostReader{to: &rehoster{to: server, host: r.upstream.Host}, host: &known}
	}
	toClient := &stayer{to: client, server: r.upstream.Scheme + "://" + r.upstream.Host, host: &known}
	var copying sync.WaitGroup
	copying.Go(func() { copyWay(server, toServer, client, asks, func() {}) })
	copying.Go(func() { copyWay(client, toClient, server, answers, toClient.flush) })
	copying.Wait()
	_ = client.Close() // both are over
	_ = server.Close()
}

func (r *Relay) dial(ctx context.Context) (net.Conn, error) {
	port := r.upstream.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[r.upstream.Scheme]
	}
	address := net.JoinHostPort(r.upstream.Hostname(), port)
	if r.upstream.Scheme == "https" {
		dialer := tls.Dialer{Config: &tls.Config{
			ServerName: r.upstream.Hostname(), NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
		}}
		return dialer.DialContext(ctx, "tcp", address)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}

// copyWay copies one way, and ends as its source ends: in order, or broken.
func copyWay(to net.Conn, through io.Writer, from net.Conn, copied *side, flush func()) {
	err := copyThrough(through, from, copied)
	flush()
	switch {
	case errors.Is(err, errUnwanted):
		reset(from) // who sends gets to know
	case errors.Is(err, io.EOF):
		closeWrite(to)
	default:
		reset(to)
	}
}

// closeWrite says that nothing more comes.
func closeWrite(conn net.Conn) {
	if half, can := conn.(interface{ CloseWrite() error }); can {
		_ = half.CloseWrite() // the other side may be gone
		return
	}
	_ = conn.Close()
}

// reset breaks a connection so that the other side sees no good end.
func reset(conn net.Conn) {
	inner := conn
	if over, is := conn.(*tls.Conn); is {
		inner = over.NetConn()
	}
	if tcp, is := inner.(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	_ = inner.Close()
}
