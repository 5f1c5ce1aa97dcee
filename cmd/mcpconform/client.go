package main

import (
	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

func newClient() *cobra.Command {
	s := &settings{role: protocol.ClientRole}
	command := &cobra.Command{
		Use:   "client [flags] [-- COMMAND ARG...]",
		Short: "Check a client (without a command: the embedded reference)",
		Long: `Check a client: it is started once for each scenario, with the URL of a scripted
server as its last argument, or in place of {url}. Over stdio it is given the
command of a server to spawn, in place of {server}, or as its last arguments with
--transport stdio. With --transport sse the URL is that of a stream of HTTP with SSE.
MCPCONFORM_STEPS names the steps to do.`,
		Example: `  mcpconform client
  mcpconform client -- ./my-client
  mcpconform client --transport stdio -- ./my-client --spawn {server}
  mcpconform client --transport sse --revision 2024-11-05 -- ./my-client
  mcpconform client --filter 'lifecycle && MUST' -v -- node client.js`,
		RunE: func(command *cobra.Command, arguments []string) error {
			return s.run(command, arguments)
		},
	}
	s.addFlags(command.Flags())
	s.completesRun(command)
	return command
}
