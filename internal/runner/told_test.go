package runner

import (
	"net/http"
	"testing"
)

// The headers on which a verdict may turn come before those that every request has.
func TestWhatARequestTurnsOnComesFirst(t *testing.T) {
	t.Parallel()
	sent := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}, "Origin": {"http://stranger.invalid"}, "Host": {"stranger.invalid"}}
	const want = ", Host: stranger.invalid, Origin: http://stranger.invalid, Accept: application/json, Content-Type: application/json"
	if got := headerText(sent, requestHeaders); got != want {
		t.Error(got)
	}
}
