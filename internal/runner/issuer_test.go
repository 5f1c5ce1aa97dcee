//go:build linux

package runner

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
)

// What the system hands out by itself could be taken before it is listened at.
func TestFreeAddressIsNoneThatTheSystemHandsOut(t *testing.T) {
	t.Parallel()
	known, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skip(err)
	}
	var first, last int
	if _, err := fmt.Sscan(string(known), &first, &last); err != nil {
		t.Fatal(err)
	}
	if first <= lastPort {
		t.Skipf("this system hands out ports from %d on", first)
	}
	address, err := FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if port, err := strconv.Atoi(text); err != nil || port >= first && port <= last {
		t.Errorf("%s is one of %d to %d", address, first, last)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}
