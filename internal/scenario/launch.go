package scenario

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/browser"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/relay"
	"github.com/mcpconform/mcpconform/internal/target"
)

// Where the URL of the scripted server, or the command that starts it, stands
// among the arguments of a client, when it is not to come last.
const (
	URLPlace    = "{url}"
	ServerPlace = "{server}"
)

// Variables that tell a client what to do, and over which transport. The last three are those
// of the official suite.
const (
	StepsVariable     = "MCPCONFORM_STEPS"
	TransportVariable = "MCPCONFORM_TRANSPORT"
	ScenarioVariable  = "MCP_CONFORMANCE_SCENARIO"
	ContextVariable   = "MCP_CONFORMANCE_CONTEXT"
	RevisionVariable  = "MCP_CONFORMANCE_PROTOCOL_VERSION"
)

// browsers are the programs by which clients open a URL.
var browsers = []string{"xdg-open", "sensible-browser", "x-www-browser", "www-browser"}

const (
	// maxOutput is how much of the standard output of a client is kept: what it
	// tells of its steps.
	maxOutput = 1 << 20
	// maxStderr is how much of the end of standard error is kept.
	maxStderr = 8 << 10
)

// leaveGrace is how a client is ended that does not end by itself.
func leaveGrace(transport string) target.Grace {
	grace := target.Grace{Terminate: time.Second}
	if transport == protocol.Stdio { // else standard input has no part in what it does
		grace.Input = 300 * time.Millisecond
	}
	return grace
}

// ByCommand starts a client by a command for each invocation. Patience ends when clients are to
// be ended at once.
func ByCommand(patience context.Context, command target.Command) Launch {
	return func(ctx context.Context, invocation Invocation) (Exit, error) {
		one := command
		server, err := serverOf(invocation)
		if err != nil {
			return Exit{}, err
		}
		one.Args = placed(command.Args, server)
		one.Env = append(slices.Clip(command.Env),
			StepsVariable+"="+string(invocation.Steps),
			TransportVariable+"="+invocation.Transport,
			ScenarioVariable+"="+invocation.Official,
			ContextVariable+"="+string(invocation.Context),
			RevisionVariable+"="+invocation.Revision)
		one.Last = invocation.Exited
		if invocation.Browser != "" {
			variables, remove, err := browse(invocation.Browser)
			if err != nil {
				return Exit{}, err
			}
			defer remove()
			one.Env = append(one.Env, variables...)
		}
		process, err := target.Start(one)
		if err != nil {
			return Exit{}, err
		}
		defer func() { _ = process.Close() }() // it is gone by then
		output := make(chan []byte, 1)
		go func() {
			reader := bufio.NewReader(process.Stdout)
			kept, _ := io.ReadAll(io.LimitReader(reader, maxOutput)) // it ends with the process
			output <- kept
			_, _ = io.Copy(io.Discard, reader)
		}()
		exit := Exit{}
		select {
		case <-process.Done():
		case <-ctx.Done():
			exit.Ended = true
		}
		ending, stuck := process.Shutdown(patience, leaveGrace(invocation.Transport))
		exit = endedAs(exit, ending, stuck)
		if stuck != nil {
			_ = process.Stdout.Close() // nothing more is read
		}
		exit.Output = <-output
		stderr, _ := process.Stderr()
		exit.Stderr = excerpt.End(stderr, maxStderr)
		return exit, nil
	}
}

// endedAs says how a client ended. One that cannot be ended, or of which it takes too long, has
// done what it did: it was started.
func endedAs(exit Exit, ending target.Ending, stuck error) Exit {
	if stuck != nil {
		exit.Ended, exit.Status = true, "could not be ended: "+stuck.Error()
		return exit
	}
	exit.Status, exit.Signal = ending.Exit.Past(), ending.Exit.Signal
	exit.Failed = !exit.Ended && ending.Exit != target.Exit{}
	return exit
}

// browse lets a client find this program where it looks for a browser, by variables of its
// environment. remove deletes the files that it takes.
func browse(tell string) (variables []string, remove func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	directory, err := os.MkdirTemp("", "mcpconform-browser-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(directory) }
	quoted := "'" + strings.ReplaceAll(self, "'", `'\''`) + "'"
	script := "#!/bin/sh\nexec " + quoted + " " + browser.Command + ` "$@"` + "\n"
	first := filepath.Join(directory, browsers[0])
	err = os.WriteFile(first, []byte(script), 0o700) //nolint:gosec // it is to be run
	for _, name := range browsers[1:] {
		err = errors.Join(err, os.Symlink(browsers[0], filepath.Join(directory, name)))
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return []string{
		browser.Variable + "=" + tell, "BROWSER=" + first,
		"PATH=" + directory + string(os.PathListSeparator) + os.Getenv("PATH"),
	}, remove, nil
}

// serverOf are the arguments that name the scripted server to a client.
func serverOf(invocation Invocation) ([]string, error) {
	if invocation.Socket == "" {
		return []string{invocation.URL}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{self, relay.Command, invocation.Socket}, nil
}

// placed puts the server where it belongs among the arguments: in the place that
// they have for it, or behind them. As a whole argument it is spliced in, in a
// longer one it is one text.
func placed(arguments, server []string) []string {
	var all []string
	found := false
	for _, argument := range arguments {
		for _, place := range []string{URLPlace, ServerPlace} {
			if argument == place || !strings.Contains(argument, place) {
				continue
			}
			found = true
			argument = strings.ReplaceAll(argument, place, strings.Join(server, " "))
		}
		if argument == URLPlace || argument == ServerPlace {
			found = true
			all = append(all, server...)
			continue
		}
		all = append(all, argument)
	}
	if !found {
		all = append(all, server...)
	}
	return all
}

// TakesServer tells whether a command has a place for the command of a server.
func TakesServer(arguments []string) bool {
	return slices.ContainsFunc(arguments, func(argument string) bool { return strings.Contains(argument, ServerPlace) })
}
