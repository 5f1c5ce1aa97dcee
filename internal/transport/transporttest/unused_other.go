//go:build !unix

package transporttest

import (
	"net"
	"testing"
)

// Unused returns an address of the loopback interface at which nothing listens. The
// system may choose its port for a later listener at port 0.
func Unused(t testing.TB) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // nothing was accepted
	return listener.Addr().String()
}
