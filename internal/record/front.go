package record

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Through stands between a client in this process and a server that it has started,
// and returns what leads to the server from now on. stop ends everything, and closes
// the pipes.
func Through(server Pipes, options StdioOptions) (pipes Pipes, stop func()) {
	hears, in := io.Pipe()
	out, says := io.Pipe()
	s := newStdio(Peer{In: hears, Out: says, Err: io.Discard}, server, options)
	go s.passIn()
	go s.pass(Out)
	stop = func() {
		s.end(nil)
		for _, one := range []io.Closer{hears, says, server.In, server.Out} {
			_ = one.Close() // who is at the other end may have closed it
		}
	}
	return Pipes{In: in, Out: out}, stop
}

// lastMessage is what a message beside those of a client may take at the end, on a
// busy machine.
const lastMessage = 2 * time.Second

// Front stands before the server at a URL, on a port of its own, and returns the URL
// that leads there from now on. stop waits a little for what the client says beside,
// and breaks what is open.
func Front(upstream string, options HTTPOptions) (front string, stop func(), err error) {
	middleman, err := NewHTTP(upstream, options)
	if err != nil {
		return "", nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		middleman.Close()
		return "", nil, fmt.Errorf("listening on the loopback interface: %w", err)
	}
	server := &http.Server{Handler: middleman, ReadHeaderTimeout: headerTime}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until it is closed
	}()
	place := *middleman.upstream
	place.Scheme, place.Host = "http", listener.Addr().String()
	if name := middleman.upstream.Hostname(); strings.EqualFold(name, "localhost") {
		_, port, _ := net.SplitHostPort(place.Host)
		place.Host = net.JoinHostPort(name, port) // as the client was to write it
	}
	stop = func() {
		middleman.settle(lastMessage)
		_ = server.Close()
		middleman.Close()
		<-served
	}
	return place.String(), stop, nil
}
