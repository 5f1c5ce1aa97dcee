// Package scopetest makes what tests of checks need: a scope with a catalogue of its own, and
// transcripts.
package scopetest

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

const requirements = `- id: ping.answered
  obliges: both
  level: MUST
  says: A ping is answered.
  since: 2024-11-05
  at: basic/utilities/ping
  covers: ["00000001"]
  observed: wire
- id: ping.later
  obliges: server
  level: {2025-06-18: SHOULD, 2025-11-25: MUST}
  says: Something new.
  since: 2025-06-18
  at: basic/utilities/ping
  covers: ["00000002"]
  observed: wire
- id: ping.gone
  obliges: server
  level: MAY
  says: Something old.
  since: 2024-11-05
  until: 2025-03-26
  at: basic/utilities/ping
  covers: ["00000003"]
  observed: wire
- id: ping.status
  obliges: server
  level: MUST NOT
  says: Something about HTTP.
  since: 2024-11-05
  at: basic/utilities/ping
  covers: ["00000004"]
  observed: wire
  transports: [http, sse]
`

// New makes a scope at 2025-06-18, with requirements of ping.
func New(t *testing.T, role, transport string) *scope.Scope {
	t.Helper()
	known, err := catalogue.Load(fstest.MapFS{"utilities/ping/requirements.yaml": {Data: []byte(requirements)}})
	if err != nil {
		t.Fatal(err)
	}
	return &scope.Scope{
		Cell:      check.Cell{Role: role, Revision: "2025-06-18", Transport: transport},
		Process:   scope.NewProcess(""),
		Target:    scripted.Target{Reply: 20 * time.Second},
		Catalogue: known,
	}
}

// Server makes the scope of a server that declares tools and their changes.
func Server(t *testing.T, transport string) *scope.Scope {
	t.Helper()
	made := New(t, protocol.ServerRole, transport)
	made.Survey = &survey.Survey{Capabilities: map[string]any{"tools": map[string]any{"listChanged": true}}}
	return made
}

// Said makes a transcript of messages: those of the client begin with >, those
// of the server with <. Each comes a millisecond behind the one before.
func Said(messages ...string) []transcript.Event {
	var events []transcript.Event
	for number, message := range messages {
		from := protocol.Client
		if message[0] == '<' {
			from = protocol.Server
		}
		events = append(
			events,
			transcript.Event{
				Sequence: number, At: time.UnixMilli(int64(number)),
				Kind: transcript.Message, From: from, Raw: []byte(message[1:]),
			},
		)
	}
	return events
}
