package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/reference/server"
)

func newReference() *cobra.Command {
	command := &cobra.Command{
		Use:   "reference",
		Short: "Run the reference implementation",
		Args:  noArguments,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newReferenceServer())
	return command
}

func newReferenceServer() *cobra.Command {
	var stdio, verbose, attached bool
	var listen, revisions string
	command := &cobra.Command{
		Use:   "server [--stdio | --listen ADDR]",
		Short: "Run the reference server, over stdio or Streamable HTTP",
		Args:  noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if stdio == (listen != "") {
				return usageError("reference server needs one of --stdio and --listen ADDR, such as --listen 127.0.0.1:8080")
			}
			options := server.Options{}
			if verbose {
				options.Log = os.Stderr
			}
			if revisions != "" {
				options.Revisions = strings.Split(revisions, ",")
				for _, revision := range options.Revisions {
					if !slices.Contains(server.Revisions(), revision) {
						return usageError("--revision %q is unknown%s", revision, nearest.Hint(revision, server.Revisions()))
					}
				}
			}
			reference, err := server.New(options)
			if err != nil {
				return err
			}
			if stdio {
				return reference.ServeStdio(command.Context(), os.Stdin, os.Stdout)
			}
			ctx := command.Context()
			if attached {
				ctx = untilInputEnds(ctx, os.Stdin)
			}
			return serveHTTP(ctx, command.OutOrStdout(), reference, listen)
		},
	}
	command.Flags().BoolVar(&stdio, "stdio", false, "speak over standard input and output")
	command.Flags().StringVar(&listen, "listen", "", "serve Streamable HTTP at `ADDR`, HOST:PORT; port 0 takes a free one")
	command.Flags().StringVar(&revisions, "revision", "", "speak only `R`[,R]; default: all that it knows")
	command.Flags().BoolVarP(&verbose, "verbose", "v", false, "log to standard error")
	command.Flags().BoolVar(&attached, runner.AttachedFlag, false, "end when standard input ends")
	_ = command.Flags().MarkHidden(runner.AttachedFlag) // it stands there
	return command
}

// untilInputEnds returns a context that also ends with the input: its other end
// is held by the process that started this one, and goes with it.
func untilInputEnds(ctx context.Context, input io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, input) // an error is an end, too
		cancel()
	}()
	return ctx
}

// serveHTTP says where it listens on the first line of standard output, so
// that a program that took a free port can read it.
func serveHTTP(ctx context.Context, out io.Writer, reference *server.Server, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return usageError("--listen %q must be HOST:PORT, such as 127.0.0.1:8080", address)
	}
	if host == "" {
		host = "127.0.0.1" // never to the network by accident
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return usageError("--listen %s: %s", address, err)
	}
	if _, err := fmt.Fprintf(out, "listening on http://%s/mcp\n", listener.Addr()); err != nil {
		return err
	}
	return reference.Serve(ctx, listener)
}
