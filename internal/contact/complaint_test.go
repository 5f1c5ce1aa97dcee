package contact

import (
	"errors"
	"net/http"
	"testing"

	"github.com/mcpconform/mcpconform/internal/scripted"
)

func TestRedirectsAreTold(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"":              "http://x/mcp answers initialize with HTTP 304 and names no other place in Location; give the URL of the MCP endpoint itself, which often ends in /mcp",
		"http://y/mcp2": "http://x/mcp redirects (HTTP 304) to http://y/mcp2; give that URL, if it is the MCP endpoint",
	} {
		header := http.Header{}
		if location != "" {
			header.Set("Location", location)
		}
		failed := &visit{err: errors.Join(&scripted.StatusError{Status: http.StatusNotModified, Header: header})}
		if got := httpReason("http://x/mcp", failed); got != want {
			t.Errorf("%q: %s", location, got)
		}
		unposted := &visit{err: &scripted.UnpostedError{Err: failed.err}}
		if got := httpReason("http://x/mcp", unposted); location != "" && got != want {
			t.Errorf("of a stream, %q: %s", location, got)
		}
	}
}
