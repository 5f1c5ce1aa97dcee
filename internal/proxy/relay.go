package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Relay stands between clients and a server over HTTP: for each connection of a client it
// has one to the server, and copies the bytes of both. To a server over TLS, or where it is
// told to, it writes the name of the server into the Host field; everything else stays as it came.
//
// As a forward proxy it is what clients are told of beside the server's own URL, and names
// stay as they are.
type Relay struct {
	upstream *url.URL
	options  RelayOptions
	shown    *tls.Certificate // to clients that come for a server over TLS; nil where none do
	trusted  []byte           // the authority of it
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
	// RewriteMetadata lets clients of OAuth take the relay for the resource: it names itself in
	// protected resource metadata, and in challenges, where they name the server. Each is noted.
	// Not for a forward proxy.
	RewriteMetadata bool
	// Forward makes it a forward proxy.
	Forward bool
	// HTTP2 speaks that with a server over TLS; with clients, HTTP/1.1 still.
	HTTP2    bool
	Recorder *Recorder
	// Roots are the authorities that may speak for a server; nil for those of the system.
	Roots *x509.CertPool
	// Tell is called with a line on what keeps a client from the server. It must not block, and may
	// be nil.
	Tell func(line string)
	// Budget is the memory for what is judged of all connections; nil for no bound.
	Budget *transcript.MemoryBudget
	// Ended is called with each connection that is over. It must not block, must release each in the
	// end, and may be nil.
	Ended func(*Connection)
}

// NewRelay returns one before the server at a URL, whose path is the MCP endpoint: what is
// sent elsewhere is recorded, and not judged. Close must be called.
func NewRelay(upstream string, options RelayOptions) (*Relay, error) {
	parsed, err := record.Upstream(upstream)
	if err != nil {
		return nil, err
	}
	if parsed.Path == "" {
		parsed.Path = "/" // as requests name it
	}
	grade := transcript.Bytes
	if options.ServerHost || options.Forward || parsed.Scheme == "https" {
		grade = transcript.Heads
	}
	if options.HTTP2 {
		grade = transcript.Messages
	}
	if options.Tell == nil {
		options.Tell = func(string) {}
	}
	r := &Relay{upstream: parsed, options: options, grade: grade, open: map[net.Conn]bool{}}
	if options.Forward && parsed.Scheme == "https" {
		if r.shown, r.trusted, err = newAuthority(parsed.Hostname()); err != nil {
			return nil, err
		}
	}
	r.queue = newQueue()
	r.life, r.stop = context.WithCancel(context.Background())
	r.books = &books{upstream: parsed, grade: grade, options: options}
	return r, nil
}

// Grade says what the relay changes.
func (r *Relay) Grade() transcript.Grade { return r.grade }

// Authority is the certificate, in PEM, of the authority that clients of a forward proxy must
// trust; nil where clients do not use TLS. Its key is in memory alone, as long as the relay.
func (r *Relay) Authority() []byte { return r.trusted }

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
			if r.options.Forward {
				r.forward(client)
				return
			}
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
		r.fail("The server cannot be reached", err)
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
	both := origins{r.books.origin(), &known}
	stays := &stayer{to: client, origins: both}
	toServer, toClient, flush := io.Writer(server), io.Writer(stays), stays.flush
	switch moves := (&mover{to: stays, origins: both}); {
	case r.options.RewriteMetadata:
		rehosts := rehosted(server, r.upstream.Host).rewrite
		toServer = &requests{to: server, rewrite: func(head []byte) ([]byte, error) {
			moves.request(head)
			if r.grade == transcript.Bytes {
				return head, nil
			}
			return rehosts(head)
		}}
		toClient, flush = moves, func() {
			moves.flush()
			stays.flush()
		}
	case r.grade != transcript.Bytes:
		toServer = rehosted(server, r.upstream.Host)
	}
	toServer = &hostReader{to: toServer, host: &known}
	copyBoth(way{client, server, toServer, asks, func() {}}, way{server, client, toClient, answers, flush})
}

// fail tells and records what keeps a client from the server.
func (r *Relay) fail(what string, err error) {
	failure := fmt.Errorf("%s: %w", what, err)
	r.options.Tell(failure.Error())
	r.queue.put(-perChunk, func() { r.books.unreachable(failure) })
}

// dial connects to the server, over TLS if it is reached so.
func (r *Relay) dial(ctx context.Context) (net.Conn, error) {
	conn, err := dial(ctx, addressOf(r.upstream))
	if err != nil || r.upstream.Scheme != "https" {
		return conn, err
	}
	return r.secure(ctx, conn)
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}

// secure speaks TLS with the server; a connection on which that fails is closed.
func (r *Relay) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if r.options.HTTP2 {
		return r.overHTTP2(ctx, conn)
	}
	config := r.clientTLS()
	config.NextProtos = onlyHTTP1()
	server := tls.Client(conn, config)
	if err := server.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		if strings.Contains(err.Error(), "no application protocol") {
			err = fmt.Errorf("%w: if it speaks HTTP/2 alone, there is --http2", err)
		}
		return nil, err
	}
	return server, nil
}

func (r *Relay) clientTLS() *tls.Config {
	return &tls.Config{ServerName: r.upstream.Hostname(), RootCAs: r.options.Roots, MinVersion: tls.VersionTLS12}
}

// onlyHTTP1 is what is spoken inside of TLS: of what is copied as it is.
func onlyHTTP1() []string { return []string{"http/1.1"} }

// addressOf is where the server of a URL listens.
func addressOf(at *url.URL) string {
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(at.Hostname()), port)
}

// way is what passes from one connection to another.
type way struct {
	from, to net.Conn
	through  io.Writer // which passes on to that
	copied   *side
	flush    func() // what is held back at the end
}

// copyBoth copies both ways until both are over.
func copyBoth(ways ...way) {
	var copying sync.WaitGroup
	for _, one := range ways {
		copying.Go(func() {
			err := copyThrough(one.through, one.from, one.copied)
			one.flush()
			passEnd(err, one.from, one.to)
		})
	}
	copying.Wait()
	for _, one := range ways {
		_ = one.from.Close()
	}
}

// copyPlain copies both ways as it comes.
func copyPlain(client, server net.Conn, asks, answers *side) {
	copyBoth(way{client, server, server, asks, func() {}}, way{server, client, client, answers, func() {}})
}

// passEnd ends a connection as its source ended: in order, or broken.
func passEnd(err error, from, to net.Conn) {
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
	for over, is := inner.(interface{ NetConn() net.Conn }); is; over, is = inner.(interface{ NetConn() net.Conn }) {
		inner = over.NetConn()
	}
	if tcp, is := inner.(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	_ = inner.Close()
}
