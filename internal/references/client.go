package references

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/internal/browser"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/reference/client"
)

// Client says how the reference client runs.
type Client struct {
	verbose                   bool
	revision, only, transport string
	faults                    Faults
}

// Add adds the flags. Those behind the first argument are of the server that it names.
func (f *Client) Add(flags *pflag.FlagSet) {
	flags.SetInterspersed(false)
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
	f.faults.Add(flags)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log to standard error")
}

// Run runs the client against the server that the arguments name.
func (f *Client) Run(ctx context.Context, arguments []string, out io.Writer) error {
	options, err := f.options(arguments, out)
	if err != nil {
		return err
	}
	injection, err := f.faults.Injection(protocol.ClientRole, client.Defects()...)
	if err != nil {
		return err
	}
	if _, err := defectOf(injection, client.Defects()); err != nil {
		return err
	}
	options, stop, err := Spoil(options, injection)
	if err != nil {
		return err
	}
	defer stop()
	err = client.Run(ctx, options)
	if steps, wrong := errors.AsType[*client.StepsError](err); wrong {
		return program.UsageError("%s: %s", scenario.StepsVariable, steps)
	}
	if err != nil {
		return &program.Error{Status: program.DoesNot, Message: err.Error()}
	}
	return nil
}

func (f *Client) options(arguments []string, report io.Writer) (client.Options, error) {
	options := client.Options{
		Steps:  []byte(os.Getenv(scenario.StepsVariable)),
		Report: report,
		Authorization: AuthorizationOf(
			[]byte(os.Getenv(scenario.ContextVariable)),
			os.Getenv(browser.Variable),
		),
	}
	switch {
	case len(arguments) == 0:
		return options, program.UsageError(
			"reference client needs the URL of a server, or -- and the command that starts one",
		)
	case len(arguments) == 1 && strings.Contains(arguments[0], "://"):
		options.URL = arguments[0]
		if err := program.CheckURL("reference client", options.URL); err != nil {
			return options, err
		}
	default:
		options.Command = arguments
	}
	switch overURL := []string{protocol.HTTP, protocol.SSE}; {
	case f.transport == "":
		options.SSE = options.URL != "" && os.Getenv(scenario.TransportVariable) == protocol.SSE
	case !slices.Contains(overURL, f.transport):
		return options, program.UsageError(
			"--transport %q is unknown%s",
			f.transport,
			nearest.Hint(f.transport, overURL),
		)
	case options.URL == "":
		return options, program.UsageError("--transport %s needs the URL of a server", f.transport)
	default:
		options.SSE = f.transport == protocol.SSE
	}
	if f.verbose {
		options.Log = program.Stderr()
	}
	options.Revision, options.Only = f.revision, f.only
	if f.revision == "" {
		options.Revision = os.Getenv(scenario.RevisionVariable)
	}
	for _, named := range []string{options.Revision, options.Only} {
		if named != "" && !slices.Contains(client.Revisions(), named) {
			return options, program.UsageError(
				"the revision %q is unknown%s",
				named,
				nearest.Hint(named, client.Revisions()),
			)
		}
	}
	return options, nil
}
