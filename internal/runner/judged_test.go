package runner

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// What a check judged is marked when it is sure, and nothing else is.
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
	for name, test := range map[string]struct {
		mismatch rules.Mismatch
		judged   int // sequence; 0 for nothing
		about    string
	}{
		"an error":                 {rules.Mismatch{Found: `error -32602 (Invalid params) "no"`}, 3, "tools/call of search with id 1"},
		"a result":                 {rules.Mismatch{Found: `the result {}`}, 6, "ping with id 2"},
		"a notification":           {rules.Mismatch{Found: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}} (3 times)`}, 4, "notifications/progress"},
		"a status":                 {rules.Mismatch{Found: "HTTP 200 (OK), application/json", Where: "HTTP status"}, 2, "tools/call of search with id 1"},
		"a place":                  {rules.Mismatch{Found: "-1", Where: "/params/progress"}, 4, "notifications/progress"},
		"a member that is missing": {rules.Mismatch{Found: "nothing", Where: "/error/data"}, 3, "tools/call of search with id 1"},
		"no answer":                {rules.Mismatch{Found: "no answer in time: tools/call was not answered within 5s"}, 0, ""},
		"another status":           {rules.Mismatch{Found: "HTTP 404 (Not Found)", Where: "HTTP status"}, 0, ""},
		"what anything could be":   {rules.Mismatch{Found: "{}"}, 0, ""},
	} {
		outcome := conform.Outcome{Ending: conform.Failed, Mismatches: []rules.Mismatch{test.mismatch}}
		point(&outcome, [][]transcript.Event{events}, protocol.ServerRole)
		judged := 0
		if outcome.Judged != nil {
			judged = outcome.Judged.Sequence
			if outcome.Judged.Raw != nil {
				t.Errorf("%s: the message is carried about twice", name)
			}
		}
		if judged != test.judged || outcome.About.Name != test.about {
			t.Errorf("%s: event %d, about %q, wanted %d, about %q", name, judged, outcome.About.Name, test.judged, test.about)
		}
	}
	known := conform.Outcome{Ending: conform.Failed, Judged: &events[3], Mismatches: []rules.Mismatch{{Found: "the result {}"}}}
	point(&known, [][]transcript.Event{events}, protocol.ServerRole)
	if known.Judged == nil || known.Judged.Sequence != 4 || known.About.Method != "notifications/progress" {
		t.Errorf("what the check says is not taken: %+v", known)
	}
	// A client is judged by what it makes of an answer: the place is in the answer.
	blamed := conform.Outcome{Ending: conform.Failed, Judged: &events[0], Mismatches: []rules.Mismatch{{Found: "a result", Where: "/error/code"}}}
	point(&blamed, [][]transcript.Event{events}, protocol.ClientRole)
	if blamed.Judged == nil || blamed.Judged.Sequence != 3 || blamed.About.Name != "tools/call of search with id 1" {
		t.Errorf("%+v", blamed)
	}
	passed := conform.Outcome{Mismatches: []rules.Mismatch{{Found: "the result {}"}}}
	if point(&passed, [][]transcript.Event{events}, protocol.ServerRole); passed.Judged != nil {
		t.Error("something is judged of a check that passes")
	}
}
