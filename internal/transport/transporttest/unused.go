//go:build unix

package transporttest

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// Unused returns an address of the loopback interface at which nothing listens. Until
// the test ends the system does not choose its port for a listener at port 0; a listener
// at this very port gets it.
func Unused(t testing.TB) (address string) {
	t.Helper()
	// Bound and never listening: closing a listener instead would free its port for the
	// tests that run beside this one.
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	demand(t, "socket", err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	demand(t, "setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	demand(t, "bind", syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound, err := syscall.Getsockname(fd)
	demand(t, "getsockname", err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.(*syscall.SockaddrInet4).Port))
}

func demand(t testing.TB, call string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(os.NewSyscallError(call, err))
	}
}
