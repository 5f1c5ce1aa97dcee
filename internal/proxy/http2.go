package proxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// overHTTP2 is a connection to a server that takes HTTP/1.1, and speaks HTTP/2 with the server
// over what it is given: each message becomes one of the other version, of the same fields, and
// each piece of a body passes as it comes. Nothing is sent twice. Who half-closes it leaves it.
func (r *Relay) overHTTP2(ctx context.Context, conn net.Conn) (net.Conn, error) {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	carrier := &http.Transport{
		Protocols: protocols, TLSClientConfig: r.clientTLS(), DisableCompression: true, MaxResponseHeaderBytes: maxHead,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	server, err := carrier.NewClientConn(ctx, "https", addressOf(r.upstream))
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("HTTP/2: %w", err)
	}
	mine, its := net.Pipe()
	one := &oneConn{conn: its, over: make(chan struct{})}
	var busy atomic.Bool // with a request
	leave := func() {
		if server.Err() != nil && !busy.Load() {
			_ = its.Close() // the client gets to know
		}
	}
	server.SetStateHook(func(*http.ClientConn) { leave() })
	front := &http.Server{ //nolint:gosec // the client may take its time, as with the server itself
		Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) { toHTTP2(w, request, server) }),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch busy.Store(state == http.StateActive); state {
			case http.StateClosed:
				one.end()
			case http.StateIdle:
				leave()
			}
		},
		MaxHeaderBytes: maxHead, ErrorLog: log.New(io.Discard, "", 0),
	}
	r.working.Go(func() {
		_ = front.Serve(one) // until the connection is over
		_ = server.Close()
		_ = conn.Close()
	})
	return mine, nil
}

// oneConn is a listener to which one connection comes.
type oneConn struct {
	conn  net.Conn
	first sync.Once
	last  sync.Once
	over  chan struct{}
}

// Accept returns the connection, and then waits until that is over.
func (o *oneConn) Accept() (conn net.Conn, err error) {
	o.first.Do(func() { conn = o.conn })
	if conn == nil {
		<-o.over
		err = net.ErrClosed
	}
	return conn, err
}

// Close has nothing to close.
func (o *oneConn) Close() error { return nil }

// Addr is that of the connection.
func (o *oneConn) Addr() net.Addr { return o.conn.LocalAddr() }

func (o *oneConn) end() { o.last.Do(func() { close(o.over) }) }

// ofConnection are fields of HTTP/1.1 that say something of the connection (RFC 9113,
// section 8.2.2).
var ofConnection = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"}

// toHTTP2 passes on a request, and the answer. What breaks on one side breaks on the other.
func toHTTP2(w http.ResponseWriter, request *http.Request, server *http.ClientConn) {
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 is so
	answer, err := server.RoundTrip(forHTTP2(w, request))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = answer.Body.Close() }() // it was read, or the stream is reset
	header := w.Header()
	maps.Copy(header, answer.Header)
	for _, added := range []string{"Date", "Content-Type"} { // if they are not there
		if header[added] == nil {
			header[added] = nil
		}
	}
	for name := range answer.Trailer {
		header.Add("Trailer", name)
		header.Del("Content-Length") // chunks alone have trailers behind them
	}
	w.WriteHeader(answer.StatusCode)
	flusher := http.NewResponseController(w)
	buffer := make([]byte, copySize)
	for err = flusher.Flush(); err == nil; err = flusher.Flush() {
		n, failed := answer.Body.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		if failed == io.EOF {
			maps.Copy(header, answer.Trailer)
			return
		}
		if failed != nil {
			_ = flusher.Flush()
			panic(http.ErrAbortHandler)
		}
	}
	panic(http.ErrAbortHandler)
}

// forHTTP2 is a request of HTTP/1.1 as one of HTTP/2, of which interim answers are passed on.
func forHTTP2(w http.ResponseWriter, request *http.Request) *http.Request {
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(status int, fields textproto.MIMEHeader) error {
			maps.Copy(w.Header(), http.Header(fields))
			w.WriteHeader(status)
			clear(w.Header())
			return nil
		},
	})
	out := request.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.RequestURI = "https", request.Host, ""
	for _, field := range slices.Concat(ofConnection, namedIn(request.Header)) {
		out.Header.Del(field)
	}
	if request.ContentLength == 0 {
		out.Body = http.NoBody
	}
	if out.Header["User-Agent"] == nil {
		out.Header["User-Agent"] = nil // else one is made up
	}
	return out
}

// namedIn are the fields that the field Connection names.
func namedIn(header http.Header) (names []string) {
	for _, value := range header.Values("Connection") {
		for name := range strings.SplitSeq(value, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}
