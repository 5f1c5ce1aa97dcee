package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/tokens"
	"github.com/mcpconform/mcpconform/reference/authserver"
	"github.com/mcpconform/mcpconform/reference/server"
)

// anyAddress is where the test authorization server listens by default: on a free port.
const anyAddress = "127.0.0.1:0"

// tokenLife is how long the tokens are good: longer than a run may take.
const tokenLife = time.Hour

// testScopes are the scopes that the test authorization server issues.
func testScopes() []string {
	return []string{server.ReadScope, server.WriteScope, server.DeleteScope, server.AdminScope}
}

// authServer is a test authorization server that stands for the time of a run.
type authServer struct {
	*authserver.Server
	stop func()
}

// startAuthServer starts one at an address. A seed makes the same key each time.
func startAuthServer(ctx context.Context, address, seed string) (*authServer, error) {
	server, listener, err := listenAuthServer(ctx, "--auth-server", address, "",
		authserver.Options{Seed: seed, RSA: true, Scopes: testScopes(), Life: tokenLife})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(ctx, listener) // that it ends is all that matters
	}()
	return &authServer{Server: server, stop: func() {
		cancel()
		<-served
	}}, nil
}

// mint issues tokens of all kinds for a server, and says which of the tools of well-known
// servers take more scopes than others.
func (a *authServer) mint(resource string) (*offer.Access, error) {
	minted, err := tokens.Mint(a.Server, tokens.Order{
		Resource: resource, Scopes: testScopes(),
		Limited: []string{server.ReadScope},
		Needs:   []string{server.ReadScope, server.WriteScope, server.DeleteScope},
		Broader: []string{server.ReadScope, server.AdminScope},
	})
	return &offer.Access{Tokens: minted}, err
}

// environment tells a server which authorization server to trust. The first variables are
// those of the official suite and the SDKs.
func (a *authServer) environment(resource string) []string {
	port := ""
	if parsed, err := url.Parse(resource); err == nil {
		port = cmp.Or(parsed.Port(), map[string]string{"http": "80", "https": "443"}[parsed.Scheme])
	}
	issuer := a.Issuer()
	var variables []string
	for _, one := range [][2]string{
		{"MCP_CONFORMANCE_AUTH_SERVER_URL", issuer},
		{"PORT", port},
		{references.IssuerVariable, issuer},
		{"MCPCONFORM_AUTH_JWKS_URL", issuer + "/jwks"},
		{"MCPCONFORM_AUTH_INTROSPECTION_URL", issuer + "/introspect"},
		{"MCPCONFORM_AUTH_RESOURCE", resource},
		{"MCPCONFORM_AUTH_SCOPES", strings.Join(testScopes(), " ")},
	} {
		variables = append(variables, one[0]+"="+one[1])
	}
	return variables
}

// access is what the config gives to get into the server with.
func (s *settings) access() *offer.Access {
	if len(s.Auth.Tokens)+len(s.Auth.Scopes) == 0 {
		return nil
	}
	access := &offer.Access{Tokens: map[oauth.Kind]string{}}
	for name, token := range s.Auth.Tokens {
		access.Tokens[offer.ConfiguredTokens()[name]] = token
	}
	for _, one := range s.Auth.Scopes {
		access.Scoped = append(
			access.Scoped,
			offer.ScopedTool{Tool: one.Tool, Arguments: one.Arguments, Needs: one.Needs},
		)
	}
	return access
}

// completeAuth makes sure of the flags about authorization.
func (s *settings) completeAuth() error {
	switch {
	case (s.start != "" || len(s.Start) > 0) && s.URL == "":
		return usageError("--start needs --url: the endpoint of the server that the command starts")
	case s.authServer != "" && len(s.Command) > 0:
		return usageError(
			"--auth-server is for servers over HTTP: give --url, and --start for the command that starts it",
		)
	case s.start != "":
		s.Start = strings.Fields(s.start)
	}
	return nil
}

// prepareAuth starts what the run needs beside the target: the test authorization server,
// and a server that has to be told of it. stop ends both.
func (s *settings) prepareAuth(ctx context.Context, options *runner.Options) (stop func(), err error) {
	stops := []func(){}
	stop = func() {
		for _, one := range slices.Backward(stops) {
			one()
		}
	}
	var environment []string
	if s.authServer != "" {
		authority, err := startAuthServer(ctx, s.authServer, s.authSeed)
		if err != nil {
			return stop, err
		}
		stops = append(stops, authority.stop)
		options.Mint = func(resource string) (*offer.Access, error) {
			access, err := authority.mint(resource)
			if err == nil && s.URL == "" { // the embedded reference
				access.Scoped = []offer.ScopedTool{{
					Tool: server.ScopedTool, Needs: []string{server.WriteScope, server.DeleteScope},
				}}
			}
			return access, err
		}
		options.Trusted = authority.Issuer()
		if s.URL == "" {
			options.Transports = []string{protocol.HTTP} // over stdio there is no authorization
		}
		environment = authority.environment(s.URL)
	}
	if len(s.Start) > 0 {
		var stopServer func()
		options.Served, stopServer, err = startServer(ctx, s.Start, environment, s.URL)
		if err != nil {
			return stop, err
		}
		stops = append(stops, stopServer)
	}
	return stop, nil
}

