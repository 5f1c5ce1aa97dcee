package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// begun is a connection of which the beginning may have been read.
type begun struct {
	net.Conn
	reader *bufio.Reader
}

// Read reads what was read already, and goes on.
func (b *begun) Read(target []byte) (int, error) { return b.reader.Read(target) }

// NetConn is the connection.
func (b *begun) NetConn() net.Conn { return b.Conn }

// CloseWrite says that nothing more comes.
func (b *begun) CloseWrite() error {
	closeWrite(b.Conn)
	return nil
}

const connect = "CONNECT "

// forward serves a client that takes the relay for its proxy: a tunnel, or requests with
// absolute targets. What is not for the server passes unrecorded.
func (r *Relay) forward(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	client := &begun{conn, bufio.NewReader(conn)}
	switch start, err := client.reader.Peek(len(connect)); {
	case err != nil && len(start) == 0: // it has changed its mind
	case string(start) == connect:
		r.tunnel(client)
	default:
		r.forwardRequests(client)
	}
}

// refusal is what the proxy answers itself.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) answer(client io.Writer) {
	text := "mcpconform proxy: " + r.text + "\n"
	const head = "HTTP/1.1 %d %s\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
	_, _ = fmt.Fprintf(client, head+"%s", r.status, http.StatusText(r.status), len(text), text) // it may be gone
}

// connectTo connects to where a client wants to go.
func (r *Relay) connectTo(address string) (net.Conn, *refusal) {
	ctx, cancel := context.WithTimeout(r.life, connectTime)
	defer cancel()
	server, err := dial(ctx, address)
	if err != nil {
		if address == addressOf(r.upstream) {
			r.fail("The server cannot be reached", err)
		}
		return nil, &refusal{http.StatusBadGateway, fmt.Sprintf("%s cannot be reached: %s", address, err)}
	}
	if !r.hold(server) {
		_ = server.Close()
		return nil, &refusal{http.StatusBadGateway, "the proxy is about to end"}
	}
	return server, nil
}

// tunnel answers CONNECT.
func (r *Relay) tunnel(client *begun) {
	address, wrong := tunnelTo(client.reader)
	if wrong != nil {
		wrong.answer(client)
		return
	}
	server, wrong := r.connectTo(address)
	if wrong != nil {
		wrong.answer(client)
		return
	}
	defer r.drop(server)
	defer func() { _ = server.Close() }()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if address != addressOf(r.upstream) {
		copyPlain(client, server, nil, nil)
		return
	}
	first, err := client.reader.Peek(1)
	isTLS := err == nil && first[0] == handshakeRecord
	switch {
	case err != nil:
	case isTLS && r.shown != nil:
		r.openTLS(client, server)
	case isTLS == (r.shown != nil):
		asks, answers := r.books.connection(r.queue)
		copyPlain(client, server, asks, answers)
	default:
		spoken := strings.ToUpper(r.upstream.Scheme)
		r.options.Tell("A client speaks other than " + spoken + " with the server: that passes unrecorded")
		copyPlain(client, server, nil, nil)
	}
}

// handshakeRecord is the first byte of TLS.
const handshakeRecord = 0x16

// tunnelTo reads a request for a tunnel, and where it leads.
func tunnelTo(reader *bufio.Reader) (address string, wrong *refusal) {
	var head []byte
	for {
		line, err := reader.ReadSlice('\n')
		head = append(head, line...)
		switch {
		case len(head) > maxHead:
			return "", &refusal{http.StatusRequestHeaderFieldsTooLarge, "the head is too long"}
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return "", &refusal{http.StatusBadRequest, "the head has no end"}
		}
		if err == nil && len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return "", &refusal{http.StatusBadRequest, err.Error()}
	}
	at := &url.URL{Host: request.RequestURI}
	if at.Hostname() == "" || at.Port() == "" {
		return "", &refusal{http.StatusBadRequest, fmt.Sprintf("CONNECT %q must name HOST:PORT", request.RequestURI)}
	}
	return addressOf(at), nil
}

// openTLS ends the TLS of a client in the place of the server, speaks it with the server, and
// copies what is inside. The server is asked first: of a client that cannot have it, nothing
// is taken.
func (r *Relay) openTLS(client *begun, conn net.Conn) {
	ctx, cancel := context.WithTimeout(r.life, connectTime)
	defer cancel()
	server, err := r.secure(ctx, conn)
	if err != nil {
		reset(client)
		r.fail("The server cannot be reached over TLS", err)
		return
	}
	opened := tls.Server(client, &tls.Config{
		Certificates: []tls.Certificate{*r.shown}, NextProtos: onlyHTTP1(), MinVersion: tls.VersionTLS12,
	})
	if err := opened.HandshakeContext(ctx); err != nil {
		if r.life.Err() == nil {
			r.fail(whyNotOpened(err), err)
		}
		return
	}
	asks, answers := r.books.connection(r.queue)
	copyPlain(opened, server, asks, answers)
}

