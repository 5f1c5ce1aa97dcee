package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/selftest"
	"github.com/mcpconform/mcpconform/internal/target"
)

// newMiddleman stands between this process's standard streams and a server that it
// starts. A selftest over a real implementation starts it in the server's place.
func newMiddleman() *cobra.Command {
	inject := &references.Faults{}
	var watch, matched string // files
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
			if watch != "" {
				text, err := os.ReadFile(watch)
				if err == nil {
					injection.Watched, err = fault.Parse(watch, text)
				}
				if err != nil {
					return usageError("--%s: %s", selftest.WatchFlag, err)
				}
			}
			if matched != "" {
				injection.Matched = selftest.Tell(matched)
			}
			exit, err := record.ServeCommand(
				target.Command{Args: arguments},
				record.StandardStreams(),
				program.TakeSignals(program.Ending()),
				record.StdioOptions{Changes: injection.Changes()},
			)
			if err != nil {
				return &contact.TargetError{Reason: err.Error()}
			}
			return endLike(exit)
		},
	}
	flags := command.Flags()
	inject.Add(flags)
	flags.StringVar(&watch, selftest.WatchFlag, "", "only look for the faults of a `FILE`")
	flags.StringVar(&matched, selftest.MatchedFlag, "", "append the ids of those that matched to a `FILE`")
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
