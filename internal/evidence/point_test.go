package evidence

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// What a check judged is marked, with the request that it belongs to, and nothing else is.
func TestWhatWasJudgedIsPointedAt(t *testing.T) {
	t.Parallel()
	say := func(sequence int, from protocol.Party, raw string) transcript.Event {
		return transcript.Event{Sequence: sequence, Connection: "one", From: from, Kind: transcript.Message, Raw: []byte(raw)}
	}
	status := func(sequence, status int) transcript.Event {
		return transcript.Event{Sequence: sequence, Connection: "one", From: protocol.Server, Kind: transcript.Head, Stream: "post-1", HTTP: &transcript.HTTP{Status: status}}
	}
	ask := say(1, protocol.Client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}`)
	ask.Stream = "post-1"
	events := []transcript.Event{
		ask, status(2, 200),
		say(3, protocol.Server, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`),
		say(4, protocol.Server, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`),
		say(5, protocol.Client, `{"jsonrpc":"2.0","id":2,"method":"ping"}`),
		say(6, protocol.Server, `{"jsonrpc":"2.0","id":2,"result":{}}`),
		say(7, protocol.Server, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
	}
	at := func(sequence int) transcript.Place { return transcript.Place{Connection: "one", Sequence: sequence} }
	for name, test := range map[string]struct {
		judged   transcript.Place
		mismatch rules.Mismatch
		marked   transcript.Place
		about    string
	}{
		"an answer":             {at(3), rules.Mismatch{Where: "/error/code"}, at(3), "tools/call of search with id 1"},
		"a notification":        {at(4), rules.Mismatch{}, at(4), "notifications/progress"},
		"a status":              {at(2), rules.Mismatch{Where: "HTTP status"}, at(2), "tools/call of search with id 1"},
		"what came of it":       {at(1), rules.Mismatch{Where: "/error/code"}, at(3), "tools/call of search with id 1"},
		"nothing":               {transcript.Place{}, rules.Mismatch{}, transcript.Place{}, ""},
		"what was not recorded": {at(8), rules.Mismatch{}, transcript.Place{}, ""},
		"another connection":    {transcript.Place{Connection: "two", Sequence: 3}, rules.Mismatch{}, transcript.Place{}, ""},
	} {
		outcome := check.Outcome{Ending: check.Failed, Judged: test.judged, Mismatches: []rules.Mismatch{test.mismatch}}
		Point(&outcome, [][]transcript.Event{events})
		about := outcome.Mismatches[0].About.Name
		if outcome.Judged != test.marked || about != test.about {
			t.Errorf("%s: %v, about %q, wanted %v, about %q", name, outcome.Judged, about, test.marked, test.about)
		}
	}
	several := check.Outcome{Ending: check.Failed, Judged: at(3), Mismatches: []rules.Mismatch{{Of: at(3)}, {Of: at(6)}}}
	Point(&several, [][]transcript.Event{events})
	if about := several.Mismatches[1].About.Name; several.Judged != at(3) || about != "ping with id 2" {
		t.Errorf("the second of several: about %q, and %v is marked", about, several.Judged)
	}
}
