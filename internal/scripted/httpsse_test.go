package scripted_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// send sends an HTTP request and returns the response, whose body is closed with the
// test.
func send(t *testing.T, method, url, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestScriptedServerOverHTTPSSE(t *testing.T) {
	t.Parallel()
	server := newServer(t, "2024-11-05", (*scripted.Server).OverHTTPSSE)
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	t.Cleanup(server.Close) // or the stream stays open
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

	if refused := send(t, http.MethodPost, at.URL, hello); refused.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST to the stream is answered with %s", refused.Status)
	}
	events := transport.NewEventReader(send(t, http.MethodGet, at.URL, "").Body, 1<<16)
	first, err := events.Next()
	if err != nil || first.Name != "endpoint" || !scripted.IsOlderEndpoint(string(first.Data)) {
		t.Fatalf("the stream begins with %+v, %v", first, err)
	}
	if taken := send(t, http.MethodPost, at.URL+string(first.Data), hello); taken.StatusCode != http.StatusAccepted {
		t.Errorf("initialize is answered with %s", taken.Status)
	}
	second, err := events.Next()
	answer := jsonrpc.Parse(second.Data)
	if result, _ := answer.Result(); err != nil || result == nil {
		t.Errorf("initialize is answered by %s, %v", second.Data, err)
	}
	if all := server.Sessions(); len(all) != 1 {
		t.Errorf("%d sessions", len(all))
	}
}
