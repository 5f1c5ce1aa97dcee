package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
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
	command.AddCommand(newReferenceServer(), newReferenceClient(), newReferenceAuthServer())
	return command
}

// referenceFlags say how the reference server runs.
type referenceFlags struct {
	stdio, verbose, attached  bool
	listen, revisions, issuer string
	inject                    injectFlags
}

func newReferenceServer() *cobra.Command {
	f := &referenceFlags{}
	command := &cobra.Command{
		Use:   "server [--stdio | --listen ADDR]",
		Short: "Run the reference server, over stdio or Streamable HTTP",
		Args:  noArguments,
		RunE:  func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	flags := command.Flags()
	flags.BoolVar(&f.stdio, "stdio", false, "speak over standard input and output")
	flags.StringVar(&f.listen, "listen", "", "serve Streamable HTTP at `ADDR`, HOST:PORT; port 0 picks a free one")
	flags.StringVar(&f.revisions, "revision", "", "speak only `R`[,R]; default: all revisions")
	flags.StringVar(&f.issuer, "auth", os.Getenv(issuerVariable),
		"require access tokens of the authorization server `ISSUER`, over HTTP only (default: $"+issuerVariable+")")
	f.inject.add(flags)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log to standard error")
	flags.BoolVar(&f.attached, runner.AttachedFlag, false, "end when standard input ends")
	_ = flags.MarkHidden(runner.AttachedFlag) // it stands there
	completes(command, map[string]values{"revision": lists(server.Revisions()), "fault": faultIDs(protocol.ServerRole)})
	return command
}

func (f *referenceFlags) run(command *cobra.Command) error {
	if f.stdio == (f.listen != "") {
		return usageError("reference server needs one of --stdio and --listen ADDR, such as --listen 127.0.0.1:8080")
	}
	if f.stdio && command.Flags().Changed("auth") {
		return usageError("--auth is for a server over HTTP: over stdio, credentials come from the environment")
	}
	injection, err := f.inject.injection(protocol.ServerRole)
	if err != nil {
		return err
	}
	reference, err := f.reference(injection)
	if err != nil {
		return err
	}
	if f.stdio {
		return serveStdio(command.Context(), reference, injection)
	}
	ctx := command.Context()
	if f.attached {
		ctx = untilInputEnds(ctx, os.Stdin)
	}
	return serveHTTP(ctx, command.OutOrStdout(), reference, f.listen, injection)
}

// reference makes the server, with the defect that a fault may name.
func (f *referenceFlags) reference(injection fault.Injection) (*server.Server, error) {
	options := server.Options{}
	if f.verbose {
		options.Log = stderr()
	}
	if f.revisions != "" {
		options.Revisions = strings.Split(f.revisions, ",")
		for _, revision := range options.Revisions {
			if !slices.Contains(server.Revisions(), revision) {
				return nil, usageError(
					"--revision %q is unknown%s",
					revision,
					nearest.Hint(revision, server.Revisions()),
				)
			}
		}
	}
	defect, err := defectOf(injection, server.Defects())
	if err != nil {
		return nil, err
	}
	options.Defect = defect
	if f.issuer != "" {
		if flaw := oauth.IssuerFlaw(f.issuer); flaw != "" {
			return nil, usageError("--auth %q %s", f.issuer, flaw)
		}
		options.Authorization = server.Scoped(f.issuer)
	}
	return server.New(options)
}

// serveStdio speaks over the standard streams of this process.
func serveStdio(ctx context.Context, reference *server.Server, injection fault.Injection) error {
	if injection.None() {
		return reference.ServeStdio(ctx, os.Stdin, os.Stdout)
	}
	err := record.ServeStdio(
		reference.ServeStdio,
		standardStreams(),
		takeSignals(ending()),
		record.StdioOptions{Changes: injection.Changes()},
	)
	return exitAsMade(err)
}

// exitAsMade gives this process the status with which a change makes it exit.
func exitAsMade(err error) error {
	if exit, made := errors.AsType[*record.ExitError](err); made {
		return &exitError{status: exit.Status}
	}
	return err
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
func serveHTTP(
	ctx context.Context,
	out io.Writer,
	reference *server.Server,
	address string,
	injection fault.Injection,
) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return usageError("--listen %q must be HOST:PORT, such as 127.0.0.1:8080", address)
	}
	listener, err := reference.Listen(ctx, address)
	if err != nil {
		return usageError("--listen %s: %s", address, err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	if host == "" {
		host = "127.0.0.1" // as the reference has it
	}
	if _, err := fmt.Fprintf(out, "listening on http://%s/mcp\n", net.JoinHostPort(host, port)); err != nil {
		return err
	}
	if injection.None() {
		return reference.Serve(ctx, listener)
	}
	return exitAsMade(record.ServeHTTP(ctx, listener, reference.Serve, injection.Changes()))
}
