package sessions_test

import (
	"net/http"
	"testing"

	"github.com/mcpconform/mcpconform/internal/sessions"
)

func TestConnections(t *testing.T) {
	t.Parallel()
	known := sessions.Connections[int]{Most: 3}
	session := func(id string) http.Header { return http.Header{sessions.Header: {id}} }
	expect := func(method, place, id string, want int) {
		t.Helper()
		if one, named, is := known.Of(method, place, session(id)); one != want || named != id || is != (want != 0) {
			t.Errorf("%s %s in %q: %d, %q, %v", method, place, id, one, named, is)
		}
	}
	known.Sessionless = []int{1, 2}
	if known.Answered(http.Header{}, 1) || !known.Answered(session("a"), 1) || len(known.Sessionless) != 1 {
		t.Errorf("left are %v", known.Sessionless)
	}
	known.Name("", 2)
	known.Endpoint("/messages", 2)
	expect(http.MethodGet, "/mcp", "a", 1)
	expect(http.MethodPost, "/messages", "", 2)
	expect(http.MethodPost, "/messages", "a", 1)
	expect(http.MethodPost, "/messages", "unknown", 0)
	expect(http.MethodGet, "/messages", "", 0)
	expect(http.MethodPost, "/mcp", "", 0)
	if !known.IsNamed(2) || known.IsNamed(3) {
		t.Error("names are mixed up")
	}
	known.Name("b", 3)
	known.Name("b", 4)
	known.Name("c", 3)
	expect(http.MethodPost, "/mcp", "a", 0) // the oldest
	expect(http.MethodPost, "/mcp", "b", 4)
	known.Forget(4)
	known.Forget(2)
	expect(http.MethodPost, "/mcp", "b", 0)
	expect(http.MethodPost, "/messages", "", 0)
	expect(http.MethodPost, "/mcp", "c", 3)
	if len(known.Sessionless) != 0 {
		t.Errorf("left are %v", known.Sessionless)
	}
}
