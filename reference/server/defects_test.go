package server_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/reference/server"
)

func TestSessionsAreCounted(t *testing.T) {
	t.Parallel()
	good := dialSession(t, server.Revision20251125, server.Options{})
	if strings.HasPrefix(good.session, "session-") {
		t.Errorf("a good server has the session id %q", good.session)
	}
	bad := dialSession(t, server.Revision20251125, server.Options{Defect: "counts-sessions"})
	if bad.session != "session-1001" {
		t.Errorf("the first session has the id %q", bad.session)
	}
}

func TestSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	for defect, status := range map[string]int{"": http.StatusOK, "forgets-sessions": http.StatusNotFound} {
		session := dialSession(t, server.Revision20251125, server.Options{Defect: defect})
		session.status(status, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	}
}

func TestAddressesToListenAt(t *testing.T) {
	t.Parallel()
	for defect, everywhere := range map[string]bool{"": false, "listens-on-all-addresses": true} {
		listener, err := newServer(t, server.Options{Defect: defect}).Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if address := listener.Addr().(*net.TCPAddr); address.IP.IsUnspecified() != everywhere {
			t.Errorf("with the defect %q it listens at %s", defect, address)
		}
		_ = listener.Close()
	}
}

func TestUnknownDefect(t *testing.T) {
	t.Parallel()
	if _, err := server.New(server.Options{Defect: "forgets-session"}); err == nil || !strings.Contains(err.Error(), "forgets-sessions") {
		t.Errorf("found %v", err)
	}
}
