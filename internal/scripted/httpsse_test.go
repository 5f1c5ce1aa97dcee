package scripted_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// send sends an HTTP request and returns the status and the body, which is closed with
// the test.
func send(t *testing.T, method, url, body string) (status int, stream io.Reader) {
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
	return response.StatusCode, response.Body
}

func TestScriptedServerOverHTTPSSE(t *testing.T) {
	t.Parallel()
	server := newServer(t, "2024-11-05", (*scripted.Server).OverHTTPSSE)
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	t.Cleanup(server.Close) // or the stream stays open
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

	if status, _ := send(t, http.MethodPost, at.URL+scripted.Endpoint, hello); status != http.StatusMethodNotAllowed {
		t.Errorf("a POST to the stream is answered with %d", status)
	}
	_, stream := send(t, http.MethodGet, at.URL+scripted.Endpoint, "")
	events := transport.NewEventReader(stream, 1<<16)
	first, err := events.Next()
	if err != nil || first.Name != "endpoint" || !scripted.IsOlderEndpoint(string(first.Data)) {
		t.Fatalf("the stream begins with %+v, %v", first, err)
	}
	if status, _ := send(t, http.MethodPost, at.URL+string(first.Data), hello); status != http.StatusAccepted {
		t.Errorf("initialize is answered with %d", status)
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
