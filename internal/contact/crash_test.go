package contact

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
)

// A server that ends may take a connection, and reset one that it has not accepted, before it
// refuses all.
func TestVanishes(t *testing.T) {
	t.Parallel()
	failed := func(number syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", number)}
	}
	for last, want := range map[error]bool{failed(syscall.ECONNREFUSED): true, failed(syscall.ECONNRESET): false} {
		ctx, end := context.WithCancel(t.Context())
		dials := 0
		found := vanishes(ctx, func(context.Context) (net.Conn, error) {
			dials++
			switch dials {
			case 1:
				taken, other := net.Pipe()
				return taken, other.Close()
			case 2:
				return nil, failed(syscall.ECONNRESET)
			}
			end()
			return nil, last
		})
		if end(); found != want || dials != 3 {
			t.Errorf("%v after %d dials: vanishes %t", last, dials, found)
		}
	}
}
