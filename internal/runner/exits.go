package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// process is the end of a process of the target server.
type process struct {
	Early  bool   // before the harness asked it to end, or sent it something illegal
	How    string // "exited with status 1"
	After  string // the last request before that
	Output string // the end of its standard error
}

// processOf tells how the process of a target server ended that a connection had; nil where
// none did. What a target client starts is ours.
func processOf(role string, events []transcript.Event) *process {
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
		return &process{}
	}
	return &process{
		Early:  true,
		How:    events[at].Note,
		After:  evidence.LastRequest(events[:at]),
		Output: evidence.Stderr(events),
	}
}

// exits counts the processes of a target server, and keeps the first one that ended early.
type exits struct {
	processes, early int
	first            process
}

func (e *exits) add(one process) {
	e.processes++
	if !one.Early {
		return
	}
	if e.early++; e.early == 1 {
		e.first = one
	}
}

// notice says so in a line; "" where no process ended early.
func (e *exits) notice() string {
	if e.early == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d processes of the server ended by themselves, the first", e.early, e.processes)
	if e.first.After != "" {
		text += " after " + e.first.After
	}
	text += ": " + e.first.How
	if lines := strings.Split(strings.TrimSpace(e.first.Output), "\n"); lines[0] != "" {
		text += fmt.Sprintf("; its standard error ends with %q", strings.TrimSpace(lines[len(lines)-1]))
	}
	return text
}
