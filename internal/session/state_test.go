package session

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestLeaves(t *testing.T) {
	t.Parallel()
	says := func(party protocol.Party, raw string) transcript.Event {
		return transcript.Event{From: party, Kind: transcript.Message, Raw: []byte(raw)}
	}
	const client, server = protocol.Client, protocol.Server
	call := says(client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	asks := says(server, `{"jsonrpc":"2.0","id":9,"method":"roots/list"}`)
	for name, test := range map[string]struct {
		events               []transcript.Event
		handshake, stateless bool
	}{
		"nothing":            {},
		"a list":             {events: []transcript.Event{says(client, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)}},
		"a tool":             {[]transcript.Event{call}, true, false},
		"a level":            {[]transcript.Event{says(client, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}`)}, true, false},
		"a subscription":     {[]transcript.Event{says(client, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe"}`)}, true, false},
		"a cancellation":     {[]transcript.Event{says(client, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)}, true, true},
		"a changed list":     {[]transcript.Event{says(server, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)}, true, true},
		"a changed resource": {[]transcript.Event{says(server, `{"jsonrpc":"2.0","method":"notifications/resources/updated"}`)}, true, true},
		"an open request":    {[]transcript.Event{asks}, true, true},
		"an answered one":    {events: []transcript.Event{asks, says(client, `{"jsonrpc":"2.0","id":9,"result":{}}`)}},
		"no message":         {[]transcript.Event{says(server, `ready`)}, true, true},
		"something illegal":  {[]transcript.Event{{From: client, Kind: transcript.Message, Raw: []byte(`{}`), Deliberate: "no message"}}, true, true},
	} {
		if got, _ := leaves(test.events, false); got != test.handshake {
			t.Errorf("%s: leaves something in the handshake era: %t", name, got)
		}
		if got, _ := leaves(test.events, true); got != test.stateless {
			t.Errorf("%s: leaves something in the stateless era: %t", name, got)
		}
	}
}

func TestKeepsSessionsByWhatIsLeft(t *testing.T) {
	t.Parallel()
	illegal := []transcript.Event{{From: protocol.Client, Kind: transcript.Message, Raw: []byte(`{}`), Deliberate: "no message"}}
	asking := []transcript.Event{{From: protocol.Server, Kind: transcript.Message, Raw: []byte(`{"jsonrpc":"2.0","id":9,"method":"roots/list"}`)}}
	for name, test := range map[string]struct {
		left, allowed leftover
		events        []transcript.Event
		outcome       Outcome
		into          leftover // unpooled: no other check uses it
	}{
		"clean for any":              {left: nothingLeft, allowed: nothingOpen, into: nothingLeft},
		"illegal for any":            {left: nothingLeft, allowed: nothingOpen, events: illegal, into: nothingOpen},
		"illegal for the hardy":      {left: nothingLeft, allowed: anythingLeft, events: illegal, into: anythingLeft},
		"illegal, and skipped":       {left: nothingLeft, allowed: anythingLeft, events: illegal, outcome: Outcome{Ending: Skipped}, into: unpooled},
		"clean for the hardy":        {left: nothingLeft, allowed: anythingLeft, into: nothingLeft},
		"asked, with no answer":      {left: anythingLeft, allowed: anythingLeft, events: asking, into: unpooled},
		"in doubt":                   {left: nothingLeft, allowed: anythingLeft, outcome: Outcome{Ending: Failed, Doubtful: true}, into: unpooled},
		"not clean before":           {left: nothingOpen, allowed: nothingOpen, into: nothingOpen},
		"with tasks":                 {left: nothingLeft, allowed: tasksLeft, into: tasksLeft},
		"with tasks and illegal":     {left: tasksLeft, allowed: tasksLeft, events: illegal, into: tasksLeft},
		"of its own, whatever comes": {left: unpooled, allowed: unpooled, into: unpooled},
	} {
		environment := environment(t, protocol.HTTP)
		environment.Target.URL, environment.Target.Transport = "http://127.0.0.1:1", protocol.HTTP
		server, err := dial(environment)
		if err != nil {
			t.Fatal(err)
		}
		server.leftBehind, server.mayLeave = test.left, test.allowed

		kept := environment.keep(server, test.events, test.outcome)

		if kept != (test.into != unpooled) {
			t.Errorf("%s: kept: %t", name, kept)
		}
		for _, pool := range []leftover{nothingLeft, nothingOpen, tasksLeft, anythingLeft} {
			if environment.take("of a client that declares something else", pool) != nil {
				t.Errorf("%s: pool %d gives a session of another client", name, pool)
			}
			if got := environment.take("", pool); (got != nil) != (pool == test.into) {
				t.Errorf("%s: pool %d gives %v", name, pool, got)
			}
		}
	}
}
