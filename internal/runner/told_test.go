package runner

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/scripted"
)

// A line of standard error is cut to what a person reads.
func TestALongLineOfStderrIsCut(t *testing.T) {
	t.Parallel()
	got := complaint("begin\n" + strings.Repeat("x", 262_144) + "\npanic: nil\n")
	if len(got) > 400 || !strings.HasPrefix(got, "begin\nxxx") || !strings.HasSuffix(got, "… (262144 bytes)\npanic: nil") {
		t.Errorf("%d bytes: %.400s", len(got), got)
	}
}

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
	}
}

// The headers on which a verdict may turn come before those that every request has.
func TestWhatARequestTurnsOnComesFirst(t *testing.T) {
	t.Parallel()
	sent := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}, "Origin": {"http://stranger.invalid"}, "Host": {"stranger.invalid"}}
	const want = ", Host: stranger.invalid, Origin: http://stranger.invalid, Accept: application/json, Content-Type: application/json"
	if got := headerText(sent, requestHeaders); got != want {
		t.Error(got)
	}
}
