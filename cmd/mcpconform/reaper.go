package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reports"
)

// reaperCommand is the hidden subcommand that ends what a run leaves that is killed.
const reaperCommand = "reaper"

func newReaper() *cobra.Command {
	return &cobra.Command{
		Use:    reaperCommand,
		Hidden: true,
		Args:   noArguments,
		Run: func(*cobra.Command, []string) {
			if left := target.Reap(os.Stdin); len(left) > 0 {
				_, _ = fmt.Fprintln(stderr(), reports.Visible(notEnded(left)))
			}
		},
	}
}

// notEnded says what of a run could not be ended.
func notEnded(left []string) string {
	const most = 8
	text := fmt.Sprintf("mcpconform: %d processes that the target has started could not be ended", len(left))
	if len(left) == 1 {
		text = "mcpconform: a process that the target has started could not be ended"
	}
	if len(left) > most {
		left = append(left[:most:most], "…")
	}
	return text + "; end them yourself: " + strings.Join(left, ", ")
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
