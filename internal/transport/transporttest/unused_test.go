//go:build unix

package transporttest_test

import (
	"net"
	"testing"

	"github.com/mcpconform/mcpconform/internal/transport/transporttest"
)

func TestUnused(t *testing.T) {
	t.Parallel()
	address := transporttest.Unused(t)
	if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address); err == nil {
		_ = conn.Close()
		t.Errorf("somebody listens at %s", address)
	}
	if another := transporttest.Unused(t); another == address {
		t.Errorf("%s was given twice", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("who asks for it does not get it: %v", err)
	}
	_ = listener.Close()
}
