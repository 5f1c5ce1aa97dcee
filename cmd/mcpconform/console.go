package main

import (
	"io"
	"os"

	"github.com/mcpconform/mcpconform/reports"
)

// stdout is where everything is printed: what a target has said may stand in any of it. The
// annotations of GitHub alone pass it by, which are commands.
func stdout() io.Writer { return reports.NoCommands(os.Stdout) }

// stderr is where errors and progress are shown.
func stderr() io.Writer { return reports.NoCommands(os.Stderr) }
