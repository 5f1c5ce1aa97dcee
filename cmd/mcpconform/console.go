package main

import (
	"io"

	"github.com/mcpconform/mcpconform/internal/program"
)

// stdout is where everything is printed, but for the annotations of GitHub, which are commands.
func stdout() io.Writer { return program.Stdout() }

// stderr is where errors and progress are shown.
func stderr() io.Writer { return program.Stderr() }
