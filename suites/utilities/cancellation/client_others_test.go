package cancellation

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// A client that begins its requests beside the next steps may send them late: it is not to
// cancel them before.
func TestNothingIsCancelledBeforeItIsSent(t *testing.T) {
	t.Parallel()
	const revision = "2025-11-25"
	log := transcript.NewLog("server")
	server := scripted.NewServer(scripted.ServerOptions{
		Revision: revision, Reply: time.Minute, Log: func() *transcript.Log { return log },
	})
	cancelsOthers.Server(server)
	served := httptest.NewServer(server)
	client, err := scripted.Dial(
		scripted.Target{Transport: protocol.HTTP, URL: served.URL, Reply: time.Minute}, transcript.NewLog("client"),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close(context.Background())
		server.Close()
		served.Close()
	})
	if _, err := client.Initialize(t.Context(), scripted.Hello(revision, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Call(t.Context(), "tools/list", nil); err != nil {
		t.Fatal(err)
	}

	list := client.Start(t.Context(), "tools/list", nil)
	client.Start(t.Context(), "resources/read", scripted.Object{"uri": scripted.ResourceURI})
	client.Start(t.Context(), "prompts/get", scripted.Object{"name": scripted.PromptName})
	if _, err := list.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}

	events := log.Events()
	answered := slices.IndexFunc(events, func(event transcript.Event) bool {
		message := jsonrpc.Parse(event.Raw)
		return message.Kind == jsonrpc.Response && message.ID == list.ID
	})
	for _, method := range []string{"resources/read", "prompts/get"} {
		sent := slices.IndexFunc(events, func(event transcript.Event) bool { return jsonrpc.Parse(event.Raw).Method == method })
		if sent < 0 || sent > answered {
			t.Errorf("%s is event %d, after the answer, which is event %d", method, sent, answered)
		}
	}
}
