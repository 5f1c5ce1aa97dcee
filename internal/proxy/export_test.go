package proxy

import (
	"io"
	"sync/atomic"
)

// NewRehoster returns what names a server to it by its own name.
func NewRehoster(to io.Writer, host string) io.Writer { return rehosted(to, host) }

// NewStayer returns what keeps a client at a relay of that host.
func NewStayer(to io.Writer, server, host string) (through io.Writer, flush func()) {
	var known atomic.Value
	known.Store(host)
	one := &stayer{to: to, origins: origins{server, &known}}
	return one, one.flush
}

// NewMover returns what puts the origin of a relay of that host in the place of a server's, and
// what tells it of a request.
func NewMover(to io.Writer, server, host string) (through io.Writer, request func(head string), flush func()) {
	var known atomic.Value
	known.Store(host)
	one := &mover{to: to, origins: origins{server, &known}}
	return one, func(head string) { one.request([]byte(head)) }, one.flush
}
