package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/target"
)

// newMiddleman stands between this process's standard streams and a server that it
// starts. A selftest over a real implementation starts it in the server's place.
func newMiddleman() *cobra.Command {
	var name string
	command := &cobra.Command{
		Use:    "middleman [--fault ID | --fault FILE#ID] -- COMMAND ARG...",
		Short:  "Lay a fault over the standard input and output of a server",
		Hidden: true,
		RunE: func(command *cobra.Command, arguments []string) error {
			if command.ArgsLenAtDash() != 0 || len(arguments) == 0 {
				return usageError("middleman needs -- and the command that starts the server")
			}
			laying, err := layingOf(name)
			if err != nil {
				return err
			}
			exit, err := fault.ServeCommand(target.Command{Args: arguments}, standardStreams(), takeSignals(),
				fault.StdioOptions{Laying: laying})
			if err != nil {
				return &runner.TargetError{Reason: err.Error()}
			}
			return endLike(exit)
		},
	}
	command.Flags().StringVar(&name, "fault", "", "lay the fault or variation `ID` over it, or one of a file by FILE#ID")
	return command
}

// standardStreams are those of this process.
func standardStreams() fault.Peer { return fault.Peer{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }

// takeSignals takes over the signals that end a process.
func takeSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	signal.Reset(ending...) // from main, which would end this process
	signal.Notify(signals, ending...)
	return signals
}

// endLike ends this process as another one ended.
func endLike(exit target.Exit) error {
	if exit.Signal != "" {
		dieBy(exit.Signal)
		return &exitError{status: exitHarness, message: "the server was " + exit.String()}
	}
	if exit.Code == 0 {
		return nil
	}
	return &exitError{status: exit.Code}
}

// layingOf lays the fault or variation that --fault names, if it names one.
func layingOf(name string) (fault.Laying, error) {
	if name == "" {
		return fault.Laying{}, nil
	}
	one, err := fault.Find(fixtures.Wire, name)
	if err != nil {
		return fault.Laying{}, usageError("--fault %s: %s", name, err)
	}
	return fault.Laying{Faults: []*fault.Fault{one}}, nil
}
