//go:build !unix

package main

import (
	"os"

	"github.com/mcpconform/mcpconform/internal/program"
)

// passedOn are the signals that a proxy passes on to the server that it stands before.
func passedOn() []os.Signal { return program.Ending() }

// dieBy does nothing: this system has no signals.
func dieBy(string) {}
