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

// Each stream is a session of its own, which is known by what its endpoint event names.
func TestSessionsOverHTTPSSE(t *testing.T) {
	t.Parallel()
	server := newServer(t, "2025-03-26", func(server *scripted.Server) {
		server.OverHTTPSSE()
		server.Style.Endpoint = "{origin}{folder}messages?session={session}"
		server.Style.Begin = []byte("\ufeff")
	})
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	t.Cleanup(server.Close) // or the streams stay open
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":"` + id + `","method":"ping"}` }

	send(t, http.MethodPost, at.URL+"/a/sse", hello) // as a client does that knows a later transport, too
	var streams []*transport.EventReader
	var endpoints []string
	for range 2 {
		_, body := send(t, http.MethodGet, at.URL+"/a/sse", "")
		stream := transport.NewEventReader(body, 1<<16)
		first, err := stream.Next()
		if err != nil || !strings.HasPrefix(string(first.Data), at.URL+"/a/messages?session=") {
			t.Fatalf("the stream begins with %+v, %v", first, err)
		}
		streams, endpoints = append(streams, stream), append(endpoints, string(first.Data))
	}
	for _, of := range []int{1, 0} {
		send(t, http.MethodPost, endpoints[of], ping(endpoints[of]))
		event, err := streams[of].Next()
		if err != nil || event.Name != "message" || jsonrpc.Parse(event.Data).ID != jsonrpc.StringID(endpoints[of]) {
			t.Errorf("the ping of %s is answered by %+v, %v", endpoints[of], event, err)
		}
	}
	without, _, _ := strings.Cut(endpoints[1], "?")
	for url, wanted := range map[string]int{
		without: http.StatusNotFound, without + "/?session=1": http.StatusMethodNotAllowed,
		endpoints[0] + "&more=1": http.StatusNotFound, at.URL + "/a/sse?session=1": http.StatusMethodNotAllowed,
	} {
		if status, _ := send(t, http.MethodPost, url, ping("astray")); status != wanted {
			t.Errorf("a POST to %s is answered with %d", url, status)
		}
	}
	if all := server.Sessions(); len(all) != 2 {
		t.Errorf("%d sessions", len(all))
	}
}
