package worker

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Exit is the end of a process of the target server.
type Exit struct {
	Early  bool   // before the harness asked it to end, or sent it something illegal
	How    string // "exited with status 1"
	After  string // the last request before that
	Output string // the end of its standard error
}

// ExitOf tells how the process of a target server ended that a connection had; nil where
// none did. What a target client starts is ours.
func ExitOf(role string, events []transcript.Event) *Exit {
	if role != protocol.ServerRole {
		return nil
	}
	at := slices.IndexFunc(events, func(event transcript.Event) bool {
		return event.Kind == transcript.Exit && event.From == protocol.Server
	})
	if at < 0 {
		return nil
	}
	asked := slices.ContainsFunc(events[:at], func(event transcript.Event) bool {
		return event.Kind == transcript.Signal || event.Deliberate != ""
	})
	killed := slices.ContainsFunc(events[at:], func(event transcript.Event) bool {
		return event.Incident == transcript.Signalled // told after what it brought
	})
	if asked || killed {
		return &Exit{}
	}
	return &Exit{
		Early:  true,
		How:    events[at].Note,
		After:  evidence.LastRequest(events[:at]),
		Output: evidence.Stderr(events),
	}
}
