package replay

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// What a client said before it closed its side is answered, though it can answer nothing more.
func TestMockAnswersWhatCameBeforeTheEnd(t *testing.T) {
	t.Parallel()
	var lines, said strings.Builder
	lines.WriteString(hello)
	for id := range 20 {
		lines.WriteString(call(id, "t", fmt.Sprintf(`{"n":%d}`, id)) +
			`< {"jsonrpc":"2.0","id":"s","method":"roots/list"}` + "\n" +
			`> {"jsonrpc":"2.0","id":"s","result":{"roots":[]}}` + "\n" + result(id, `{"content":[]}`))
		said.WriteString(strings.TrimPrefix(call(id, "t", fmt.Sprintf(`{"n":%d}`, id)), "> "))
	}
	said.WriteString(strings.Repeat(`{"jsonrpc":"2.0","id":"p","method":"ping"}`+"\n", 3*maxAnswering))
	said.WriteString(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	mock := NewMock([]*Tape{tape(t, lines.String())}, func(string) {})
	var out strings.Builder
	if err := mock.OverStdio(t.Context(), strings.NewReader(said.String()), &out); err != nil {
		t.Fatal(err)
	}
	answers := map[jsonrpc.Kind]int{}
	for line := range strings.Lines(out.String()) {
		answers[jsonrpc.Parse([]byte(line)).Kind]++
	}
	if answers[jsonrpc.Response] != 20+3*maxAnswering+1 || answers[jsonrpc.Request] != 20 {
		t.Errorf("found %v", answers)
	}
}

// What clients over HTTP send that is no message, or from elsewhere, is refused at once.
func TestMockRefuses(t *testing.T) {
	t.Parallel()
	mock := NewMock([]*Tape{tape(t, hello+call(1, "t", "{}")+result(1, "{}"))}, func(string) {})
	server := httptest.NewServer(mock.Handler(false))
	t.Cleanup(server.Close)
	for name, test := range map[string]struct {
		method, body, origin, host string
		status                     int
		says                       string
	}{
		"not JSON":      {http.MethodPost, "nothing", "", "", 400, "-32700"},
		"not a message": {http.MethodPost, `{"a":1}`, "", "", 400, "-32600"},
		"empty":         {http.MethodPost, "", "", "", 400, "-32700"},
		"deep":          {http.MethodPost, strings.Repeat("[", 100_000), "", "", 400, "-32600"},
		"too long":      {http.MethodPost, strings.Repeat(" ", maxMessage+1), "", "", 413, "too long"},
		"another site":  {http.MethodPost, `{}`, "https://example.com", "", 403, "only for this machine"},
		"another host":  {http.MethodPost, `{}`, "", "example.com", 403, "only for this machine"},
		"PUT":           {http.MethodPut, `{}`, "", "", 405, ""},
		"batch":         {http.MethodPost, `[` + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, 2000) + `1]`, "", "", 200, "event: message"},
		"batch of none": {http.MethodPost, `[1,[],null]`, "", "", 202, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if request.Host = test.host; test.origin != "" {
				request.Header.Set("Origin", test.origin)
			}
			answer, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != test.status || !strings.Contains(string(body), test.says) {
				t.Errorf("found HTTP %d, %.200s, %v", answer.StatusCode, body, err)
			}
		})
	}
}

// What the server says unasked waits for a stream within bounds, and what goes beyond them is told.
func TestMockBoundsWhatWaits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		size, sent, kept int
	}{
		"few":    {maxWaitingSize / 4, 4, 4},
		"large":  {maxWaitingSize / 4, 6, 4},
		"many":   {1, maxWaiting + 5, maxWaiting},
		"beyond": {maxWaitingSize + 1, 1, 0},
	} {
		var texts []string
		mock := NewMock([]*Tape{tape(t, hello)}, func(text string) { texts = append(texts, text) })
		client := &httpClient{visit: mock.visit()}
		for range test.sent {
			client.unasked(make([]byte, test.size))
		}
		left := test.sent > test.kept
		if len(client.waiting) != test.kept || len(texts) > 1 || left != strings.Contains(strings.Join(texts, ""), "left out") {
			t.Errorf("%s: %d wait, told %q", name, len(client.waiting), texts)
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		client.hear(ctx, newEventStream(httptest.NewRecorder()))
		if client.unasked([]byte("x")); len(client.waiting) != 1 || client.size != 1 {
			t.Errorf("%s: %d wait behind the stream, %d bytes", name, len(client.waiting), client.size)
		}
	}
}
