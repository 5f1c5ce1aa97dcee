package main

import (
	"errors"
	"os"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/selftest"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reports"
)

func newSelftest() *cobra.Command {
	s := &settings{role: protocol.ServerRole} // of a peer
	role, all := "", false
	command := &cobra.Command{
		Use:   "selftest [flags] [--peer URL | -- COMMAND ARG...]",
		Short: "Prove every check by faults that it must find",
		Long: `Selftest injects every fault into the traffic of the reference, one at a time, and
demands that exactly the checks and rules of the requirements that it breaks fail;
and every legal variation, under which no verdict may change. With another
server, given by --peer or a command, it shows which faults are caught there.`,
		Example: `  mcpconform selftest
  mcpconform selftest --filter lifecycle
  mcpconform selftest --role client
  mcpconform selftest --filter version-not-echoed -v
  mcpconform selftest --json matrix.json -- ./my-server`,
		RunE: func(command *cobra.Command, arguments []string) error {
			return s.selftest(command, arguments, role, all)
		},
	}
	flags := command.Flags()
	flags.StringVar(
		&s.URL,
		"peer",
		"",
		"inject the same into the traffic of the server at a `URL` instead of the reference",
	)
	flags.StringVar(
		&role,
		"role",
		"",
		"only checks of a `ROLE`: server, client or authorization-server; default: of all",
	)
	flags.StringVar(
		&s.Filter,
		"filter",
		"",
		"only what matches `EXPR`: the id of a fault, or of what it breaks "+filterHelp,
	)
	flags.StringVar(&s.shardText, "shard", "", shardHelp)
	flags.StringVar(&s.JSON, "json", "", "write the matrix of faults and checks as JSON to `FILE`")
	flags.BoolVar(
		&all,
		"all",
		false,
		"run all checks that a fault touches: of more than 100 faults, each runs a sample of those that have nothing to do with what it breaks",
	)
	flags.IntVar(
		&s.Workers,
		"workers",
		0,
		"how many faults at once (default eight times the processors, one for --peer)",
	)
	flags.DurationVar(
		&s.Timeout,
		"timeout",
		0,
		"how long one reply may take (default 1s, and longer where that makes a difference)",
	)
	flags.DurationVar(
		&s.Deadline,
		"deadline",
		0,
		"how long all of it may take; then it reports what was done (default "+inShort(selftest.DefaultDeadline)+")",
	)
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "show every fault and what it made fail")
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "show only what is wrong, and the conclusion")
	flags.BoolVar(&s.noColor, "no-color", false, "no colours (also: NO_COLOR in the environment)")
	completes(
		command,
		map[string]values{"role": oneOf(protocol.Roles()...), "filter": expressions(protocol.Roles()...)},
	)
	return command
}

func (s *settings) selftest(command *cobra.Command, arguments []string, role string, all bool) error {
	if err := s.completeSelftest(command, arguments, role); err != nil {
		return err
	}
	defer guard()()
	progress := s.progress("trial")
	found, err := selftest.Run(command.Context(), selftest.Options{
		Role:     role,
		Filter:   s.Filter,
		All:      all,
		Shard:    s.shard,
		Workers:  s.Workers,
		Timeout:  s.Timeout,
		Deadline: s.Deadline,
		Progress: progress,
		Peer:     selftest.Peer{URL: s.URL, Command: target.Command{Args: s.Command}},
		Tool:     reports.Tool{Name: "mcpconform", Version: version(), Go: goVersion()},
	})
	progress.Close()
	if wrong, declared := errors.AsType[*selftest.DeclarationError](err); declared {
		return usageError("%s", wrong)
	}
	if err != nil {
		return err
	}
	found.Command = append([]string{"mcpconform"}, os.Args[1:]...)
	return s.tellSelftest(reports.RedactAll(s.redactor(), found))
}

func (s *settings) completeSelftest(command *cobra.Command, arguments []string, role string) error {
	if err := s.separateCommand(command, arguments); err != nil {
		return err
	}
	if s.URL != "" {
		if err := program.CheckURL("--peer", s.URL); err != nil {
			return err
		}
		if len(s.Command) > 0 {
			return usageError("--peer and a command exclude each other: a server is reached by one of them")
		}
	}
	switch {
	case role != "" && !slices.Contains(protocol.Roles(), role):
		return usageError("--role %q is unknown%s", role, nearest.Hint(role, protocol.Roles()))
	case role != "" && role != protocol.ServerRole && (s.URL != "" || len(s.Command) > 0):
		return usageError("--role %s is for the reference: --peer and a command name servers", role)
	}
	for _, check := range []func() error{s.completeFilter, s.completeShard, s.completeBounds, s.completeOutputs, s.shardIsWritten} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// tellSelftest prints what was found and writes its file.
func (s *settings) tellSelftest(found *reports.Selftest) error {
	err := program.UnlessUnread(found.Terminal(stdout(), reports.TerminalOptions{
		Width: terminalWidth(os.Stdout), Color: s.color(), Verbose: s.verbose, Quiet: s.quiet,
	}))
	if s.JSON != "" {
		err = errors.Join(err, s.places[s.JSON].Write(found.Write))
	}
	if err != nil {
		return err
	}
	return exitOf(found.Interrupted, found.Errors, found.Holds())
}

// newSelftestWorker is what a selftest starts of itself.
func newSelftestWorker() *cobra.Command {
	return &cobra.Command{
		Use:    selftest.WorkerCommand,
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			debug.SetMemoryLimit(selftestMemory)
			return selftest.Work(os.Stdin, os.Stdout)
		},
	}
}

// selftestMemory is where a worker of a selftest begins to collect its garbage
// eagerly. Its targets are well-behaved, and it does much.
const selftestMemory = 128 << 20
