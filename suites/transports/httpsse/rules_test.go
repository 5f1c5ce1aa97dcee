package httpsse_test

import (
	"net/http"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites/transports/httpsse"
)

// posting is a client that opens streams on which endpoints are named, and sends a message.
func posting(method, url string, named ...string) *rules.Conversation {
	head := func(stream, method, url string) transcript.Event {
		return transcript.Event{
			Kind: transcript.Head, From: protocol.Client, Stream: stream,
			HTTP: &transcript.HTTP{Method: method, URL: url},
		}
	}
	events := []transcript.Event{
		head("get-1", http.MethodGet, "http://127.0.0.1:80/a/sse"),
		{
			Kind: transcript.Head, From: protocol.Server, Stream: "get-1",
			HTTP: &transcript.HTTP{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}},
		},
	}
	for _, reference := range named {
		events = append(events, transcript.Event{
			Kind: transcript.Block, From: protocol.Server, Stream: "get-1",
			Raw: []byte(": a comment\r\nevent: endpoint\r\ndata: " + reference), SSE: &transcript.SSE{Name: "endpoint", HasData: true},
		})
	}
	events = append(events, head("post-1", method, url), transcript.Event{
		Kind: transcript.Message, From: protocol.Client, Stream: "post-1", Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
	})
	for at := range events {
		events[at].Sequence = at
	}
	return rules.NewConversation(rules.Cell{Role: protocol.ClientRole, Revision: "2024-11-05", Transport: protocol.SSE}, events, true)
}

func TestPosted(t *testing.T) {
	t.Parallel()
	const (
		kept, broken = true, false
		judged       = true
	)
	for name, test := range map[string]struct {
		conversation *rules.Conversation
		judged, kept bool
	}{
		"a path of the origin":        {posting("POST", "http://127.0.0.1:80/m?s=1", "/m?s=1"), judged, kept},
		"a URI":                       {posting("POST", "http://127.0.0.1:80/m?s=1", "http://127.0.0.1:80/m?s=1#f"), judged, kept},
		"through a proxy":             {posting("POST", "http://a.test/m", "https://A.test/m"), judged, kept},
		"another spelling":            {posting("POST", "http://127.0.0.1:80/a%20b?c=%2f&d=", "/a b?d&c=/"), judged, kept},
		"the second of two":           {posting("POST", "http://127.0.0.1:80/n", "/m", "/n"), judged, kept},
		"the first of two":            {posting("POST", "http://127.0.0.1:80/m", "/m", "/n"), judged, kept},
		"no query":                    {posting("POST", "http://127.0.0.1:80/m", "/m?s=1"), judged, broken},
		"another query":               {posting("POST", "http://127.0.0.1:80/m?s=1&t=2", "/m?s=1"), judged, broken},
		"a slash more":                {posting("POST", "http://127.0.0.1:80/m/?s=1", "/m?s=1"), judged, broken},
		"the stream":                  {posting("POST", "http://127.0.0.1:80/a/sse", "/m"), judged, broken},
		"another host":                {posting("POST", "http://127.0.0.1:81/m", "http://127.0.0.1:80/m"), judged, broken},
		"another method":              {posting("PUT", "http://127.0.0.1:80/m", "/m"), judged, broken},
		"before an endpoint":          {posting("POST", "http://127.0.0.1:80/a/sse"), !judged, kept},
		"what is relative":            {posting("POST", "http://127.0.0.1:80/x", "m"), !judged, kept},
		"an endpoint that is none":    {posting("POST", "http://127.0.0.1:80/x", "http://[::"), !judged, kept},
		"an endpoint without a place": {posting("POST", "http://127.0.0.1:80/x", "mailto:a@b.test"), !judged, kept},
	} {
		violated, seen := Judged(httpsse.Rules(), test.conversation)
		if (len(violated) == 0) != test.kept || (len(seen) > 0) != test.judged {
			t.Errorf("%s: broken %v, judged %v", name, violated, seen)
		}
	}
}
