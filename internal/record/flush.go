package record

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// flushTime is how long the rest of a request may stand in a buffer. There is none when
// the request fills the buffer to the last byte, and then nothing tells that it is out.
const flushTime = time.Second

// flushed tells of the next write to a connection. net/http says that it wrote a request
// when the last of it may still stand in its buffer, where it is lost if the request is
// canceled then.
type flushed struct {
	net.Conn

	then atomic.Pointer[func()] // what the next write calls
}

func (f *flushed) Write(piece []byte) (int, error) {
	then := f.then.Swap(nil)
	n, err := f.Conn.Write(piece)
	if err == nil && then != nil {
		(*then)()
	}
	return n, err
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

func flushing(dialed dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialed(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &flushed{Conn: conn}, nil
	}
}

// onWritten calls a function, at least once, when the request of the context is on its
// way to the target. It does not when that fails on a connection that is no more: another
// may come.
func onWritten(ctx context.Context, written func()) context.Context {
	var mu sync.Mutex
	var conn *flushed
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			mu.Lock()
			defer mu.Unlock()
			conn = flushedUnder(got.Conn)
		},
		WroteRequest: func(how httptrace.WroteRequestInfo) {
			if how.Err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if conn != nil {
				conn.then.Store(&written)
			}
			time.AfterFunc(flushTime, written)
		},
	})
}

// flushedUnder finds the connection below that of TLS.
func flushedUnder(conn net.Conn) *flushed {
	if secured, is := conn.(interface{ NetConn() net.Conn }); is {
		conn = secured.NetConn()
	}
	found, _ := conn.(*flushed)
	return found
}
