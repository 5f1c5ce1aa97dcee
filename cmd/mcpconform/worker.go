package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/worker"
)

// newWorker is what a run starts of itself; see the package worker.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    worker.Command,
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			return worker.Work(os.Stdin, os.Stdout)
		},
	}
}
