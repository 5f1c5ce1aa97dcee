package server_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/server"
)

// sseStream opens a stream and returns its endpoint, and what reads the data of its events.
func sseStream(t *testing.T, base string) (endpoint string, next func() string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+server.SSEPath, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	next = func() string {
		for lines.Scan() {
			if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
				return data
			}
		}
		t.Fatal("the stream ended")
		return ""
	}
	return base + next(), next
}

func posted(t *testing.T, url, body string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

const sseHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestHTTPSSE answers each client on its stream, in a session that ends with it.
func TestHTTPSSE(t *testing.T) {
	t.Parallel()
	s := newServer(t, server.Options{})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	t.Cleanup(s.Close)
	first, ofFirst := sseStream(t, web.URL)
	second, ofSecond := sseStream(t, web.URL)

	for url, next := range map[string]func() string{first: ofFirst, second: ofSecond} {
		if status := posted(t, url, sseHello); status != http.StatusAccepted {
			t.Errorf("HTTP %d", status)
		}
		if answer := next(); !strings.Contains(answer, `"protocolVersion":"2024-11-05"`) {
			t.Error(answer)
		}
	}
	if status := posted(t, first, `{"jsonrpc":"2.0","id":"of the first","method":"ping"}`); status != http.StatusAccepted {
		t.Errorf("HTTP %d", status)
	}
	if answer := ofFirst(); !strings.Contains(answer, `"of the first"`) {
		t.Error(answer)
	}
	s.Close()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if posted(t, second, `{"jsonrpc":"2.0","id":2,"method":"ping"}`) == http.StatusNotFound {
			return
		}
	}
	t.Error("the session outlives its stream")
}

// TestHTTPSSERefuses turns away what is for no stream, and what is no message.
func TestHTTPSSERefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t, server.Options{})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	t.Cleanup(s.Close)
	endpoint, next := sseStream(t, web.URL)
	for name, one := range map[string]struct {
		url, body string
		status    int
	}{
		"a stream that is not open": {web.URL + "/messages?session=x", sseHello, http.StatusNotFound},
		"a POST to the stream":      {web.URL + server.SSEPath, sseHello, http.StatusMethodNotAllowed},
	} {
		if status := posted(t, one.url, one.body); status != one.status {
			t.Errorf("%s: HTTP %d", name, status)
		}
	}
	if posted(t, endpoint, "{"); !strings.Contains(next(), "-32700") {
		t.Error("what is no JSON is not refused on the stream")
	}
}
