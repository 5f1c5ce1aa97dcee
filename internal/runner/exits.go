package runner

import (
	"fmt"
	"strings"

	"github.com/mcpconform/mcpconform/internal/worker"
)

// exits counts the processes of a target server, and keeps the first one that ended early.
type exits struct {
	processes, early int
	first            worker.Exit
}

func (e *exits) add(one worker.Exit) {
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
