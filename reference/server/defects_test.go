package server_test

import (
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

func TestUnknownDefect(t *testing.T) {
	t.Parallel()
	if _, err := server.New(server.Options{Defect: "forgets-session"}); err == nil || !strings.Contains(err.Error(), "forgets-sessions") {
		t.Errorf("found %v", err)
	}
}
