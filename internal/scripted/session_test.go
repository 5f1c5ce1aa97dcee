package scripted

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// A response that has the id of no request comes in place of the answer that is waited for,
// unless something was sent that such a response could be about.
func TestSessionAwaitsAnswer(t *testing.T) {
	t.Parallel()
	const reply = time.Minute
	asked := string(jsonrpc.NewRequest(jsonrpc.StringID("a"), "ping", nil))
	response := func(id string) []byte { return []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`) }
	for name, test := range map[string]struct {
		sent   []string // before the request
		came   [][]byte
		waited time.Duration
		want   bool
	}{
		"the answer":             {nil, [][]byte{response(`"a"`)}, 0, true},
		"another id":             {nil, [][]byte{response(`"b"`)}, behindStray, false},
		"another id, and it":     {nil, [][]byte{response(`"b"`), response(`"a"`)}, 0, true},
		"null":                   {nil, [][]byte{response(`null`)}, behindStray, false},
		"null to a notification": {[]string{`{"jsonrpc":"2.0","method":"n"}`}, [][]byte{response(`null`)}, reply, false},
		"null to no JSON":        {[]string{`{`}, [][]byte{response(`null`)}, reply, false},
		"a request":              {nil, [][]byte{jsonrpc.NewRequest(jsonrpc.IntID(1), "ping", nil)}, reply, false},
		"to an earlier request": {
			[]string{`{"jsonrpc":"2.0","id":7,"method":"ping"}`},
			[][]byte{response(`7`)}, reply, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := transcript.NewLog("c1")
				session := &Session{Server: &Server{life: t.Context(), options: ServerOptions{Reply: reply}}, log: log, inbox: newInbox(log)}
				for _, raw := range append(test.sent, asked) {
					log.Append(transcript.Event{Kind: transcript.Message, From: protocol.Server, Raw: []byte(raw)})
				}
				for _, raw := range test.came {
					session.inbox.add(Received{Message: jsonrpc.Parse(raw)})
				}
				began := time.Now()
				answer, came := session.AwaitAnswer(ServerRequest{Method: "ping"}, jsonrpc.StringID("a"), 0)
				if waited := time.Since(began); came != test.want || waited != test.waited {
					t.Errorf("%t behind %s: %s", came, waited, answer.Raw)
				}
			})
		})
	}
}
