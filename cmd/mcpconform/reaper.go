package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/target"
)

// reaperCommand is the hidden subcommand that ends what a run leaves that is killed.
const reaperCommand = "reaper"

func newReaper() *cobra.Command {
	return &cobra.Command{
		Use:    reaperCommand,
		Hidden: true,
		Args:   noArguments,
		Run:    func(*cobra.Command, []string) { target.Reap(os.Stdin) },
	}
}

// guard lets nothing that is started outlive this process, where the system can do
// that also when it is killed.
func guard() (release func()) {
	nothing := func() {}
	self, err := os.Executable()
	if err != nil {
		return nothing
	}
	release, err = target.Guard([]string{self, reaperCommand})
	if err != nil {
		return nothing // everything but that works without
	}
	return release
}
