package runner

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reports"
)

// A server over HTTP that takes the first request and is gone has crashed: that is a finding,
// and what its process has left is told.
func TestAServerThatCrashesAtTheFirstRequest(t *testing.T) {
	t.Parallel()
	for revision, id := range map[string]string{
		"2025-03-26": session.AnsweredRequirement, "2025-06-18": session.AnsweredRequirement, "2025-11-25": session.AnsweredRequirement, "2026-07-28": session.AnsweredRequirement,
	} {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { // one request, and it is gone
			conn, err := listener.Accept()
			_ = listener.Close()
			if err == nil {
				_, _ = io.ReadAtLeast(conn, make([]byte, 1), 1)
				_ = conn.Close()
			}
		}()
		served, err := target.Start(target.Command{Args: []string{"sh", "-c", "echo nil pointer >&2; exit 2"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = served.Close() })
		options := shortWait("http://"+listener.Addr().String(), revision)
		options.Served = served

		found := mustRun(t, options)

		if ids := brokenIn(found); len(ids) != 1 || ids[0] != id || found.Conforms(false) {
			t.Fatalf("%s: broken: %q", revision, ids)
		}
		ended, result := found.Cells[0].Ended, found.Cells[0].Results[0]
		if ended == nil || ended.Exit != "exited with status 2" || ended.Output != "nil pointer" || ended.After == "" {
			t.Errorf("%s: the cell ended: %+v", revision, ended)
		}
		if result.Verdict != reports.Failed || result.Output != "nil pointer" || len(result.Exchange) == 0 ||
			!strings.Contains(result.Failures[0].Found, "first request ("+ended.After+")") {
			t.Errorf("%s: %+v", revision, result)
		}
	}
}

// A server that exits by itself after the opening may do so, and is told it in one headline;
// one that exits at a request has left that unanswered.
func TestAServerThatExitsAfterTheOpening(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const opening = `read -r _; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"tools":{}},"serverInfo":{"name":"brief","version":"1"}}}'; read -r _; `
	for script, broken := range map[string]bool{
		opening + "echo no database >&2; exit 3":            false,
		opening + "read -r _; echo no database >&2; exit 3": true,
	} {
		options := shortWait("", "2025-11-25")
		options.URL, options.Transports = "", []string{protocol.Stdio}
		options.Command = target.Command{Args: []string{"sh", "-c", script}}
		options.Filter = "ping || base.requests.answered"

		found := mustRun(t, options)

		ended := found.Cells[0].Ended
		if failed := len(brokenIn(found)) > 0; failed != broken || found.Conforms(false) || broken == (ended != nil) {
			t.Errorf("%s: broken: %q; ended: %+v", script, brokenIn(found), ended)
		}
		if ended != nil && (ended.After != "initialize" || ended.Exit != "exited with status 3" || ended.Output != "no database") {
			t.Errorf("%s: ended: %+v", script, ended)
		}
	}
}
