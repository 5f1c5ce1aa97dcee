package provoke_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke/provoketest"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/reference/server"
)

// What is known of the reference server is so. It has all tools of the everything-server,
// too: runs on it show what those provoke.
func TestReference(t *testing.T) {
	t.Parallel()
	reference, err := server.New(server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reference.Close)
	listening := httptest.NewServer(reference.Handler())
	t.Cleanup(listening.Close)
	to := scripted.Target{Transport: protocol.HTTP, URL: listening.URL + "/mcp", Reply: 20 * time.Second}
	for _, known := range []string{"reference", "everything-server"} {
		provoketest.Prove(t, known, to, server.Revisions()...)
	}
}
