package main

import (
	"os"

	"github.com/mcpconform/mcpconform/internal/target"
)

// guard lets nothing that is started outlive this process, where the system can do
// that also when it is killed.
func guard() (release func()) {
	nothing := func() {}
	self, err := os.Executable()
	if err != nil {
		return nothing
	}
	release, err = target.Guard(self)
	if err != nil {
		return nothing // everything but that works without
	}
	return release
}