// whyNotOpened says what is known of a handshake that a client has not come through.
func whyNotOpened(err error) string {
	said, is := errors.AsType[*net.OpError](err)
	if is && said.Op == "remote error" || errors.Is(err, io.EOF) {
		return "A client does not trust the certificate of this proxy, whose authority it must be given"
	}
	return "The TLS handshake with a client failed"
}

// forwardRequests serves a client that sends requests with absolute targets, one after
// another, to one server or to several.
func (r *Relay) forwardRequests(client *begun) {
	f := &forwarding{relay: r, client: client}
	defer f.leave(nil)
	err := copyThrough(&requests{to: f, rewrite: f.route}, client, nil)
	if wrong, is := errors.AsType[*refusal](err); is {
		f.leave(nil)
		wrong.answer(client)
		closeWrite(client)
		_, _ = io.CopyN(io.Discard, client, maxHead) // what it was about to send would break the answer
		return
	}
	if f.server == nil {
		return
	}
	switch {
	case errors.Is(err, errUnwanted):
		reset(client)
	case errors.Is(err, io.EOF):
		closeWrite(f.server)
		f.over(nil)
	default:
		f.leave(err)
	}
}

// forwarding is what a client of a proxy has to do with one server after another.
type forwarding struct {
	relay  *Relay
	client *begun

	address string // of the server
	server  net.Conn
	asks    *side
	left    *atomic.Bool  // for another server
	copied  chan struct{} // closed when nothing more comes from it
}

// Write passes on what is for the server of the request.
func (f *forwarding) Write(piece []byte) (int, error) {
	if f.server == nil {
		return 0, &refusal{http.StatusBadRequest, "this is not read as HTTP/1.1"}
	}
	f.asks.pass(piece)
	return f.server.Write(piece)
}

// route connects to the server that a request names, unless the one before was for it, too,
// and gives the head the form that a server is sent. The answer before has ended: else no
// client sends another request.
func (f *forwarding) route(head []byte) ([]byte, error) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	words := bytes.Fields(line)
	if len(words) != 3 {
		return nil, &refusal{http.StatusBadRequest, "the request line is not METHOD URL HTTP/1.1"}
	}
	scheme, authority, _, absolute := splitTarget(words[1])
	host := string(authority[bytes.LastIndexByte(authority, '@')+1:])
	at := &url.URL{Scheme: "http", Host: host}
	switch {
	case !absolute || at.Hostname() == "":
		const text = "this is a proxy, not the server: a request names its URL, as in GET http://HOST/PATH, not %.100q"
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf(text, words[1])}
	case !strings.EqualFold(string(scheme), "http"):
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("a URL of %.20s is reached by CONNECT", scheme)}
	}
	if address := addressOf(at); address != f.address || f.server == nil {
		f.leave(nil)
		if err := f.enter(address); err != nil {
			return nil, err
		}
	}
	return rewriteHead(head, func(target []byte) []byte { return originForm(words[0], target) }, host, isForProxy), nil
}

// isForProxy tells whether a field is for the proxy alone.
func isForProxy(name string) bool {
	const prefix = "Proxy-"
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

// originForm is the target without scheme and host (RFC 9112, section 3.2).
func originForm(method, target []byte) []byte {
	_, _, path, _ := splitTarget(target)
	switch {
	case len(path) == 0 && string(method) == http.MethodOptions:
		return []byte("*")
	case len(path) == 0 || path[0] != '/':
		return append([]byte("/"), path...)
	}
	return path
}

// enter connects to a server.
func (f *forwarding) enter(address string) error {
	server, wrong := f.relay.connectTo(address)
	if wrong != nil {
		return wrong
	}
	var asks, answers *side
	if address == addressOf(f.relay.upstream) && f.relay.upstream.Scheme == "http" {
		asks, answers = f.relay.books.connection(f.relay.queue)
	}
	left, copied := &atomic.Bool{}, make(chan struct{})
	f.address, f.server, f.asks, f.left, f.copied = address, server, asks, left, copied
	go func() {
		defer close(copied)
		err := copyThrough(f.client, server, answers)
		if !left.Load() { // else the client goes on
			passEnd(err, server, f.client)
		}
	}()
	return nil
}

// leave closes the connection to the server, if there is one.
func (f *forwarding) leave(err error) {
	if f.server == nil {
		return
	}
	f.left.Store(true)
	if err != nil {
		reset(f.server)
	}
	_ = f.server.Close()
	f.over(err)
}

// over waits until nothing more comes from the server.
func (f *forwarding) over(err error) {
	f.asks.over(err)
	<-f.copied
	_ = f.server.Close()
	f.relay.drop(f.server)
	f.server = nil
}
