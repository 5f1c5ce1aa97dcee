package progress

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

func TestProgressBut(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"earlier","progress":100}}`: false,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other","progress":100}}`:   true,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":null,"progress":1}}`:        true,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`:                             true,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`:                   false,
	} {
		if got := progressBut("earlier")(scripted.Received{Message: jsonrpc.Parse([]byte(raw))}); got != want {
			t.Errorf("%s: %t, want %t", raw, got, want)
		}
	}
}
