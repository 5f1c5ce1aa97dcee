package scripted_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// overSSE returns a client of a server that begins each stream with some text, and answers
// what is posted below /posts on the stream that was opened last.
func overSSE(t *testing.T, reply time.Duration, begin string, posted func(http.ResponseWriter, *http.Request)) *scripted.Connection {
	t.Helper()
	lines := make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			if posted != nil {
				posted(w, request)
			}
			if sent := message(request); sent.Kind == jsonrpc.Request {
				lines <- "data: " + string(echo(sent))
			}
			w.WriteHeader(http.StatusAccepted)
			return
		}
		write := asStream(w)
		write(begin)
		for {
			select {
			case line := <-lines:
				write(line)
			case <-request.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return sseOf(t, server.URL+"/base/sse", reply)
}

func sseOf(t *testing.T, url string, reply time.Duration) *scripted.Connection {
	t.Helper()
	connection, err := scripted.Dial(scripted.Target{Transport: protocol.SSE, URL: url, Reply: reply}, transcript.NewLog("c1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(context.Background()) })
	return connection
}

// TestSSEPostsToTheEndpoint posts where the stream says, in each form that a URI may have.
func TestSSEPostsToTheEndpoint(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ begin, path string }{
		"from the root":    {"event: endpoint\ndata: /posts?session=1", "/posts?session=1"},
		"beside the path":  {"event: endpoint\ndata: posts?session=1", "/base/posts?session=1"},
		"a query alone":    {"event: endpoint\ndata: ?session=1", "/base/sse?session=1"},
		"after a comment":  {": hello\n\nevent: endpoint\ndata: /posts", "/posts"},
		"the first counts": {"event: endpoint\ndata: /posts\n\nevent: endpoint\ndata: /others", "/posts"},
		"CR and LF":        {"event: endpoint\r\ndata: /posts\r", "/posts"},
		"without a space":  {"event:endpoint\ndata:/posts", "/posts"},
		"an id and others": {"id: 1\nretry: 5\nevent: endpoint\nx: y\ndata: /posts", "/posts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var at atomic.Value
			server := overSSE(t, patient, one.begin, func(_ http.ResponseWriter, request *http.Request) { at.Store(request.URL.String()) })

			answer, err := server.Call(t.Context(), "ping", nil)

			if err != nil || answer.Kind != jsonrpc.Response || at.Load() != one.path {
				t.Errorf("posts to %v, and gets %s, %v", at.Load(), answer.Raw, err)
			}
		})
	}
}

// TestSSEWithoutAnEndpoint sends nothing where it is not known where to.
func TestSSEWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ begin, says string }{
		"none":           {": hello", "the stream named no endpoint within"},
		"another name":   {"event: endpoints\ndata: /posts", "the stream named no endpoint within"},
		"JSON":           {"event: endpoint\ndata: {\"uri\": \"/posts\"}", "which is no URI"},
		"nothing":        {"event: endpoint\ndata:", "which is no URI"},
		"of a file":      {"event: endpoint\ndata: file:///posts", "is not of HTTP"},
		"of a stranger":  {"event: endpoint\ndata: https://stranger.invalid/posts", "is on another host than the stream"},
		"beyond a limit": {"event: endpoint\ndata: " + strings.Repeat("a", 1<<25), "limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := patient
			if strings.Contains(one.says, "within") {
				reply = soon
			}
			server := overSSE(t, reply, one.begin, func(_ http.ResponseWriter, request *http.Request) {
				t.Errorf("posts to %s", request.URL)
			})

			_, err := server.Call(t.Context(), "ping", nil)

			var unposted *scripted.UnpostedError
			if !errors.As(err, &unposted) || !strings.Contains(err.Error(), one.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestSSERefused tells what came in the place of a stream or of an acceptance.
func TestSSERefused(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		stream http.HandlerFunc
		says   string
	}{
		"no such page": {http.NotFound, "GET brought HTTP 404 with the body 404 page not found"},
		"a page":       {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, `the content type "text/html`},
		"an end":       {func(w http.ResponseWriter, _ *http.Request) { asStream(w)(": bye") }, "ended the stream without an endpoint event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(one.stream)
			t.Cleanup(server.Close)
			connection := sseOf(t, server.URL, patient)

			_, err := connection.Call(t.Context(), "ping", nil)

			if !errors.Is(err, scripted.ErrConnection) || !strings.Contains(err.Error(), one.says) || connection.SSE.Problem() == nil {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a message", func(t *testing.T) {
		t.Parallel()
		connection := overSSE(t, patient, "event: endpoint\ndata: /posts", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
		})

		err := connection.Notify(t.Context(), "notifications/initialized", nil)

		var status *scripted.StatusError
		if !errors.As(err, &status) || status.Status != http.StatusBadRequest || !connection.SSE.Streams() {
			t.Errorf("%v", err)
		}
	})
}

// TestSSENamesTheVersion sends the header of the version from the revision on that has it.
func TestSSENamesTheVersion(t *testing.T) {
	t.Parallel()
	for revision, wanted := range map[string]string{"2024-11-05": "", "2025-06-18": "2025-06-18"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			connection := overSSE(t, patient, "event: endpoint\ndata: /posts", nil)

			_, _ = connection.Initialize(t.Context(), scripted.Hello(revision, scripted.Nothing())) // which is echoed

			if found := connection.SSE.Header(http.MethodPost).Get(scripted.VersionHeader); found != wanted {
				t.Errorf("the header is %q", found)
			}
		})
	}
}

// What goes on like a stream and has another content type is told by that, without waiting for
// the endpoint.
func TestSSEOfAnotherContentType(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("event: endpoint\ndata: /posts\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-request.Context().Done()
	}))
	t.Cleanup(server.Close)

	_, err := sseOf(t, server.URL, time.Hour).SSE.Open(t.Context())

	var none *scripted.NoEndpointError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), `the content type "application/json"`) {
		t.Errorf("the stream ends with %v", err)
	}
}

// What comes before the endpoint has a bound in bytes: a stream that never comes to it ends there.
func TestSSEWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]struct{ begin, piece string }{
		"comments": {"", strings.Repeat(": x\n", 1<<10)},
		"a line":   {"event: endpoint\ndata: /", strings.Repeat("a", 1<<12)},
		"data":     {"event: endpoint\n", strings.Repeat("data: /\n", 1<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for text := form.begin + form.piece; request.Context().Err() == nil; text = form.piece {
					if _, err := w.Write([]byte(text)); err != nil {
						return
					}
				}
			}))
			t.Cleanup(server.Close)

			_, err := sseOf(t, server.URL, time.Hour).SSE.Open(t.Context())

			var none *scripted.NoEndpointError
			if !errors.As(err, &none) || !strings.Contains(err.Error(), "longer than the limit") {
				t.Errorf("the stream ends with %v", err)
			}
		})
	}
}
