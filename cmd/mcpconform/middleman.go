package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/target"
)

// newMiddleman stands between this process's standard streams and a server that it
// starts. A selftest over a real implementation starts it in the server's place.
func newMiddleman() *cobra.Command {
	inject := &references.Faults{}
	command := &cobra.Command{
		Use:    "middleman [--fault ID | --fault FILE#ID] -- COMMAND ARG...",
		Short:  "Inject a fault into the standard input and output of a server",
		Hidden: true,
		RunE: func(command *cobra.Command, arguments []string) error {
			if command.ArgsLenAtDash() != 0 || len(arguments) == 0 {
				return usageError("middleman needs -- and the command that starts the server")
			}
			injection, err := inject.Injection(protocol.ServerRole)
			if err != nil {
				return err
			}
			exit, err := record.ServeCommand(
				target.Command{Args: arguments},
				references.StandardStreams(),
				program.TakeSignals(program.Ending()),
				record.StdioOptions{Changes: injection.Changes()},
			)
			if err != nil {
				return &contact.TargetError{Reason: err.Error()}
			}
			return endLike(exit)
		},
	}
	inject.Add(command.Flags())
	return command
}

// endLike ends this process as another one ended.
func endLike(exit target.Exit) error {
	if exit.Signal != "" {
		dieBy(exit.Signal)
		return &exitError{Status: exitHarness, Message: "the server was " + exit.String()}
	}
	if exit.Code == 0 {
		return nil
	}
	return &exitError{Status: exit.Code}
}
