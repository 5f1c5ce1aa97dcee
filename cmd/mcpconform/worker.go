package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/runner"
)

// processMemory is where a process of a run begins to collect its garbage
// eagerly: what one connection may keep and the program itself. A run and its
// workers then stay within 256 MiB together, whatever the target sends.
const processMemory = 40 << 20

// newWorker is what a run starts of itself; see the package runner.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    runner.WorkerCommand,
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			debug.SetMemoryLimit(processMemory)
			return runner.Work(os.Stdin, os.Stdout)
		},
	}
}
