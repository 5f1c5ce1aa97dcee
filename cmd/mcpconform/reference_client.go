package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/browser"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/selftest"
	"github.com/mcpconform/mcpconform/reference/client"
)

// referenceClientFlags say how the reference client runs.
type referenceClientFlags struct {
	verbose                   bool
	revision, only, transport string
	inject                    injectFlags
}

func newReferenceClient() *cobra.Command {
	f := &referenceClientFlags{}
	command := &cobra.Command{
		Use:   "client [flags] (URL | -- COMMAND ARG...)",
		Short: "Run the reference client against a server",
		Long: `Run the reference client against the server at a URL or, over stdio, the one that
a command starts. It does the steps of ` + scenario.StepsVariable + `, as docs/clients.md describes
them, and reports each on standard output, one JSON object a line. Without steps
it connects, lists what the server offers, and disconnects.`,
		Example: `  mcpconform reference client http://127.0.0.1:3000/mcp
  mcpconform reference client --transport sse http://127.0.0.1:3000/sse
  mcpconform reference client --revision 2025-06-18 -v -- ./my-server --stdio`,
		RunE: func(command *cobra.Command, arguments []string) error { return f.run(command, arguments) },
	}
	flags := command.Flags()
	flags.SetInterspersed(false) // those of the server are its own
	flags.StringVar(
		&f.revision,
		"revision",
		"",
		"ask for `R`; default: that of "+scenario.RevisionVariable+", or the newest",
	)
	flags.StringVar(
		&f.transport,
		"transport",
		"",
		"reach the URL over `T`, http or sse; default: that of "+scenario.TransportVariable+", or http",
	)
	flags.StringVar(&f.only, "only", "", "speak only `R`, whatever a step asks for; default: all revisions")
	f.inject.add(flags)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log to standard error")
	completes(
		command,
		map[string]values{
			"revision":  oneOf(protocol.Released()...),
			"only":      oneOf(protocol.Released()...),
			"transport": oneOf(protocol.HTTP, protocol.SSE),
			"fault":     faultIDs(protocol.ClientRole),
		},
	)
	return command
}

func (f *referenceClientFlags) run(command *cobra.Command, arguments []string) error {
	options, err := f.options(arguments, command.OutOrStdout())
	if err != nil {
		return err
	}
	injection, err := f.inject.injection(protocol.ClientRole, client.Defects()...)
	if err != nil {
		return err
	}
	if _, err := defectOf(injection, client.Defects()); err != nil {
		return err
	}
	options, stop, err := selftest.Spoil(options, injection)
	if err != nil {
		return err
	}
	defer stop()
	err = client.Run(command.Context(), options)
	if steps, wrong := errors.AsType[*client.StepsError](err); wrong {
		return usageError("%s: %s", scenario.StepsVariable, steps)
	}
	if err != nil {
		return &exitError{status: exitDoesNot, message: err.Error()}
	}
	return nil
}

func (f *referenceClientFlags) options(arguments []string, report io.Writer) (client.Options, error) {
	options := client.Options{
		Steps:  []byte(os.Getenv(scenario.StepsVariable)),
		Report: report,
		Authorization: selftest.AuthorizationOf(
			[]byte(os.Getenv(scenario.ContextVariable)),
			os.Getenv(browser.Variable),
		),
	}
	switch {
	case len(arguments) == 0:
		return options, usageError("reference client needs the URL of a server, or -- and the command that starts one")
	case len(arguments) == 1 && strings.Contains(arguments[0], "://"):
		options.URL = arguments[0]
		if err := checkURL("reference client", options.URL); err != nil {
			return options, err
		}
	default:
		options.Command = arguments
	}
	switch overURL := []string{protocol.HTTP, protocol.SSE}; {
	case f.transport == "":
		options.SSE = options.URL != "" && os.Getenv(scenario.TransportVariable) == protocol.SSE
	case !slices.Contains(overURL, f.transport):
		return options, usageError("--transport %q is unknown%s", f.transport, nearest.Hint(f.transport, overURL))
	case options.URL == "":
		return options, usageError("--transport %s needs the URL of a server", f.transport)
	default:
		options.SSE = f.transport == protocol.SSE
	}
	if f.verbose {
		options.Log = stderr()
	}
	options.Revision, options.Only = f.revision, f.only
	if f.revision == "" {
		options.Revision = os.Getenv(scenario.RevisionVariable)
	}
	for _, named := range []string{options.Revision, options.Only} {
		if named != "" && !slices.Contains(client.Revisions(), named) {
			return options, usageError("the revision %q is unknown%s", named, nearest.Hint(named, client.Revisions()))
		}
	}
	return options, nil
}
