package references

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/reference/server"
)

// IssuerVariable tells a server which authorization server to trust.
const IssuerVariable = "MCPCONFORM_AUTH_ISSUER"

// AttachedFlag makes a reference over HTTP end with its standard input,
// so that it does not outlive a run that is killed.
const AttachedFlag = "attached"

// Server says how the reference server runs.
type Server struct {
	stdio, verbose, attached  bool
	listen, revisions, issuer string
	faults                    Faults
	flags                     *pflag.FlagSet
}

// Add adds the flags.
func (f *Server) Add(flags *pflag.FlagSet) {
	f.flags = flags
	flags.BoolVar(&f.stdio, "stdio", false, "speak over standard input and output")
	flags.StringVar(&f.listen, "listen", "", "serve Streamable HTTP at `ADDR`, HOST:PORT; port 0 picks a free one")
	flags.StringVar(&f.revisions, "revision", "", "speak only `R`[,R]; default: all revisions")
	flags.StringVar(&f.issuer, "auth", os.Getenv(IssuerVariable),
		"require access tokens of the authorization server `ISSUER`, over HTTP only (default: $"+IssuerVariable+")")
	f.faults.Add(flags)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log to standard error")
	flags.BoolVar(&f.attached, AttachedFlag, false, "end when standard input ends")
	_ = flags.MarkHidden(AttachedFlag) // it stands there
}

// Run serves until the context ends, or the standard input where this process is attached to it.
func (f *Server) Run(ctx context.Context, out io.Writer) error {
	if f.stdio == (f.listen != "") {
		return program.UsageError(
			"reference server needs one of --stdio and --listen ADDR, such as --listen 127.0.0.1:8080",
		)
	}
	if f.stdio && f.flags.Changed("auth") {
		return program.UsageError("--auth is for a server over HTTP: over stdio, credentials come from the environment")
	}
	injection, err := f.faults.Injection(protocol.ServerRole)
	if err != nil {
		return err
	}
	reference, err := f.reference(injection)
	if err != nil {
		return err
	}
	if f.stdio {
		return serveStdio(ctx, reference, injection)
	}
	if f.attached {
		ctx = UntilInputEnds(ctx, os.Stdin)
	}
	return serveHTTP(ctx, out, reference, f.listen, injection)
}

// reference makes the server, with the defect that a fault may name.
func (f *Server) reference(injection fault.Injection) (*server.Server, error) {
	options := server.Options{}
	if f.verbose {
		options.Log = program.Stderr()
	}
	if f.revisions != "" {
		options.Revisions = strings.Split(f.revisions, ",")
		for _, revision := range options.Revisions {
			if !slices.Contains(server.Revisions(), revision) {
				return nil, program.UsageError(
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
			return nil, program.UsageError("--auth %q %s", f.issuer, flaw)
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
	signals := program.TakeSignals(program.Ending())
	// Signals are the target's, and end no context here.
	return ServeStdio(context.WithoutCancel(ctx), reference, injection, record.StandardStreams(), signals)
}

// ServeStdio has a reference serve a peer over stdio, with what is injected into that. The error
// has the status of the process, where a change makes it exit.
func ServeStdio(
	ctx context.Context,
	reference *server.Server,
	injection fault.Injection,
	peer record.Peer,
	signals <-chan os.Signal,
) error {
	options := record.StdioOptions{Changes: injection.Changes()}
	return exitAsMade(record.ServeStdio(ctx, reference.ServeStdio, peer, signals, options))
}

// exitAsMade gives this process the status with which a change makes it exit.
func exitAsMade(err error) error {
	if exit, made := errors.AsType[*record.ExitError](err); made {
		return &program.Error{Status: exit.Status}
	}
	return err
}

// UntilInputEnds returns a context that also ends with the input: its other end
// is held by the process that started this one, and goes with it.
func UntilInputEnds(ctx context.Context, input io.Reader) context.Context {
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
		return program.UsageError("--listen %q must be HOST:PORT, such as 127.0.0.1:8080", address)
	}
	listener, err := reference.Listen(ctx, address)
	if err != nil {
		return program.UsageError("--listen %s: %s", address, err)
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
