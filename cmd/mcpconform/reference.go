package main

import (
	"github.com/spf13/cobra"

	_ "github.com/mcpconform/mcpconform/internal/early/references" // serves before main
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/reference/server"
)

func newReference() *cobra.Command {
	command := &cobra.Command{
		Use:   "reference",
		Short: "Run the reference implementation",
		Args:  noArguments,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newReferenceServer(), newReferenceClient(), newReferenceAuthServer())
	return command
}

func newReferenceServer() *cobra.Command {
	f := &references.Server{}
	command := &cobra.Command{
		Use:   "server [--stdio | --listen ADDR]",
		Short: "Run the reference server, over stdio or Streamable HTTP",
		Args:  noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return f.Run(command.Context(), command.OutOrStdout())
		},
	}
	f.Add(command.Flags())
	completes(command, map[string]values{"revision": lists(server.Revisions()), "fault": faultIDs(protocol.ServerRole)})
	return command
}

func newReferenceClient() *cobra.Command {
	f := &references.Client{}
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
		RunE: func(command *cobra.Command, arguments []string) error {
			return f.Run(command.Context(), arguments, command.OutOrStdout())
		},
	}
	f.Add(command.Flags())
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
