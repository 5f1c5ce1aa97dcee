package streamablehttp

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestListeners(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0
   2: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0
   3: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4 1 0
   4: nonsense
`
	want := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("0.0.0.0")}
	if found := listeners(strings.NewReader(table), 8080); !slices.Equal(found, want) {
		t.Errorf("found %v", found)
	}
}

func TestListeningAt(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Logf("no %s here: %v", host, err)
			continue
		}
		port := listener.Addr().(*net.TCPAddr).Port
		found := listeningAt(uint16(port))
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		// Another process may have the same port at another address of the machine.
		if len(found) > 0 && !slices.Contains(found, netip.MustParseAddr(host)) {
			t.Errorf("at %s:%d, but found %v", host, port, found)
		}
	}
}
