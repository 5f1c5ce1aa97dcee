package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/internal/runner"
)

// addServer adds the flags that say how a server is reached.
func (s *settings) addServer(flags *pflag.FlagSet) {
	flags.StringVar(&s.URL, "url", "", "the server's MCP `URL`, for Streamable HTTP")
	flags.StringVar(&s.Transport, "transport", "", "stdio, http or sse; default: what the target allows")
	flags.StringArrayVar(&s.header, "header", nil, "`\"NAME: VALUE\"` sent with every HTTP request; may be repeated")
	flags.StringArrayVar(&s.env, "env", nil, "`NAME=VALUE` in the environment of the server; may be repeated")
	flags.StringVar(&s.start, "start", "", "`COMMAND` that starts the server at --url, split at spaces")
	flags.StringVar(
		&s.configFile,
		"config",
		"",
		"config `FILE` that names the server (default mcpconform.yaml, if there is one)",
	)
	flags.DurationVar(&s.Timeout, "timeout", 0, "how long one reply may take (default 5s)")
	flags.DurationVar(
		&s.Deadline,
		"deadline",
		0,
		"how long all of it may take (default "+inShort(runner.DefaultDeadline)+")",
	)
}

// separate takes the command from the arguments; the others are files.
func (s *settings) separate(command *cobra.Command, arguments []string) (paths []string, err error) {
	dash := command.ArgsLenAtDash()
	switch {
	case dash < 0:
		return arguments, nil
	case len(arguments) == dash:
		return nil, usageError("no command after --; name the command that starts the server")
	}
	s.Command, s.commandGiven = arguments[dash:], true
	return arguments[:dash], nil
}

// completeServer reads the config, and makes sure that one server is named.
func (s *settings) completeServer(command *cobra.Command, name string) error {
	if err := s.readConfig(command); err != nil {
		return err
	}
	switch {
	case s.URL != "" && len(s.Command) > 0:
		return usageError("--url and a command exclude each other: a server is reached by one of them")
	case s.URL == "" && len(s.Command) == 0:
		return usageError("%s needs a server: --url URL, or the command that starts it after --", name)
	}
	return nil
}
