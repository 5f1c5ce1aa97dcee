package main

import (
	"cmp"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/selftest"
	"github.com/mcpconform/mcpconform/internal/target"
)

// newMiddleman stands between this process's standard streams and a server that it
// starts. A selftest over a real implementation starts it in the server's place.
func newMiddleman() *cobra.Command {
	inject := &injectFlags{}
	command := &cobra.Command{
		Use:    "middleman [--fault ID | --fault FILE#ID] -- COMMAND ARG...",
		Short:  "Inject a fault into the standard input and output of a server",
		Hidden: true,
		RunE: func(command *cobra.Command, arguments []string) error {
			if command.ArgsLenAtDash() != 0 || len(arguments) == 0 {
				return usageError("middleman needs -- and the command that starts the server")
			}
			injection, err := inject.injection(protocol.ServerRole)
			if err != nil {
				return err
			}
			exit, err := record.ServeCommand(
				target.Command{Args: arguments},
				standardStreams(),
				takeSignals(ending()),
				record.StdioOptions{Changes: injection.Changes()},
			)
			if err != nil {
				return &contact.TargetError{Reason: err.Error()}
			}
			return endLike(exit)
		},
	}
	inject.add(command.Flags())
	return command
}

// standardStreams are those of this process.
func standardStreams() record.Peer { return record.Peer{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }

// ending are the signals that end a process.
func ending() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// takeSignals takes over some signals.
func takeSignals(taken []os.Signal) <-chan os.Signal {
	signals := make(chan os.Signal, len(taken))
	signal.Reset(taken...) // from main, which would end this process
	signal.Notify(signals, taken...)
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

// injectFlags say what is injected into traffic.
type injectFlags struct {
	faults         []string
	name           string // of the flag that has them; --fault when empty
	watch, matched string
}

func (f *injectFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(
		&f.faults,
		"fault",
		nil,
		"with the fault or variation `ID` of the fixtures, or one of a file by FILE#ID; may be given several times",
	)
	flags.StringVar(&f.watch, selftest.WatchFlag, "", "only look for the faults of a `FILE`")
	flags.StringVar(&f.matched, selftest.MatchedFlag, "", "append the ids of those that matched to a `FILE`")
	for _, hidden := range []string{selftest.WatchFlag, selftest.MatchedFlag} {
		_ = flags.MarkHidden(hidden) // it stands there
	}
}

// injection is what is injected into the traffic of a target that plays a role. Defects of the
// reference may be given by their names.
func (f *injectFlags) injection(role string, defects ...string) (fault.Injection, error) {
	var injection fault.Injection
	flag := cmp.Or(f.name, "--fault")
	for _, name := range f.faults {
		if slices.Contains(defects, name) {
			injection.Faults = append(injection.Faults, &fault.Fault{ID: name, Role: role, Switch: name})
			continue
		}
		one, err := fault.Find(fixtures.Wire, name)
		if err != nil {
			return injection, usageError("%s %s: %s%s", flag, name, err, nearest.Hint(name, defects))
		}
		if plays := cmp.Or(one.Role, protocol.ServerRole); plays != role {
			return injection, usageError(
				"%s %s is one of a %s: give it to mcpconform reference %s",
				flag,
				name,
				plays,
				plays,
			)
		}
		if one.Into == fault.IntoRecording {
			return injection, usageError(
				"%s %s is injected into what was recorded of a client: run mcpconform selftest --role client --filter %s -v",
				flag,
				name,
				name,
			)
		}
		injection.Faults = append(injection.Faults, one)
	}
	if f.watch != "" {
		text, err := os.ReadFile(f.watch)
		if err == nil {
			injection.Watched, err = fault.Parse(f.watch, text)
		}
		if err != nil {
			return injection, usageError("--%s: %s", selftest.WatchFlag, err)
		}
	}
	if f.matched != "" {
		injection.Matched = selftest.Tell(f.matched)
	}
	return injection, nil
}

// defectOf is the defect of the reference that one of the faults names; "" for none.
func defectOf(injection fault.Injection, defects []string) (defect string, err error) {
	for _, one := range injection.Faults {
		switch {
		case one.Switch == "":
		case !slices.Contains(defects, one.Switch):
			return "", usageError(
				"%s:%d: the reference has no switch %q%s",
				one.File,
				one.Line,
				one.Switch,
				nearest.Hint(one.Switch, defects),
			)
		case defect != "":
			return "", usageError(
				"--fault %s: the reference can have one defect of its own at a time, and has %s",
				one.ID,
				defect,
			)
		default:
			defect = one.Switch
		}
	}
	return defect, nil
}