const (
	// startTimeout is how long a server may take until it listens: a package runner may be
	// downloading it.
	startTimeout = time.Minute
	// startPause is between two attempts to reach it.
	startPause = 50 * time.Millisecond
)

// hurried is how a server is ended when the run was asked to end.
var hurried = target.Grace{Input: 300 * time.Millisecond, Terminate: 700 * time.Millisecond}

// startServer starts a server and waits until something listens at its URL.
func startServer(
	ctx context.Context,
	command, environment []string,
	address string,
) (process *target.Process, stop func(), err error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, nil, usageError("--url %q is not a URL", address)
	}
	port := cmp.Or(parsed.Port(), map[string]string{"http": "80", "https": "443"}[parsed.Scheme])
	place := net.JoinHostPort(parsed.Hostname(), port)
	if reached(ctx, place) {
		return nil, nil, usageError(
			"--start: a process already listens at %s; omit --start, or end that process",
			place,
		)
	}
	process, err = target.Start(target.Command{Args: command, Env: environment, Orderly: true})
	if err != nil {
		return nil, nil, &exitError{
			Status:  exitUnreachable,
			Message: fmt.Sprintf("%s cannot be started: %s", strings.Join(command, " "), err),
		}
	}
	go func() { _, _ = io.Copy(io.Discard, process.Stdout) }() // ends with the process
	asked := ctx
	stop = func() {
		grace := target.DefaultGrace
		if asked.Err() != nil {
			grace = hurried
		}
		_, _ = process.Shutdown(context.WithoutCancel(asked), grace) // it is over by then
		_ = process.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(startPause)
	defer ticker.Stop()
	for {
		if reached(ctx, place) {
			return process, stop, nil
		}
		select {
		case <-ticker.C:
			continue
		case <-process.Done():
			err = errors.New("it exited before it listened at " + place)
		case <-ctx.Done():
			err = errors.New("nothing listens at " + place + " in time")
		}
		stderr, _ := process.Stderr()
		stop()
		text := fmt.Sprintf("%s: %s", strings.Join(command, " "), err)
		if len(stderr) > 0 {
			text += "\nits standard error ended with:\n" + string(excerpt.End(stderr, 1<<10))
		}
		return nil, nil, &exitError{Status: exitUnreachable, Message: text}
	}
}

// reached tells whether something listens.
func reached(ctx context.Context, place string) bool {
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", place)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// newAuthServer serves the test authorization server by hand.
func newAuthServer() *cobra.Command {
	var listen, resource, seed string
	command := &cobra.Command{
		Use:   "auth-server [--listen ADDR] --resource URL",
		Short: "Run a test authorization server that a server under test trusts",
		Long: `The test authorization server issues access tokens to anyone: start your
server with the variables that it prints, and without anything of value.
It prints a token of each kind that mcpconform server --auth-server tries, with
what is wrong with it, and serves until it is interrupted.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if resource == "" {
				return usageError("auth-server needs --resource URL: the endpoint of the server that trusts it")
			}
			if err := program.CheckURL("--resource", resource); err != nil {
				return err
			}
			authority, err := startAuthServer(command.Context(), listen, seed)
			if err != nil {
				return err
			}
			defer authority.stop()
			if err := authority.tell(command.OutOrStdout(), resource); err != nil {
				return err
			}
			<-command.Context().Done()
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:7788", "serve at `ADDR`, HOST:PORT; port 0 picks a free one")
	flags.StringVar(&resource, "resource", "", "the `URL` of the server that tokens are for")
	flags.StringVar(&seed, "auth-seed", "", "a `WORD` that yields the same key each time")
	return command
}

// tell prints how to start a server, and the tokens.
func (a *authServer) tell(out io.Writer, resource string) error {
	var text strings.Builder
	for _, variable := range a.environment(resource) {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(&text, "export %s=%s\n", name, shellWord(value))
	}
	access, err := a.mint(resource)
	if err != nil {
		return err
	}
	for _, kind := range oauth.Kinds() {
		if token := access.Tokens[kind]; token != "" {
			fmt.Fprintf(&text, "\n# %s: %s\n%s\n", kind, kind.Says(), token)
		}
	}
	_, err = io.WriteString(out, text.String())
	return err
}
