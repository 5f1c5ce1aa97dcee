package scope

import (
	"maps"
	"testing"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestWhatIsLateShows(t *testing.T) {
	t.Parallel()
	pace := Pace{"ping": time.Second, "tools/list": 2 * time.Second, Starting: 5 * time.Second, "tools/call slow": time.Minute, "resources/read": time.Minute}
	for name, test := range map[string]struct {
		pace  Pace
		late  Late
		shows bool
	}{
		"far later than the same":                  {pace, Late{For: "ping", Waited: 10 * time.Second}, true},
		"little later than the same":               {pace, Late{For: "ping", Waited: 9 * time.Second}, false},
		"far later, while the machine was busy":    {pace, Late{For: "ping", Waited: 10 * time.Second, Behind: 6 * time.Second}, false},
		"far later than any answer":                {pace, Late{For: "logging/setLevel", Waited: 20 * time.Second}, true},
		"little later than any answer":             {pace, Late{For: "logging/setLevel", Waited: 19 * time.Second}, false},
		"what nothing asks for":                    {pace, Late{Waited: 20 * time.Second}, true},
		"a start":                                  {pace, Late{For: Starting, Waited: 49 * time.Second}, false},
		"a call as long as a slow one":             {pace, Late{For: "tools/call slow", Waited: time.Minute}, false},
		"a call that is nothing like a slow one":   {pace, Late{For: "tools/call fast", Waited: 20 * time.Second}, true},
		"where nothing came but the first":         {Pace{Starting: time.Second}, Late{For: "ping", Waited: 10 * time.Second}, true},
		"little later, where nothing but that did": {Pace{Starting: 2 * time.Second}, Late{For: "ping", Waited: 10 * time.Second}, false},
		"where nothing ever came":                  {nil, Late{For: "ping", Waited: time.Hour}, false},
	} {
		if test.pace.Shows(test.late) != test.shows {
			t.Errorf("%s: it shows something: %v", name, !test.shows)
		}
	}
}

// The pace of a target is that of the transcripts.
func TestPaceOfAConversation(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	var events []transcript.Event
	say := func(from protocol.Party, after time.Duration, text string) {
		at = at.Add(after)
		events = append(events, transcript.Event{Sequence: len(events), At: at, From: from, Kind: transcript.Message, Raw: []byte(text)})
	}
	say(protocol.Client, 0, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	say(protocol.Server, 3*time.Second, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	say(protocol.Client, time.Minute, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	say(protocol.Client, 0, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}`)
	say(protocol.Server, time.Second, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	say(protocol.Server, time.Second, `{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":""}}`)
	for cell, wanted := range map[Cell]Pace{
		{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.Stdio}: {
			Starting: 3 * time.Second, "ping": time.Second, "tools/call slow": 2 * time.Second,
		},
		{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.HTTP}: {
			"initialize": 3 * time.Second, "ping": time.Second, "tools/call slow": 2 * time.Second,
		},
		{Role: protocol.ClientRole, Revision: "2025-11-25", Transport: protocol.Stdio}: {GoingOn: time.Minute},
	} {
		if pace := PaceOf(rules.NewConversation(cell, events, true)); !maps.Equal(pace, wanted) {
			t.Errorf("%s: %v, wanted %v", cell.Name(), pace, wanted)
		}
	}
}
