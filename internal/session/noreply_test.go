package session

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Only the call of a tool may take as long as it likes: other methods have to be answered
// in time, and what is illegal on purpose is for its check.
func TestCalledBy(t *testing.T) {
	t.Parallel()
	call := jsonrpc.NewRequest(jsonrpc.IntID(2), "tools/call", Object{"name": "dig"})
	sent := func(raw []byte, deliberate string) transcript.Event {
		return transcript.Event{Kind: transcript.Message, From: protocol.Client, Raw: raw, Deliberate: deliberate}
	}
	for name, test := range map[string]struct {
		event transcript.Event
		id    int64
		want  string
	}{
		"a call":            {sent(call, ""), 2, "dig"},
		"another id":        {sent(call, ""), 3, ""},
		"an illegal call":   {sent(call, "the arguments are a list"), 2, ""},
		"another method":    {sent(jsonrpc.NewRequest(jsonrpc.IntID(2), "prompts/get", Object{"name": "dig"}), ""), 2, ""},
		"said by the other": {transcript.Event{Kind: transcript.Message, From: protocol.Server, Raw: call}, 2, ""},
	} {
		if got := calledBy([]transcript.Event{test.event}, jsonrpc.IntID(test.id)); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
