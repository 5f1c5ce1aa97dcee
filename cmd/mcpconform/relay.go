package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// newRelay is the server that a client under test spawns over stdio: it says what
// the harness that started the client has it say.
func newRelay() *cobra.Command {
	return &cobra.Command{
		Use:    scenario.RelayCommand + " SOCKET",
		Short:  "Be the server that a client under test spawns",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			status, err := transport.Relay(
				command.Context(),
				arguments[0],
				os.Stdin,
				os.Stdout,
				os.Stderr,
				takeSignals(ending()),
			)
			if err != nil {
				return err
			}
			return exitWith(status)
		},
	}
}

// exitWith gives this process a status and nothing to say.
func exitWith(status int) error {
	if status == 0 {
		return nil
	}
	return &exitError{status: status}
}
