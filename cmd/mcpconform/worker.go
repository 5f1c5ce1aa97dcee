package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/runner"
)

// newWorker is what a run starts of itself; see the package runner.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    runner.WorkerCommand,
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			return runner.Work(os.Stdin, os.Stdout)
		},
	}
}
