package main

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/early"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/plan"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpconform",
		Short: "Check whether an MCP implementation keeps the specification",
		Long: `mcpconform checks whether an implementation of the Model Context Protocol
keeps the specification, and says where exactly it does not.

Exit status: 0 conforms, 1 does not, or the run ended early, 2 wrong usage or
config, 3 the target could not be started or reached, 4 the harness itself failed.

A signal (SIGINT, SIGTERM, SIGHUP) or the deadline ends a run within five seconds,
with its reports and status 1. A second signal ends it at once, without reports.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		PersistentPreRunE: func(command *cobra.Command, _ []string) error {
			if err := positiveNumbers(command.Flags()); err != nil || !usesChecks(command) {
				return err
			}
			return plan.Sound(fault.Broken(fixtures.Wire))
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetVersionTemplate(early.VersionText())
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newServer(),
		newInit(),
		newAuthServer(),
		newClient(),
		newAuthorizationServer(),
		newServe(),
		newProxy(),
		newCheck(),
		newReplay(),
		newContract(),
		newList(),
		newRequirements(),
		newExplain(),
		newTrace(),
		newRevision(),
		newReference(),
		newSelftest(),
		newMerge(),
		newBaseline(),
		newDiff(),
		newMatrix(),
		newReport(),
		newVersion(),
		newWorker(),
		newSelftestWorker(),
		newMiddleman(),
		newBrowser(),
		newManual(),
	)
	return root
}

func execute(ctx context.Context, arguments []string) error {
	root := newRoot()
	root.SetArgs(arguments)
	root.SetOut(stdout())
	root.SetErr(stderr())
	return root.ExecuteContext(ctx)
}

// usesChecks tells whether a command is about the checks and rules of the harness.
func usesChecks(command *cobra.Command) bool {
	return command.HasParent() && !command.Parent().HasParent() && slices.Contains([]string{
		"server", "client", "authorization-server", "serve", "check", "list", "explain", "trace", "selftest",
	}, command.Name())
}

// positiveNumbers makes sure of the numbers and durations that flags are given: none means
// anything where it is not positive, and who gives one does not mean the default.
func positiveNumbers(flags *pflag.FlagSet) error {
	var wrong error
	flags.Visit(func(flag *pflag.Flag) {
		hint := ""
		switch flag.Value.Type() {
		case "int":
			if number, _ := flags.GetInt(flag.Name); number > 0 {
				return
			}
		case "duration":
			if duration, _ := flags.GetDuration(flag.Name); duration > 0 {
				return
			}
			hint = ", such as 10s"
		default:
			return
		}
		if wrong == nil {
			wrong = usageError("--%s %s must be positive%s", flag.Name, flag.Value, hint)
		}
	})
	return wrong
}

// noArguments refuses arguments; for an unknown subcommand it names the nearest.
func noArguments(command *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	var names []string
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	if len(names) == 0 {
		return usageError(
			"%s takes no argument %q; mcpconform %s --help shows its flags",
			command.Name(),
			arguments[0],
			command.Name(),
		)
	}
	return usageError("unknown command %q%s", arguments[0], nearest.Hint(arguments[0], names))
}

var unknownFlag = regexp.MustCompile(`^unknown (?:flag: --|shorthand flag: ')([^' ]+)`)

// flagError turns an error about flags into wrong usage, with the nearest flag
// when there is none of the name.
func flagError(command *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	text := err.Error()
	if found := unknownFlag.FindStringSubmatch(text); found != nil {
		var flags []string
		command.Flags().VisitAll(func(flag *pflag.Flag) { flags = append(flags, "--"+flag.Name) })
		return usageError("unknown flag --%s%s", found[1], nearest.Hint("--"+found[1], flags))
	}
	return usageError("%s; mcpconform %s --help shows the flags", text, command.Name())
}
