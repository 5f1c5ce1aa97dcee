package replay

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// playedOver plays tapes to a server over HTTP.
func playedOver(t *testing.T, reply time.Duration, serve http.HandlerFunc, tapes ...*Tape) *Played {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	played, err := Play(t.Context(), tapes, Options{
		Target: scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: reply, Limits: transport.DefaultLimits},
		Begin:  transcript.NewLog,
	})
	if err != nil {
		t.Fatal(err)
	}
	return played
}

// A server that answers nothing costs a number of timeouts, and no more, however much was recorded:
// one after the other, at once, or over several connections.
func TestSilence(t *testing.T) {
	t.Parallel()
	const most = 500
	var turns, asked, answered strings.Builder
	for id := range most {
		asking := fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id+1)
		turns.WriteString(asking + result(id+1, "{}"))
		asked.WriteString(asking)
		answered.WriteString(result(id+1, "{}"))
	}
	further := make([]*Tape, maxSilent+1)
	for position := range further {
		further[position] = tape(t, turns.String())
	}
	for name, test := range map[string]struct {
		tapes         []*Tape
		answers       bool // initialize
		steps, waited int
		note          string
	}{
		"at all":        {[]*Tape{tape(t, turns.String())}, false, 1, 1, ""},
		"in turn":       {[]*Tape{tape(t, hello+turns.String())}, true, maxSilent, maxSilent - 1, ""},
		"at once":       {[]*Tape{tape(t, hello+asked.String()+answered.String())}, true, 1 + most, maxSilent, ""},
		"notifications": {[]*Tape{tape(t, hello+strings.Repeat(`> {"jsonrpc":"2.0","method":"notifications/a"}`+"\n", most))}, true, 1, 0, ""},
		"connections":   {further, false, maxSilent, maxSilent, "a.jsonl is not played: the server answers nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played := playedOver(t, 200*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // or else it does not notice that the client leaves
				if test.answers && jsonrpc.MethodOf(body) == "initialize" {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
					return
				}
				<-r.Context().Done()
			}, test.tapes...)
			waited := 0
			for _, step := range played.Steps {
				if strings.Contains(step.Live, "in time") {
					waited++
				}
			}
			if all := strings.Join(told(played), "\n"); !strings.Contains(all, "the rest is not played") {
				t.Errorf("found %s", all)
			}
			if len(played.Steps) != test.steps || waited > test.waited || strings.Join(played.Notes, "\n") != test.note {
				t.Errorf("%d steps, %d of them waited for, notes %q", len(played.Steps), waited, played.Notes)
			}
		})
	}
}

// A page whose cursor the live server did not give is left out, with the pages behind it. Lists
// have cursors of their own, and a word of the client is no cursor.
func TestPages(t *testing.T) {
	t.Parallel()
	list := func(id int, method, cursor string) string {
		return fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"%s/list","params":%s}`+"\n", id, method, cursor)
	}
	page := func(id int, method, next string) string { return result(id, `{"`+method+`":[]`+next+`}`) }
	recorded := tape(t, hello+
		list(1, "tools", `{}`)+page(1, "tools", `,"nextCursor":"2"`)+
		list(2, "prompts", `{}`)+page(2, "prompts", `,"nextCursor":"2"`)+
		call(3, "t", `{"a":"2"}`)+result(3, `{"content":[]}`)+
		list(4, "tools", `{"cursor":"2"}`)+page(4, "tools", `,"nextCursor":"3"`)+
		list(5, "tools", `{"cursor":"3"}`)+page(5, "tools", ``)+
		list(6, "prompts", `{"cursor":"2"}`)+page(6, "prompts", ``)+
		list(7, "tools", `{"cursor":"made up"}`)+`< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"x"}}`)
	live := tape(t, hello+
		list(1, "tools", `{}`)+page(1, "tools", ``)+
		list(2, "prompts", `{}`)+page(2, "prompts", `,"nextCursor":"p-2"`)+
		call(3, "t", `{"a":"2"}`)+result(3, `{"content":[]}`)+
		list(6, "prompts", `{"cursor":"p-2"}`)+page(6, "prompts", ``)+
		list(7, "tools", `{"cursor":"made up"}`)+`< {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"x"}}`)
	played := playedTo(t, recorded, live, nil)
	for _, step := range played.Steps {
		if step.Live != step.Recorded {
			t.Errorf("%+v", step)
		}
	}
	const left = `a.jsonl: tools/list with the cursor %q is not played: the live server did not give one`
	want := fmt.Sprintf(left+"\n"+left, "2", "3")
	if got := strings.Join(played.Notes, "\n"); got != want || len(played.Steps) != 6 {
		t.Errorf("%d steps, notes %s", len(played.Steps), got)
	}
	if len(played.Carried) != 1 || played.Carried[0].Live != `"p-2"` {
		t.Errorf("told are %v", played.Carried)
	}
}
